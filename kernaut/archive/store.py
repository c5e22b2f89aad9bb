"""The search archive: what authors, tools and people may read and write.

Every method is one short transaction; see :mod:`kernaut.archive.database` for how writers wait for each other.  An archive pickles
as its place and reopens in a worker process.  Validation and test outcomes are not here: see :meth:`Archive.held_out`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from sqlalchemy import select

from kernaut.archive import campaigns, freezing, schema
from kernaut.archive.database import Layout, create_database, database_exists, open_database
from kernaut.archive.location import Location, locate
from kernaut.archive.migrations import MIGRATIONS
from kernaut.archive.records import (
    AcceptedRecord,
    CampaignRecord,
    CandidateRecord,
    DraftRecord,
    Entries,
    EvaluationRecord,
    EvidenceRecord,
    LineageRecord,
    RunRecord,
    RunStatus,
    TranscriptRecord,
    TrialRecord,
)
from kernaut.archive.rows import load_programs, now, put, put_entries, put_evidence, put_program, rebuild
from kernaut.archive.selection import SelectionArchive
from kernaut.archive.tally import Tally, tally
from kernaut.errors import ArchiveError
from kernaut.program.program import KernelProgram

LAYOUT = Layout("search archive", schema.APPLICATION_ID, schema.SEARCH, schema.SCHEMA_VERSION, MIGRATIONS)


class Archive(SelectionArchive):
    """A search archive; use ``create``, ``open`` or ``open_or_create``.

    Example:
        >>> with Archive.open_or_create("kernaut.sqlite") as archive:  # doctest: +SKIP
        ...     archive.add_program(program)
    """

    @classmethod
    def create(cls, where: str | Path | Location) -> Self:
        """Make a new archive and open it.

        Raises:
            ArchiveError: when something is there, its folder is missing, or a held-out store of an earlier archive is beside it.
        """
        location = locate(where)
        if not database_exists(location) and location.path is not None and database_exists(location.held_out):
            raise ArchiveError(
                f"Expected no held-out outcomes at {location.held_out} beside a new archive. Got those of an earlier one.",
                hint="Move that file away, or choose another path.",
            )
        create_database(location, LAYOUT)
        return cls.open(location)

    @classmethod
    def open(cls, where: str | Path | Location, *, read_only: bool = False) -> Self:
        """Open an existing archive; an older one is migrated unless read-only.

        Raises:
            ArchiveError: when it is missing, foreign, newer, damaged, or older and read-only.
        """
        return cls(open_database(locate(where), LAYOUT, read_only=read_only))

    @classmethod
    def open_or_create(cls, where: str | Path | Location) -> Self:
        """Open an archive, made first where there is none; safe when several processes do so at once.

        Raises:
            ArchiveError: as ``create`` and ``open``.
        """
        location = locate(where)
        if not database_exists(location):
            try:
                return cls.create(location)
            except ArchiveError:
                if not database_exists(location):  # otherwise another process was faster
                    raise
        return cls.open(location)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_reopen, (type(self), self._database.location, self._database.read_only))

    # Programs and what was measured

    def add_program(self, program: KernelProgram) -> str:
        """Store a program; its identifier. Storing it again is a no-op (its first rationale, formulation and ranges stay).

        Raises:
            ArchiveError: when the archive is frozen or read-only, or holds other content under this identifier.
        """
        with self._database.writing() as connection:
            freezing.refuse_frozen(connection)
            put_program(connection, program)
        return program.id

    def program(self, program_id: str) -> KernelProgram:
        """A stored program; also the ``resolve`` of closure leaves.

        Raises:
            ArchiveError: when it is not stored.
        """
        return self.programs([program_id])[0]

    def programs(self, ids: Sequence[str] | None = None) -> tuple[KernelProgram, ...]:
        """Stored programs: those named, in that order, or all by identifier.

        Raises:
            ArchiveError: when one of those named is not stored.
        """
        with self._database.reading() as connection:
            found = load_programs(connection, ids)
        if ids is None:
            return tuple(found.values())
        missing = [key for key in ids if key not in found]
        if missing:
            raise ArchiveError(
                f"Expected programs stored in {self.location}. Got unknown identifiers {', '.join(missing)}."
            )
        return tuple(found[key] for key in ids)

    def record(self, entries: Entries) -> None:
        """Write programs, evidence, evaluations and entries of open runs in one transaction; equal content is stored once.

        Raises:
            ArchiveError: when frozen or read-only, when a key is taken by other content, when something refers to what is not
                stored, or when a draft, trial, acceptance or transcript entry belongs to a run that is not open.
        """
        with self._database.writing() as connection:
            freezing.refuse_frozen(connection)
            for campaign_id, index in entries.runs():
                campaigns.require_open(connection, campaign_id, index)
            put_entries(connection, entries)

    def evidence(self, program_id: str) -> tuple[EvidenceRecord, ...]:
        """Evidence of a program, oldest first."""
        table = schema.evidence
        statement = select(table).where(table.c.program_id == program_id).order_by(table.c.recorded_at, table.c.id)
        return self._records(EvidenceRecord, statement)

    def evaluations(
        self, *, program_id: str | None = None, benchmark: str | None = None, purpose: str | None = None
    ) -> tuple[EvaluationRecord, ...]:
        """Meta-training evaluations, by program, then identifier."""
        table = schema.evaluations
        statement = select(table).order_by(table.c.program_id, table.c.id)
        for column, value in (
            (table.c.program_id, program_id),
            (table.c.benchmark, benchmark),
            (table.c.purpose, purpose),
        ):
            if value is not None:
                statement = statement.where(column == value)
        return self._records(EvaluationRecord, statement)

    def evaluation(self, evaluation_id: str) -> EvaluationRecord:
        """A meta-training evaluation.

        Raises:
            ArchiveError: when it is not stored.
        """
        found = self._records(
            EvaluationRecord, select(schema.evaluations).where(schema.evaluations.c.id == evaluation_id)
        )
        if not found:
            raise ArchiveError(
                f"Expected an evaluation stored in {self.location}. Got unknown identifier {evaluation_id!r}."
            )
        return found[0]

    def lineage(self, program_id: str | None = None) -> tuple[LineageRecord, ...]:
        """Edges to a program's parents, or all edges."""
        table = schema.lineage
        statement = select(table).order_by(table.c.child_id, table.c.parent_id, table.c.kind)
        return self._records(
            LineageRecord, statement if program_id is None else statement.where(table.c.child_id == program_id)
        )

    def import_candidate(self, program: KernelProgram, evidence: EvidenceRecord, origin: str) -> str:
        """Add a candidate from outside a campaign; its identifier. Adding it again is a no-op.

        Args:
            program: the program.
            evidence: evidence that accepts it.
            origin: where it came from, for people and reports (``file dwf.json``).

        Raises:
            ArchiveError: when the evidence does not accept this program, or the archive is frozen or read-only.
        """
        if not evidence.accepted or evidence.program_id != program.id:
            raise ArchiveError(
                f"Expected evidence that accepts {program.id}. Got {evidence.tier} of {evidence.program_id}."
            )
        row = {"program_id": program.id, "evidence_id": evidence.id, "origin": origin, "recorded_at": now()}
        with self._database.writing() as connection:
            freezing.refuse_frozen(connection)
            put_program(connection, program)
            put_evidence(connection, evidence)
            put(connection, schema.imports, row, apart=frozenset({"evidence_id", "origin", "recorded_at"}))
        return program.id

    def candidates(self) -> tuple[CandidateRecord, ...]:
        """Programs that may be selected, by identifier: accepted in a closed run of any campaign, or imported."""
        with self._database.reading() as connection:
            return freezing.select_candidates(connection)

    # Campaigns

    def begin_campaign(self, record: CampaignRecord, *, force: str | None = None) -> CampaignRecord:
        """Begin a campaign, or resume it; what is stored (first versions, larger ``run_count``) comes back.

        Args:
            record: the campaign.
            force: why a frozen archive is searched again; recorded, and lifts the freeze.

        Raises:
            ArchiveError: when the archive is frozen and not forced, or the campaign was begun with other options.
        """
        with self._database.writing() as connection:
            if force is not None:
                freezing.force_resume(connection, force)
            freezing.refuse_frozen(connection)
            return campaigns.begin_campaign(connection, record)

    def campaign(self, campaign_id: str) -> CampaignRecord:
        """A campaign.

        Raises:
            ArchiveError: when it is not stored.
        """
        with self._database.reading() as connection:
            return campaigns.require_campaign(connection, campaign_id)

    def campaigns(self) -> tuple[CampaignRecord, ...]:
        """All campaigns, oldest first."""
        table = schema.campaigns
        return self._records(CampaignRecord, select(table).order_by(table.c.recorded_at, table.c.id))

    def open_run(
        self,
        campaign_id: str,
        index: int,
        *,
        generation: int,
        state: Mapping[str, Any] | None = None,
        keep: bool = False,
    ) -> RunRecord:
        """Open a run, or begin an interrupted one again (its entries are deleted unless ``keep``).

        Raises:
            ArchiveError: when it is closed, out of range or of another generation, or the archive is frozen or read-only.
        """
        with self._database.writing() as connection:
            freezing.refuse_frozen(connection)
            return campaigns.open_run(connection, campaign_id, index, generation, state or {}, keep)

    def save_run_state(self, campaign_id: str, index: int, state: Mapping[str, Any]) -> None:
        """Replace the state of an open run.

        Raises:
            ArchiveError: when it is not open, or the archive is frozen or read-only.
        """
        with self._database.writing() as connection:
            freezing.refuse_frozen(connection)
            campaigns.save_run_state(connection, campaign_id, index, state)

    def close_run(
        self,
        campaign_id: str,
        index: int,
        *,
        result: Mapping[str, Any],
        entries: Entries | None = None,
        seconds: float = 0.0,
    ) -> bool:
        """Write the rest of a run's entries and close it, in one transaction; whether this call closed it.

        Closing it again with equal content is a no-op.

        Raises:
            ArchiveError: when it was never opened, is closed with other content, or the archive is frozen or read-only.
        """
        with self._database.writing() as connection:
            freezing.refuse_frozen(connection)
            return campaigns.close_run(connection, campaign_id, index, result, entries or Entries(), seconds)

    def run(self, campaign_id: str, index: int) -> RunRecord | None:
        """A run, or None when it was never opened."""
        with self._database.reading() as connection:
            return campaigns.find_run(connection, campaign_id, index)

    def runs(
        self, campaign_id: str, *, status: RunStatus | None = None, before_generation: int | None = None
    ) -> tuple[RunRecord, ...]:
        """Runs of a campaign by index."""
        with self._database.reading() as connection:
            return campaigns.select_runs(connection, campaign_id, status, before_generation)

    def accepted(
        self, campaign_id: str, *, before_generation: int | None = None, open_too: bool = False
    ) -> tuple[AcceptedRecord, ...]:
        """Accepted programs of a campaign in run order, each once (its first acceptance); of closed runs unless ``open_too``."""
        with self._database.reading() as connection:
            return campaigns.select_accepted(connection, campaign_id, before_generation, open_too)

    def drafts(self, campaign_id: str, index: int) -> tuple[DraftRecord, ...]:
        """Drafts of a run, in order."""
        return self._of_run(DraftRecord, schema.drafts, campaign_id, index, ("index",))

    def trials(self, campaign_id: str, index: int) -> tuple[TrialRecord, ...]:
        """Tuning trials of a run, by draft and trial."""
        return self._of_run(TrialRecord, schema.trials, campaign_id, index, ("draft_index", "index"))

    def transcript(self, campaign_id: str, index: int) -> tuple[TranscriptRecord, ...]:
        """The conversation of a run, in order."""
        return self._of_run(TranscriptRecord, schema.transcripts, campaign_id, index, ("position",))

    def tally(self, campaign_id: str) -> Tally:
        """Drafts by state and reason, trials by method, and what was left unsubmitted, of a whole campaign.

        Raises:
            ArchiveError: when it is not stored.
        """
        with self._database.reading() as connection:
            return tally(connection, campaign_id)

    def _of_run(
        self, kind: type[Any], table: Any, campaign_id: str, index: int, order: Sequence[str]
    ) -> tuple[Any, ...]:
        with self._database.reading() as connection:
            rows = campaigns.select_of_run(connection, table, campaign_id, index, order)
        return tuple(rebuild(kind, row) for row in rows)


def _reopen(kind: type[Archive], location: Location, read_only: bool) -> Archive:
    return kind.open(location, read_only=read_only)
