"""One run of a campaign: what it is given, doing it in whatever process, and what is told of it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernaut.archive.records import AcceptedRecord, CampaignRecord, Entries, TranscriptRecord
from kernaut.archive.store import Archive
from kernaut.authors.author import Author, Brief, traits_of
from kernaut.authors.spending import Spending, spending_of
from kernaut.errors import AllowanceSpent, BudgetSpent, ModelFailure
from kernaut.program.program import KernelProgram
from kernaut.search.allowance import ENDED, Allowance
from kernaut.search.novelty import Fingerprint
from kernaut.search.session import Session
from kernaut.search.workbench import Workbench

NO_ANSWER = "no answer"
"""How the result of a run begins whose language model gave no answer."""


@dataclass(frozen=True)
class RunSummary:
    """What a listener learns after each run.

    Args:
        index: the run.
        run_count: runs of the campaign.
        niche: what it was asked for.
        accepted: programs it brought.
        name: its best program's name, if any.
        score: that program's search score.
        best_score: the campaign's best search score so far.
        author: who wrote, in an ensemble.
        ended: how the run ended.
        spending: what its language model used; None without one.
    """

    index: int
    run_count: int
    niche: str
    accepted: int
    name: str | None
    score: float | None
    best_score: float | None
    author: str | None = None
    ended: str = "finished"
    spending: Spending | None = None

    def __str__(self) -> str:
        found = f"{self.name} ({-self.score:.4f})" if self.name and self.score is not None else "nothing accepted"
        best = f", best {-self.best_score:.4f}" if self.best_score is not None else ""
        who = f" by {self.author}" if self.author is not None else ""
        used = f"; {self.spending.calls} answers, {self.spending.tokens} tokens" if self.spending is not None else ""
        end = "" if self.ended == "finished" else f"; {self.ended}"
        return f"run {self.index + 1}/{self.run_count} {self.niche}{who}: {found}{best}{used}{end}"


@dataclass(frozen=True, eq=False)
class RunTask:
    """One run, as it travels to a worker process.

    Args:
        campaign_id: its campaign.
        brief: what it is asked for.
        author: who writes.
        named: whether the result names the author, one of several.
        relatives: programs that parents may name, by identifier.
        accepted: their fingerprints.
        known: their records.
        held: what an interrupted attempt at the run got accepted.
        transcript: what that attempt left of its conversation.
    """

    campaign_id: str
    brief: Brief
    author: Author
    named: bool
    relatives: Mapping[str, KernelProgram]
    accepted: Mapping[str, Fingerprint]
    known: tuple[AcceptedRecord, ...]
    held: tuple[AcceptedRecord, ...]
    transcript: tuple[TranscriptRecord, ...]


@dataclass(frozen=True)
class RunDone:
    """What a run came to; ``failure`` is why its language model gave no answer."""

    result: Mapping[str, Any]
    entries: Entries
    seconds: float
    failure: ModelFailure | None = None


def run_task(task: RunTask, bench: Workbench, archive: Archive, allowance: Allowance) -> RunDone:
    """Do one run, in whatever process.

    Args:
        task: the run.
        bench: options, episodes and references.
        archive: where what is accepted is written at once.
        allowance: of the whole campaign, named in the result of a run that it ended.
    """
    began = time.perf_counter()
    session = Session(
        task.campaign_id,
        task.brief,
        bench,
        task.relatives,
        task.accepted,
        archive.record,
        known=task.known,
        held=task.held,
        transcript=task.transcript,
    )
    failure = None
    more: dict[str, Any] = {}
    try:
        ended = task.author.write(task.brief, session) or "finished"
    except AllowanceSpent as error:
        ended = f"{ENDED}: {error.message}"
        more["allowance"] = allowance.to_json()
    except BudgetSpent:
        ended = "budget spent"
    except ModelFailure as error:
        ended, failure = f"{NO_ANSWER}: {error.message}", error
    if traits_of(task.author).converses:
        more["usage"] = session.spending.to_json()
    result = {
        "niche": task.brief.niche,
        **({"author": task.author.name} if task.named else {}),
        "ended": ended,
        "drafts": len(session.drafts),
        "accepted": [submission.program_id for submission in session.submissions if submission.accepted],
        **more,
    }
    return RunDone(result, session.entries(), time.perf_counter() - began, failure)


def summary_of(archive: Archive, campaign: CampaignRecord, brief: Brief, result: Mapping[str, Any]) -> RunSummary:
    """What a listener learns of a run that was closed with a result."""
    accepted = archive.accepted(campaign.id)
    own = [record for record in accepted if record.run_index == brief.index and record.score is not None]
    best = max(own, key=lambda record: record.score or 0.0, default=None)
    scores = [record.score for record in accepted if record.score is not None]
    return RunSummary(
        brief.index,
        campaign.run_count,
        brief.niche,
        len(own),
        archive.program(best.program_id).name if best is not None else None,
        best.score if best is not None else None,
        max(scores, default=None),
        result.get("author"),
        result["ended"],
        spending_of([result["usage"]]) if "usage" in result else None,
    )
