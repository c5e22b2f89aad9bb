"""The side of an archive that selection and reports use: freezing, looks at held-out splits, the held-out sibling, check, backup."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import func, insert, select

from kernaut.archive import freezing, schema
from kernaut.archive.checking import check_search
from kernaut.archive.database import copy_database, database_exists
from kernaut.archive.heldout import HeldOutStore
from kernaut.archive.location import Location
from kernaut.archive.opened import OpenedDatabase
from kernaut.archive.records import HELD_OUT_SPLITS, CheckReport, FreezeRecord, LookRecord
from kernaut.archive.rows import now
from kernaut.errors import ArchiveError


class SelectionArchive(OpenedDatabase):
    """What :class:`kernaut.archive.store.Archive` offers beyond programs and campaigns."""

    # Freezing, looks, the held-out sibling

    def freeze(self, reason: str) -> FreezeRecord:
        """Freeze for selection: no further search here. Freezing a frozen archive changes nothing."""
        with self._database.writing() as connection:
            return freezing.freeze_archive(connection, reason)

    def frozen(self) -> FreezeRecord | None:
        """The freeze in force, or None."""
        with self._database.reading() as connection:
            last = freezing.last_event(connection)
        return last if last is not None and last.event == "frozen" else None

    def freezes(self) -> tuple[FreezeRecord, ...]:
        """All freezes and forced resumptions, in order."""
        return self._records(FreezeRecord, select(schema.freezes).order_by(schema.freezes.c.sequence))

    def force_resume(self, reason: str) -> FreezeRecord | None:
        """Lift a freeze; recorded. None when the archive is not frozen."""
        with self._database.writing() as connection:
            return freezing.force_resume(connection, reason)

    def record_look(
        self, benchmark: str, split: str, purpose: str, details: Mapping[str, Any] | None = None
    ) -> dict[str, int]:
        """Record, before it happens, that a held-out split is opened; the counts after it.

        Raises:
            ArchiveError: for a split that is not held out.
        """
        if split not in HELD_OUT_SPLITS:
            raise ArchiveError(f"Expected a split of {', '.join(HELD_OUT_SPLITS)}. Got {split!r}.")
        table = schema.looks
        with self._database.writing() as connection:
            sequence = (connection.execute(select(func.max(table.c.sequence))).scalar() or 0) + 1
            row = {"sequence": sequence, "benchmark": benchmark, "split": split, "purpose": purpose}
            connection.execute(insert(table), [{**row, "details": details or {}, "recorded_at": now()}])
        return self.looks(benchmark)

    def looks(self, benchmark: str | None = None) -> dict[str, int]:
        """How often validation and test were opened, for one benchmark or all."""
        counts = dict.fromkeys(HELD_OUT_SPLITS, 0)
        for look in self.look_records():
            if benchmark in (None, look.benchmark):
                counts[look.split] += 1
        return counts

    def look_records(self) -> tuple[LookRecord, ...]:
        """Each look, in order."""
        return self._records(LookRecord, select(schema.looks).order_by(schema.looks.c.sequence))

    def held_out(self) -> HeldOutStore:
        """The sibling store of validation and test outcomes, made on first use unless read-only.

        Raises:
            ArchiveError: when it belongs to another archive; or, read-only, when there is none yet.
        """
        owner = self._database.identity("archive_id")
        return HeldOutStore.open_beside(self.location.held_out, owner, read_only=self.read_only)

    # The file

    def check(self) -> CheckReport:
        """Integrity of the file, references and every content identifier; the held-out sibling has its own."""
        with self._database.reading() as connection:
            return check_search(connection)

    def backup(self, destination: str | Path) -> tuple[Path, ...]:
        """A consistent copy while others write, and one of the held-out sibling beside it; the files written.

        Raises:
            ArchiveError: when something is at the destination.
        """
        target = Path(destination).expanduser().absolute()
        sibling = Location(path=target).held_out.path
        assert sibling is not None
        with_sibling = database_exists(self.location.held_out)
        if with_sibling and sibling.exists():
            raise ArchiveError(f"Expected no file at {sibling} to back up into. Got one.", hint="Choose another path.")
        copy_database(self._database, target)
        if not with_sibling:
            return (target,)
        with self.held_out() as store:
            store.backup(sibling)
        return (target, sibling)
