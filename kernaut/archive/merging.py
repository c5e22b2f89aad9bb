"""Merge archives, and remove what closed runs no longer need.

A merge copies every record of one archive into another in one transaction.  Equal content is stored once; a campaign that both hold under one name with other
content is an error, and nothing is copied.  Looks at held-out splits are added up, so that merging cannot make an archive look fresher than it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select

from kernaut.archive import freezing, schema
from kernaut.archive.campaigns import LEDGERS
from kernaut.archive.database import database_exists
from kernaut.archive.rows import APART, DESCRIPTIVE, put
from kernaut.archive.store import Archive
from kernaut.errors import ArchiveError

COPIED = (
    schema.formulations,
    schema.programs,
    schema.lineage,
    schema.evidence,
    schema.evaluations,
    schema.campaigns,
    schema.runs,
    schema.drafts,
    schema.trials,
    schema.accepted,
    schema.transcripts,
    schema.imports,
)
"""In the order of references."""

HELD_OUT = (schema.held_out_evaluations, schema.selections)
LOOSE = APART | DESCRIPTIVE | {"origin", "evidence_id"}
"""Columns that equal records of two archives may differ in."""


def merge_archive(into: Archive, source: Archive) -> dict[str, int]:
    """Copy everything of one archive into another.

    Args:
        into: where it goes; not frozen.
        source: where it comes from; read-only is enough.

    Returns:
        Rows that are new, by table.

    Raises:
        ArchiveError: when both are one archive, ``into`` is frozen or read-only, or a key holds other content in it.
    """
    if source.location == into.location:
        raise ArchiveError(f"Expected two archives. Got {into.location} twice.")
    with source._database.reading() as reading:
        rows = {table.name: _rows(reading, table) for table in (*COPIED, schema.looks)}
    added: dict[str, int] = {}
    with into._database.writing() as connection:
        freezing.refuse_frozen(connection)
        for table in COPIED:
            apart = LOOSE if table in (schema.programs, schema.imports) else APART
            added[table.name] = sum(put(connection, table, row, apart=apart) for row in rows[table.name])
        added["looks"] = _add_looks(connection, rows["looks"])
    if database_exists(source.location.held_out):
        with source.held_out() as theirs, into.held_out() as ours:
            with theirs._database.reading() as reading:
                held = {table.name: _rows(reading, table) for table in HELD_OUT}
            with ours._database.writing() as connection:
                for table in HELD_OUT:
                    new = sum(put(connection, table, row) for row in held[table.name])
                    added[f"held_out_{table.name.removeprefix('held_out_')}"] = new
    return added


def prune_archive(archive: Archive, *, keep_transcripts: bool = False, dry_run: bool = False) -> dict[str, int]:
    """Remove tuning trials, drafts that came to nothing, and transcripts of closed runs; programs and what was measured of them stay.

    Ledgers of evaluator evolution, and verdicts of its judges, are drafts, too, and stay.

    Args:
        archive: opened for writing; a frozen one may be pruned, since no candidate changes.
        keep_transcripts: leave conversations where they are.
        dry_run: only count.

    Returns:
        Rows removed, or to be removed, by table.

    Raises:
        ArchiveError: when the archive is read-only.
    """
    closed = select(schema.runs.c.campaign_id, schema.runs.c.index).where(schema.runs.c.status == "closed")
    named = schema.campaigns.c.benchmark
    ledgers = select(schema.campaigns.c.id).where(or_(*(named.startswith(prefix) for prefix in LEDGERS)))
    found: dict[str, int] = {}
    with archive._database.writing() as connection:
        pairs = [tuple(row) for row in connection.execute(closed)]
        for table in (schema.trials, schema.drafts, *(() if keep_transcripts else (schema.transcripts,))):
            found[table.name] = 0
            for campaign, index in pairs:
                mine = (table.c.campaign_id == campaign) & (table.c.run_index == index)
                if table is schema.drafts:
                    mine &= table.c.program_id.is_(None) & table.c.campaign_id.not_in(ledgers)
                count = connection.execute(select(func.count()).select_from(table).where(mine)).scalar() or 0
                found[table.name] += int(count)
                if count and not dry_run:
                    connection.execute(delete(table).where(mine))
    return found


def _rows(connection: Connection, table: Any) -> list[Mapping[str, Any]]:
    return [dict(row) for row in connection.execute(select(table).order_by(*table.primary_key.columns)).mappings()]


def _add_looks(connection: Connection, rows: list[Mapping[str, Any]]) -> int:
    """Looks that are not there yet, after those that are; a look is known by its content and its time."""
    keys = ("benchmark", "split", "purpose", "recorded_at")
    known = {tuple(row[key] for key in keys) for row in _rows(connection, schema.looks)}
    last = connection.execute(select(func.max(schema.looks.c.sequence))).scalar() or 0
    new = [row for row in rows if tuple(row[key] for key in keys) not in known]
    for place, row in enumerate(new, start=1):
        connection.execute(insert(schema.looks), [{**row, "sequence": last + place}])
    return len(new)
