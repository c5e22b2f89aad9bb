"""Evaluator evolution in an archive: each run of the loop is a run of a campaign, each authoring call one of its drafts.

The campaign's data digest is the training electorate's, so that an archive refuses to go on with another electorate; options hold the loop's and the domain's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernaut import __version__
from kernaut.archive.records import CampaignRecord, DraftRecord, Entries, TranscriptRecord
from kernaut.archive.store import Archive
from kernaut.digest import content_id, thaw
from kernaut.errors import InputError
from kernaut.operators.loop import RunOutcome
from kernaut.operators.records import Electorate, Operator, Verdicts


@dataclass(frozen=True)
class StoredRun:
    """A closed or suspended run as the archive holds it.

    Args:
        index: its place in the campaign.
        operators: admitted operators.
        verdicts: theirs over the training electorate.
        ledger: all entries.
        result: what :func:`close` stored.
        electorate: digest of the training electorate that the verdicts are about.
    """

    index: int
    operators: tuple[Operator, ...]
    verdicts: tuple[Verdicts, ...]
    ledger: tuple[Mapping[str, Any], ...]
    result: Mapping[str, Any]
    electorate: str = ""


CALL = "call"
"""The role of the transcript entry that begins an authoring call."""


class ArchiveJournal:
    """A journal in an open run of an archive; entries, and what is said, are written as they come.

    Args:
        archive: the archive.
        campaign: the campaign.
        index: the run, opened with ``keep=True``.
    """

    def __init__(self, archive: Archive, campaign: str, index: int) -> None:
        self._archive, self._campaign, self._index = archive, campaign, index
        self._entries = {draft.index: thaw(draft.details) for draft in archive.drafts(campaign, index)}
        stored = archive.transcript(campaign, index)
        self._said, self._noted = by_call(stored), len(stored)

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

    def transcript(self, call: int) -> Sequence[TranscriptRecord]:
        """What was said in a call, in order."""
        return tuple(self._said.get(call, ()))

    def note(self, call: int, role: str, content: Mapping[str, Any], usage: Mapping[str, Any]) -> None:
        """Store one further thing that was said in a call, behind an entry that names the call."""
        if call not in self._said:
            self._store(CALL, {"call": call, "text": f"authoring call {call}"}, {})
            self._said[call] = []
        self._said[call].append(self._store(role, content, usage))

    def _store(self, role: str, content: Mapping[str, Any], usage: Mapping[str, Any]) -> TranscriptRecord:
        record = TranscriptRecord(self._campaign, self._index, self._noted, role, content, usage)
        self._archive.record(Entries(transcripts=(record,)))
        self._noted += 1
        return record


def by_call(said: Iterable[TranscriptRecord]) -> dict[int, list[TranscriptRecord]]:
    """A run's conversations by authoring call, without the entries that name the calls."""
    found: dict[int, list[TranscriptRecord]] = {}
    call = -1
    for record in said:
        if record.role == CALL:
            call = int(record.content["call"])
            found[call] = []
        else:
            found[call].append(record)
    return found


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
        options={**options, "members": members_of(electorate), "contents": contents_of(electorate)},
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


def contents_of(electorate: Electorate) -> list[str]:
    """What each candidate holds, as an identifier, in order: a candidate is known again in another electorate by its task and this."""
    return [content_id(thaw(candidate.content)) for candidate in electorate.candidates]


def is_closed(archive: Archive, campaign: str, index: int) -> bool:
    """Whether a run is finished."""
    run = archive.run(campaign, index)
    return run is not None and run.status == "closed"


def close(archive: Archive, campaign: str, index: int, outcome: RunOutcome, seconds: float) -> None:
    """Finish a run; one that ended for want of allowance stays open, with what it has found so far as its state."""
    result = {
        "admitted": [operator.id for operator in outcome.operators],
        "calls": len(outcome.ledger),
        "stopped": outcome.stopped,
        "remaining": outcome.remaining,
        "unresolved": [collision.to_json() for collision in outcome.unresolved],
    }
    if outcome.suspended:
        archive.save_run_state(campaign, index, {"suspended": result})
    else:
        archive.close_run(campaign, index, result=result, seconds=seconds)


def stored_runs(archive: Archive, campaign: str) -> list[StoredRun]:
    """The runs of a campaign that are closed, or suspended for want of allowance, in order.

    Raises:
        InputError: when there are none.
    """
    found = []
    digest = next((str(record.data_digest) for record in archive.campaigns() if record.id == campaign), "")
    for run in archive.runs(campaign):
        result = run.result if run.status == "closed" else run.state.get("suspended")
        if result is None:
            continue
        ledger = tuple(thaw(draft.details) for draft in archive.drafts(campaign, run.index))
        admitted = [entry for entry in ledger if entry["decision"] == "admitted"]
        found.append(
            StoredRun(
                run.index,
                tuple(Operator.from_json(entry["operator"]) for entry in admitted),
                tuple(Verdicts.from_json(entry["verdicts"]) for entry in admitted),
                ledger,
                thaw(result),
                digest,
            )
        )
    if not found:
        raise InputError(
            f"Expected closed runs of campaign {campaign!r} in the archive. Got none.",
            hint="Run kernaut cegar run first.",
        )
    return found
