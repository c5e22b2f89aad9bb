"""Freezing an archive for selection, inside a transaction that the caller holds.

A frozen archive takes no further search; what selection saw stays what it was.  Resuming by force is recorded and lifts the freeze.
"""

from __future__ import annotations

from sqlalchemy import Connection, exists, func, insert, or_, select

from kernaut.archive import schema
from kernaut.archive.records import CandidateRecord, FreezeRecord
from kernaut.archive.rows import load_programs, now, rebuild
from kernaut.digest import content_id
from kernaut.errors import ArchiveError


def select_candidates(connection: Connection) -> tuple[CandidateRecord, ...]:
    """Programs that may be selected, by identifier: accepted in a closed run, or in an open one with a transcript, or imported.

    An interrupted run that kept a transcript goes on where it was; what it got accepted is not taken back.

    Raises:
        ArchiveError: when one of them is no longer stored.
    """
    table, runs, imports, said = schema.accepted, schema.runs, schema.imports, schema.transcripts
    converses = exists().where((said.c.campaign_id == runs.c.campaign_id) & (said.c.run_index == runs.c["index"]))
    statement = (
        select(table.c.program_id, table.c.campaign_id, table.c.run_index)
        .join(runs, (runs.c.campaign_id == table.c.campaign_id) & (runs.c["index"] == table.c.run_index))
        .where(or_(runs.c.status == "closed", converses))
        .order_by(table.c.campaign_id, table.c.run_index, table.c.position)
    )
    origins: dict[str, str] = {}
    for row in connection.execute(statement):
        origins.setdefault(row.program_id, f"campaign {row.campaign_id} run {row.run_index}")
    for key, origin in connection.execute(select(imports.c.program_id, imports.c.origin)):
        origins.setdefault(key, origin)
    programs = load_programs(connection, sorted(origins))
    if missing := sorted(set(origins) - set(programs)):
        raise ArchiveError(
            f"Expected every candidate's program in the archive. Got none of {', '.join(missing)}.",
            hint="See what else is damaged with kernaut archive check.",
        )
    return tuple(CandidateRecord(programs[key], origins[key]) for key in sorted(origins))


def candidate_digest(connection: Connection) -> str:
    """Content identifier of the candidate set: the sorted program identifiers."""
    return content_id([record.program.id for record in select_candidates(connection)])


def last_event(connection: Connection) -> FreezeRecord | None:
    """The latest freeze or forced resumption, or None."""
    table = schema.freezes
    row = connection.execute(select(table).order_by(table.c.sequence.desc()).limit(1)).mappings().first()
    return None if row is None else rebuild(FreezeRecord, row)


def freeze_archive(connection: Connection, reason: str) -> FreezeRecord:
    """Freeze; a frozen archive stays as it is."""
    last = last_event(connection)
    if last is not None and last.event == "frozen":
        return last
    return _append(connection, "frozen", reason)


def force_resume(connection: Connection, reason: str) -> FreezeRecord | None:
    """Lift a freeze and record it; None when the archive is not frozen."""
    last = last_event(connection)
    if last is None or last.event == "forced":
        return None
    return _append(connection, "forced", reason)


def refuse_frozen(connection: Connection) -> None:
    """Check that the archive takes search results.

    Raises:
        ArchiveError: when it is frozen.
    """
    last = last_event(connection)
    if last is not None and last.event == "frozen":
        raise ArchiveError(
            f"Expected an archive open for search. Got one frozen on {last.recorded_at} ({last.reason}).",
            hint="Search in a new archive; or force the resumption, which is recorded and stands in later reports.",
        )


def _append(connection: Connection, event: str, reason: str) -> FreezeRecord:
    table = schema.freezes
    sequence = (connection.execute(select(func.max(table.c.sequence))).scalar() or 0) + 1
    row = {
        "sequence": sequence,
        "event": event,
        "digest": candidate_digest(connection),
        "reason": reason,
        "recorded_at": now(),
    }
    connection.execute(insert(table), [row])
    last = last_event(connection)
    assert last is not None
    return last
