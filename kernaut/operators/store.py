"""Evaluator evolution in an archive: each run of the loop is a run of a campaign, each authoring call one of its drafts.

The campaign's data digest is the training electorate's, so that an archive refuses to go on with another electorate; options hold the loop's and the domain's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernaut import __version__
from kernaut.archive.records import CampaignRecord, DraftRecord, Entries
from kernaut.archive.store import Archive
from kernaut.digest import thaw
from kernaut.errors import InputError
from kernaut.operators.loop import RunOutcome
from kernaut.operators.records import Electorate, Operator, Verdicts


@dataclass(frozen=True)
class StoredRun:
    """A closed run as the archive holds it.

    Args:
        index: its place in the campaign.
        operators: admitted operators.
        verdicts: theirs over the training electorate.
        ledger: all entries.
        result: what :func:`close` stored.
    """

    index: int
    operators: tuple[Operator, ...]
    verdicts: tuple[Verdicts, ...]
    ledger: tuple[Mapping[str, Any], ...]
    result: Mapping[str, Any]


class ArchiveJournal:
    """A journal in an open run of an archive; entries are written as they come.

    Args:
        archive: the archive.
        campaign: the campaign.
        index: the run, opened with ``keep=True``.
    """

    def __init__(self, archive: Archive, campaign: str, index: int) -> None:
        self._archive, self._campaign, self._index = archive, campaign, index
        self._entries = {draft.index: thaw(draft.details) for draft in archive.drafts(campaign, index)}

    def entry(self, call: int) -> Mapping[str, Any] | None:
        """The stored entry of a call."""
        return self._entries.get(call)

    def write(self, call: int, entry: Mapping[str, Any]) -> None:
        """Store an entry."""
        self._entries[call] = dict(entry)
        draft = DraftRecord(
            self._campaign,
            self._index,
            call,
            entry["operator"] or {},
            str(entry["decision"]),
            reason=str(entry["reason"]) or None,
            details=dict(entry),
        )
        self._archive.record(Entries(drafts=(draft,)))


def begin(
    archive: Archive,
    campaign: str,
    electorate: Electorate,
    *,
    strategy: str,
    seed: int,
    runs: int,
    options: Mapping[str, Any],
) -> CampaignRecord:
    """Begin a campaign, or go on with one.

    Raises:
        ArchiveError: when a campaign of that name has another electorate or other options.
    """
    record = CampaignRecord(
        campaign,
        f"cegar-{electorate.domain}",
        strategy,
        seed,
        runs,
        options={**options, "members": members_of(electorate)},
        data_digest=electorate.digest,
        versions={"kernaut": __version__},
    )
    return archive.begin_campaign(record)


def members_of(electorate: Electorate) -> list[list[Any]]:
    """Tasks and the identifiers of their candidates, in order: the positions that stored verdicts speak of."""
    return [
        [task.id, [electorate.candidates[place].id for place in members]]
        for task, members in zip(electorate.tasks, electorate.members, strict=True)
    ]


def is_closed(archive: Archive, campaign: str, index: int) -> bool:
    """Whether a run is finished."""
    run = archive.run(campaign, index)
    return run is not None and run.status == "closed"


def close(archive: Archive, campaign: str, index: int, outcome: RunOutcome, seconds: float) -> None:
    """Finish a run."""
    result = {
        "admitted": [operator.id for operator in outcome.operators],
        "calls": len(outcome.ledger),
        "stopped": outcome.stopped,
        "remaining": outcome.remaining,
        "unresolved": [collision.to_json() for collision in outcome.unresolved],
    }
    archive.close_run(campaign, index, result=result, seconds=seconds)


def stored_runs(archive: Archive, campaign: str) -> list[StoredRun]:
    """The closed runs of a campaign, in order.

    Raises:
        InputError: when there are none.
    """
    found = []
    for run in archive.runs(campaign, status="closed"):
        ledger = tuple(thaw(draft.details) for draft in archive.drafts(campaign, run.index))
        admitted = [entry for entry in ledger if entry["decision"] == "admitted"]
        found.append(
            StoredRun(
                run.index,
                tuple(Operator.from_json(entry["operator"]) for entry in admitted),
                tuple(Verdicts.from_json(entry["verdicts"]) for entry in admitted),
                ledger,
                thaw(run.result or {}),
            )
        )
    if not found:
        raise InputError(
            f"Expected closed runs of campaign {campaign!r} in the archive. Got none.",
            hint="Run kernaut cegar run first.",
        )
    return found
