"""A campaign: runs in generations, each run a pure function of the seed, its index and what earlier generations closed.

Runs of one generation may be calculated in parallel; they are closed in order, each in one transaction.  A campaign that was interrupted, at whatever moment,
repeats the runs that were not closed and ends with the same report.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from kernaut.archive.records import AcceptedRecord, CampaignRecord, Entries
from kernaut.archive.store import Archive
from kernaut.authors.author import Author, Brief, Elite
from kernaut.errors import BudgetSpent, InputError
from kernaut.evaluation.engine import ordered_stream
from kernaut.evaluation.report import package_versions
from kernaut.program.program import KernelProgram
from kernaut.search.elites import elite_grid, schedule
from kernaut.search.novelty import Fingerprint
from kernaut.search.session import Session
from kernaut.search.workbench import SearchOptions, Workbench, prepare

Strategy = Literal["conversational", "evolutionary"]


@dataclass(frozen=True)
class CampaignOptions:
    """How long a campaign is and what a run may spend.

    Args:
        search: what steers the measurements.
        strategy: ``evolutionary``, or ``conversational`` for a single run.
        runs: runs of an evolutionary campaign.
        rounds: most drafts a run may stage.
        tool_calls: most tool calls of a run.

    Raises:
        InputError: for a value out of range.
    """

    search: SearchOptions
    strategy: Strategy = "evolutionary"
    runs: int = 12
    rounds: int = 10
    tool_calls: int = 100

    def __post_init__(self) -> None:
        if self.strategy not in ("conversational", "evolutionary"):
            raise InputError(f"Expected a strategy of conversational, evolutionary. Got {self.strategy!r}.")
        for name, value in (("runs", self.runs), ("rounds", self.rounds), ("tool calls", self.tool_calls)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"Expected at least 1 of {name}. Got {value!r}.")

    @property
    def run_count(self) -> int:
        """Runs of the campaign."""
        return 1 if self.strategy == "conversational" else self.runs

    def to_json(self) -> dict[str, Any]:
        """Everything but seed, strategy and number of runs, as stored with the campaign."""
        return {**self.search.to_json(), "rounds": self.rounds, "tool_calls": self.tool_calls}


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
    """

    index: int
    run_count: int
    niche: str
    accepted: int
    name: str | None
    score: float | None
    best_score: float | None

    def __str__(self) -> str:
        found = f"{self.name} ({-self.score:.4f})" if self.name and self.score is not None else "nothing accepted"
        best = f", best {-self.best_score:.4f}" if self.best_score is not None else ""
        return f"run {self.index + 1}/{self.run_count} {self.niche}: {found}{best}"


@dataclass(frozen=True, eq=False)
class _Task:
    """One run, as it travels to a worker process."""

    campaign_id: str
    brief: Brief
    relatives: Mapping[str, KernelProgram]
    accepted: Mapping[str, Fingerprint]


@dataclass(frozen=True)
class _Done:
    result: Mapping[str, Any]
    entries: Entries
    seconds: float


def run_campaign(
    archive: Archive,
    options: CampaignOptions,
    author: Author,
    *,
    campaign_id: str,
    workers: int = 1,
    force: str | None = None,
    on_reference: Callable[[int], None] | None = None,
    on_run: Callable[[RunSummary], None] | None = None,
) -> dict[str, Any]:
    """Run a campaign, or what is left of it.

    Args:
        archive: where everything is stored.
        options: its length and measurements.
        author: who writes.
        campaign_id: its name; a known one is resumed.
        workers: processes; the report does not depend on it.
        force: why a frozen archive is searched again.
        on_reference: called with the number of references measured so far.
        on_run: called after each run that is closed.

    Returns:
        The campaign's report, JSON; see :func:`campaign_report`.

    Raises:
        ArchiveError: when the archive is frozen and not forced, or the campaign was begun with other options.
        InputError: for options out of range.
    """
    made = options.search.made()
    record = CampaignRecord(
        campaign_id,
        options.search.benchmark,
        options.strategy,
        options.search.seed,
        options.run_count,
        {**options.to_json(), "author": author.name},
        made.digest(),
        {name: version for name, version in package_versions().items() if version is not None},
    )
    record = archive.begin_campaign(record, force=force)
    closed = {run.index for run in archive.runs(campaign_id, status="closed")}
    if len(closed) < record.run_count:
        options.search.pool().start()
        bench = prepare(options.search, workers=workers, done=on_reference)
        for generation in range(-(-record.run_count // author.runs_at_once)):
            first = generation * author.runs_at_once
            indices = [i for i in range(first, min(first + author.runs_at_once, record.run_count)) if i not in closed]
            if indices:
                _generation(archive, record, options, author, bench, generation, indices, workers, on_run)
    return campaign_report(archive, campaign_id)


def _generation(
    archive: Archive,
    campaign: CampaignRecord,
    options: CampaignOptions,
    author: Author,
    bench: Workbench,
    generation: int,
    indices: list[int],
    workers: int,
    on_run: Callable[[RunSummary], None] | None,
) -> None:
    """Calculate the open runs of one generation and close them in order."""
    earlier = archive.accepted(campaign.id, before_generation=generation)
    programs = {program.id: program for program in archive.programs([record.program_id for record in earlier])}
    fingerprints = {record.program_id: np.array(record.details["fingerprint"]) for record in earlier}
    tasks = []
    for index in indices:
        brief = _brief(campaign, options, earlier, programs, index, index - generation * author.runs_at_once)
        state = {"niche": brief.niche, "parent": brief.parent.program.id if brief.parent else None}
        archive.open_run(campaign.id, index, generation=generation, state=state)
        tasks.append(_Task(campaign.id, brief, programs, fingerprints))

    work = partial(_run, author=author, bench=bench, archive=archive)
    for task, done in zip(tasks, ordered_stream(work, tasks, workers=workers), strict=True):
        index = task.brief.index
        archive.close_run(campaign.id, index, result=done.result, entries=done.entries, seconds=done.seconds)
        if on_run is not None:
            on_run(_summary(archive, campaign, task.brief))


def _run(task: _Task, author: Author, bench: Workbench, archive: Archive) -> _Done:
    """One run, in whatever process."""
    began = time.perf_counter()
    session = Session(task.campaign_id, task.brief, bench, task.relatives, task.accepted, archive.record)
    ended = "finished"
    try:
        author.write(task.brief, session)
    except BudgetSpent:
        ended = "budget spent"
    result = {
        "niche": task.brief.niche,
        "ended": ended,
        "drafts": len(session.drafts),
        "accepted": [submission.program_id for submission in session.submissions if submission.accepted],
    }
    return _Done(result, session.entries(), time.perf_counter() - began)


def _brief(
    campaign: CampaignRecord,
    options: CampaignOptions,
    earlier: tuple[AcceptedRecord, ...],
    programs: Mapping[str, KernelProgram],
    index: int,
    place: int,
) -> Brief:
    niche, parent, inspirations = schedule(elite_grid(earlier), campaign.seed, index, place)

    def elite(record: AcceptedRecord) -> Elite:
        return Elite(programs[record.program_id], record.niche, record.score or 0.0, record.elite_score or 0.0)

    return Brief(
        index=index,
        seed=campaign.seed,
        niche=niche,
        parent=elite(parent) if parent is not None else None,
        inspirations=tuple(elite(record) for record in inspirations),
        dimensions=options.search.made().dimensions,
        max_rounds=options.rounds,
        max_tool_calls=options.tool_calls,
        coordinates=options.search.made().coordinates,
    )


def _summary(archive: Archive, campaign: CampaignRecord, brief: Brief) -> RunSummary:
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
    )


def campaign_report(archive: Archive, campaign_id: str) -> dict[str, Any]:
    """What a campaign found: its options, runs, accepted programs and elites; no times, so that equal campaigns have equal reports.

    Raises:
        ArchiveError: for an unknown campaign.
    """
    campaign = archive.campaign(campaign_id)
    accepted = archive.accepted(campaign_id)
    names = {program.id: program for program in archive.programs([record.program_id for record in accepted])}
    grid = elite_grid(accepted)
    return {
        "campaign": {
            "id": campaign.id,
            "benchmark": campaign.benchmark,
            "strategy": campaign.strategy,
            "seed": campaign.seed,
            "runs": campaign.run_count,
            "options": dict(campaign.options),
            "data_digest": campaign.data_digest,
            "versions": dict(campaign.versions),
        },
        "runs": [
            {"index": run.index, "generation": run.generation, "status": run.status, "result": run.result}
            for run in archive.runs(campaign_id)
        ],
        "accepted": [
            {
                "candidate_id": record.program_id,
                "name": names[record.program_id].name,
                "contract": names[record.program_id].contract,
                "run": record.run_index,
                "niche": record.niche,
                "feature_growth": record.feature_growth,
                "novelty_band": record.novelty_band,
                "novelty_distance": record.details["novelty_distance"],
                "nearest": record.details["nearest"],
                "parents": list(names[record.program_id].parents),
                "scores": dict(record.details["scores"]),
            }
            for record in accepted
        ],
        "elites": [
            {"niche": cell[0], "feature_growth": cell[1], "novelty_band": cell[2], "candidate_id": record.program_id}
            for cell, record in sorted(grid.items())
        ],
    }
