"""Campaigns and their runs, inside a transaction that the caller holds.

A run is a pure function of (campaign seed, run index, what earlier generations closed).  A run that was interrupted is begun again:
its drafts, trials, accepted programs and transcript go, and it writes them anew.  Closing writes everything of the run and its
result in one transaction, so that a killed run is open and a closed one is complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Select, delete, insert, select, update

from kernaut.archive import schema
from kernaut.archive.records import AcceptedRecord, CampaignRecord, Entries, RunRecord, RunStatus
from kernaut.archive.rows import columns, now, put_entries, rebuild
from kernaut.digest import canonical_json
from kernaut.errors import ArchiveError

FIXED = ("benchmark", "strategy", "seed", "options", "data_digest")
"""What a campaign cannot change when it is resumed."""
LEDGERS = ("cegar-", "judge-")
"""How the benchmark of a campaign begins that searches no kernels, but keeps a ledger of evaluator evolution."""


def begin_campaign(connection: Connection, record: CampaignRecord) -> CampaignRecord:
    """Store a campaign, or find it there to be resumed; a larger ``run_count`` extends it.

    Raises:
        ArchiveError: when a campaign of that id was begun with other options.
    """
    found = find_campaign(connection, record.id)
    if found is None:
        connection.execute(insert(schema.campaigns), [{**columns(record), "recorded_at": now()}])
        return record
    stored, given = _differences(found, record)
    if stored:
        raise ArchiveError(
            f"Expected campaign {record.id!r} resumed with {', '.join(stored)}. Got {', '.join(given)}.",
            hint="Give another run id, or the same options.",
        )
    if record.run_count > found.run_count:
        table = schema.campaigns
        connection.execute(update(table).where(table.c.id == record.id).values(run_count=record.run_count))
    return require_campaign(connection, record.id)


def _differences(found: CampaignRecord, record: CampaignRecord) -> tuple[list[str], list[str]]:
    """What a campaign was begun with and is to be resumed with, where these differ, as ``name value``; options one by one."""
    stored: list[str] = []
    given: list[str] = []
    for name in FIXED:
        one, two = getattr(found, name), getattr(record, name)
        pairs = [(name, one, two)]
        if isinstance(one, Mapping) and isinstance(two, Mapping):
            pairs = [(key, one.get(key), two.get(key)) for key in sorted({*one, *two})]
        for key, old, new in pairs:
            if canonical_json(old) != canonical_json(new):
                stored.append(f"{key} {canonical_json(old)}")
                given.append(f"{key} {canonical_json(new)}")
    return stored, given


def find_campaign(connection: Connection, campaign_id: str) -> CampaignRecord | None:
    """A campaign, or None."""
    row = connection.execute(select(schema.campaigns).where(schema.campaigns.c.id == campaign_id)).mappings().first()
    return None if row is None else rebuild(CampaignRecord, row)


def require_campaign(connection: Connection, campaign_id: str) -> CampaignRecord:
    """A campaign.

    Raises:
        ArchiveError: naming the campaigns there are.
    """
    found = find_campaign(connection, campaign_id)
    if found is None:
        known = connection.execute(select(schema.campaigns.c.id).order_by(schema.campaigns.c.id)).scalars().all()
        raise ArchiveError(f"Expected a campaign of {', '.join(known) or '(none stored)'}. Got {campaign_id!r}.")
    return found


def find_run(connection: Connection, campaign_id: str, index: int) -> RunRecord | None:
    """A run, or None when it was never opened."""
    row = connection.execute(_run(campaign_id, index)).mappings().first()
    return None if row is None else rebuild(RunRecord, row)


def open_run(
    connection: Connection, campaign_id: str, index: int, generation: int, state: Mapping[str, Any], keep: bool
) -> RunRecord:
    """Begin a run, or begin an interrupted one again.

    Args:
        connection: a write transaction.
        campaign_id: its campaign.
        index: its place, from 0.
        generation: its generation.
        state: what it begins with.
        keep: go on with what the interrupted attempt stored and with its state, instead of deleting both.

    Raises:
        ArchiveError: when the run is closed, out of the campaign's range, or was opened in another generation.
    """
    campaign = require_campaign(connection, campaign_id)
    if not 0 <= index < campaign.run_count:
        raise ArchiveError(f"Expected a run index from 0 to {campaign.run_count - 1} in {campaign_id!r}. Got {index}.")
    found = find_run(connection, campaign_id, index)
    if found is None:
        row = {
            "campaign_id": campaign_id,
            "index": index,
            "generation": generation,
            "status": "open",
            "attempt": 1,
            "state": state,
            "result": None,
            "seconds": 0.0,
            "opened_at": now(),
            "closed_at": None,
        }
        connection.execute(insert(schema.runs), [row])
    else:
        if found.status == "closed":
            raise ArchiveError(f"Expected an open run {index} in {campaign_id!r}. Got a closed one.")
        if found.generation != generation:
            raise ArchiveError(
                f"Expected run {index} of {campaign_id!r} in generation {found.generation}. Got generation {generation}."
            )
        values: dict[str, Any] = {"attempt": found.attempt + 1, "opened_at": now()}
        if not keep:
            values["state"] = state
            for table in schema.RUN_TABLES:
                connection.execute(delete(table).where(table.c.campaign_id == campaign_id, table.c.run_index == index))
        _update_run(connection, campaign_id, index, values)
    opened = find_run(connection, campaign_id, index)
    assert opened is not None
    return opened


def save_run_state(connection: Connection, campaign_id: str, index: int, state: Mapping[str, Any]) -> None:
    """Replace an open run's state.

    Raises:
        ArchiveError: when the run is not open.
    """
    require_open(connection, campaign_id, index)
    _update_run(connection, campaign_id, index, {"state": state})


def close_run(
    connection: Connection, campaign_id: str, index: int, result: Mapping[str, Any], entries: Entries, seconds: float
) -> bool:
    """Write the rest of a run and close it; whether this call closed it.

    Closing a closed run with the same result again is a no-op.

    Raises:
        ArchiveError: when the run was never opened, or is closed with another result.
    """
    found = find_run(connection, campaign_id, index)
    if found is not None and found.status == "closed":
        put_entries(connection, entries)
        if canonical_json(found.result) != canonical_json(result):
            raise ArchiveError(f"Expected run {index} of {campaign_id!r} closed once. Got a second, different result.")
        return False
    require_open(connection, campaign_id, index)
    put_entries(connection, entries)
    values = {"status": "closed", "result": result, "seconds": seconds, "closed_at": now()}
    _update_run(connection, campaign_id, index, values)
    return True


def require_open(connection: Connection, campaign_id: str, index: int) -> None:
    """Check that a run is open.

    Raises:
        ArchiveError: when it is closed or was never opened.
    """
    found = find_run(connection, campaign_id, index)
    if found is None or found.status != "open":
        state = "one that was never opened" if found is None else "a closed one"
        raise ArchiveError(f"Expected an open run {index} in {campaign_id!r}. Got {state}.")


def select_runs(
    connection: Connection, campaign_id: str, status: RunStatus | None, before_generation: int | None
) -> tuple[RunRecord, ...]:
    """Runs of a campaign by index."""
    table = schema.runs
    statement = select(table).where(table.c.campaign_id == campaign_id).order_by(table.c["index"])
    if status is not None:
        statement = statement.where(table.c.status == status)
    if before_generation is not None:
        statement = statement.where(table.c.generation < before_generation)
    return tuple(rebuild(RunRecord, row) for row in connection.execute(statement).mappings())


def select_accepted(
    connection: Connection, campaign_id: str, before_generation: int | None, open_too: bool
) -> tuple[AcceptedRecord, ...]:
    """Accepted programs of a campaign in run order, each program once: its first acceptance."""
    table, runs = schema.accepted, schema.runs
    statement = (
        select(table)
        .join(runs, (runs.c.campaign_id == table.c.campaign_id) & (runs.c["index"] == table.c.run_index))
        .where(table.c.campaign_id == campaign_id)
        .order_by(table.c.run_index, table.c.position)
    )
    if not open_too:
        statement = statement.where(runs.c.status == "closed")
    if before_generation is not None:
        statement = statement.where(runs.c.generation < before_generation)
    first: dict[str, AcceptedRecord] = {}
    for row in connection.execute(statement).mappings():
        first.setdefault(row["program_id"], rebuild(AcceptedRecord, row))
    return tuple(first.values())


def select_of_run(connection: Connection, table: Any, campaign_id: str, index: int, order: Sequence[str]) -> list[Any]:
    """Rows of one run in the order of some columns."""
    statement = select(table).where(table.c.campaign_id == campaign_id, table.c.run_index == index)
    return list(connection.execute(statement.order_by(*(table.c[name] for name in order))).mappings())


def _run(campaign_id: str, index: int) -> Select[Any]:
    return select(schema.runs).where(schema.runs.c.campaign_id == campaign_id, schema.runs.c["index"] == index)


def _update_run(connection: Connection, campaign_id: str, index: int, values: Mapping[str, Any]) -> None:
    table = schema.runs
    connection.execute(
        update(table).where(table.c.campaign_id == campaign_id, table.c["index"] == index).values(**values)
    )
