"""The held-out store: validation and test outcomes, in a file of their own beside the search archive.

No author and no search tool opens it.  It is bound to its archive by the archive's id, so that another archive's outcomes are not
taken for this one's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

from sqlalchemy import select

from kernaut.archive import schema
from kernaut.archive.checking import check_held_out
from kernaut.archive.database import Layout, copy_database, create_database, database_exists, open_database
from kernaut.archive.location import Location
from kernaut.archive.migrations import HELD_OUT_MIGRATIONS
from kernaut.archive.opened import OpenedDatabase
from kernaut.archive.records import HELD_OUT_SPLITS, CheckReport, EvaluationRecord, SelectionRecord
from kernaut.archive.rows import columns, now, put, put_evaluation
from kernaut.errors import ArchiveError

LAYOUT = Layout("held-out store", schema.APPLICATION_ID, schema.HELD_OUT, schema.HELD_OUT_VERSION, HELD_OUT_MIGRATIONS)


class HeldOutStore(OpenedDatabase):
    """Evaluations on validation and test, and selections made from them; see :meth:`kernaut.archive.store.Archive.held_out`."""

    @classmethod
    def open_beside(cls, location: Location, archive_id: str, *, read_only: bool = False) -> Self:
        """Open the store of an archive, creating it when it is not there.

        Args:
            location: where the store is.
            archive_id: the archive it must belong to.
            read_only: refuse writes, and creation.

        Raises:
            ArchiveError: when it belongs to another archive, or is not a held-out store; see ``open_database``.
        """
        if not read_only and not database_exists(location):
            try:
                create_database(location, LAYOUT, archive_id=archive_id)
            except ArchiveError:
                if not database_exists(location):  # otherwise another process was faster
                    raise
        database = open_database(location, LAYOUT, read_only=read_only)
        owner = database.identity("archive_id")
        if owner != archive_id:
            database.close()
            raise ArchiveError(
                f"Expected the held-out outcomes of this archive in {location}. Got those of another archive.",
                hint="Move that file away, or put the archive it belongs to back.",
            )
        return cls(database)

    def record(self, *evaluations: EvaluationRecord) -> None:
        """Store evaluations, all or none; equal ones are stored once.

        Raises:
            ArchiveError: for a split that is not held out, or a read-only store.
        """
        for evaluation in evaluations:
            if evaluation.split not in HELD_OUT_SPLITS:
                raise ArchiveError(
                    f"Expected a split of {', '.join(HELD_OUT_SPLITS)} in the held-out store. Got {evaluation.split!r}."
                )
        with self._database.writing() as connection:
            for evaluation in evaluations:
                put_evaluation(connection, schema.held_out_evaluations, evaluation)

    def evaluations(
        self, *, program_id: str | None = None, benchmark: str | None = None, split: str | None = None
    ) -> tuple[EvaluationRecord, ...]:
        """Stored evaluations, by program, then identifier."""
        table = schema.held_out_evaluations
        statement = select(table).order_by(table.c.program_id, table.c.id)
        for column, value in ((table.c.program_id, program_id), (table.c.benchmark, benchmark), (table.c.split, split)):
            if value is not None:
                statement = statement.where(column == value)
        return self._records(EvaluationRecord, statement)

    def record_selection(self, selection: SelectionRecord) -> str:
        """Store a selection; its identifier."""
        with self._database.writing() as connection:
            put(connection, schema.selections, {"id": selection.id, **columns(selection), "recorded_at": now()})
        return selection.id

    def selections(self) -> tuple[SelectionRecord, ...]:
        """Stored selections, oldest first."""
        table = schema.selections
        return self._records(SelectionRecord, select(table).order_by(table.c.recorded_at, table.c.id))

    def check(self) -> CheckReport:
        """Integrity of the file and every content identifier."""
        with self._database.reading() as connection:
            return check_held_out(connection)

    def backup(self, destination: str | Path) -> None:
        """A consistent copy.

        Raises:
            ArchiveError: when something is at the destination.
        """
        copy_database(self._database, Path(destination).expanduser().absolute())
