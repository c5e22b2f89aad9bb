"""A campaign: runs in generations, each run a pure function of the seed, its index and what earlier generations closed.

Runs of one generation may be calculated in parallel; they are closed in order, each in one transaction.  A campaign that was interrupted, at whatever moment,
repeats the runs that were not closed and ends with the same report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from kernaut.archive.records import AcceptedRecord, CampaignRecord
from kernaut.archive.store import Archive
from kernaut.authors.author import Author, Brief, Elite, traits_of
from kernaut.errors import InputError
from kernaut.evaluation.engine import ordered_stream
from kernaut.evaluation.report import package_versions
from kernaut.program.program import KernelProgram
from kernaut.search.allowance import ENDED, Allowance, ended_under, spent_in
from kernaut.search.bandit import Ensemble, Played
from kernaut.search.elites import elite_grid, schedule
from kernaut.search.running import NO_ANSWER, RunSummary, RunTask, run_task, summary_of
from kernaut.search.workbench import SearchOptions, Workbench, prepare

Strategy = Literal["conversational", "evolutionary"]


@dataclass(frozen=True)
class CampaignOptions:
    """How long a campaign is and what a run may spend.

    Args:
        search: what steers the measurements.
        strategy: ``evolutionary``, or ``conversational`` for a single run.
        runs: runs of an evolutionary campaign.
        rounds: most drafts of the offline author in a run, or most answers of a language model.
        tool_calls: most tool calls of a run.
        allowance: tokens and money of the whole campaign; may be raised when it is resumed.

    Raises:
        InputError: for a value out of range.
    """

    search: SearchOptions
    strategy: Strategy = "evolutionary"
    runs: int = 12
    rounds: int = 10
    tool_calls: int = 100
    allowance: Allowance = field(default_factory=Allowance)

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


def run_campaign(
    archive: Archive,
    options: CampaignOptions,
    author: Author | Ensemble,
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
        author: who writes; or several, of whom one is chosen for each run.
        campaign_id: its name; a known one is resumed.
        workers: processes; the report does not depend on it.
        force: why a frozen archive is searched again.
        on_reference: called with the number of references measured so far.
        on_run: called after each run that is closed.

    Returns:
        The campaign's report, JSON; see :func:`campaign_report`. ``stopped`` says why runs are left.

    Raises:
        ArchiveError: when the archive is frozen and not forced, or the campaign was begun with other options.
        ModelFailure: when a language model gives no answer; its run stays open, and a resumed campaign goes on from there.
        InputError: for options out of range.
    """
    made = options.search.made()
    record = CampaignRecord(
        campaign_id,
        options.search.benchmark,
        options.strategy,
        options.search.seed,
        options.run_count,
        {**options.to_json(), "author": author.name, **_stated(author)},
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
            last = min(first + author.runs_at_once, record.run_count)
            indices = [i for i in range(first, last) if i not in closed]
            earlier = archive.runs(campaign_id, status="closed", before_generation=generation)
            share = options.allowance.share(spent_in(earlier), last - first)
            if indices and (share is None or ended_under(earlier, options.allowance)):
                return {**campaign_report(archive, campaign_id), "stopped": _spent_text(options)}
            if indices and share is not None:
                work = _Generation(archive, record, options, author, generation, first, share, indices)
                if not work.close_runs(bench, workers, on_run):
                    return {**campaign_report(archive, campaign_id), "stopped": _spent_text(options)}
    return campaign_report(archive, campaign_id)


def _stated(author: Author | Ensemble) -> dict[str, Any]:
    stated = author.traits.options if isinstance(author, Ensemble) else traits_of(author).options
    return {"author_options": dict(stated)} if stated else {}


def _spent_text(options: CampaignOptions) -> str:
    limits = {"tokens": options.allowance.tokens, "dollars": options.allowance.cost}
    said = " and ".join(f"{limit:g} {name}" for name, limit in limits.items() if limit is not None)
    return f"the campaign's allowance of {said} is spent; raise it and the same command goes on"


@dataclass(frozen=True, eq=False)
class _Generation:
    """The open runs of one generation."""

    archive: Archive
    campaign: CampaignRecord
    options: CampaignOptions
    author: Author | Ensemble
    number: int
    first: int
    share: Allowance
    indices: list[int]

    def close_runs(self, bench: Workbench, workers: int, on_run: Callable[[RunSummary], None] | None) -> bool:
        """Calculate them and close them in order; whether the campaign may go on spending.

        Raises:
            ModelFailure: when no member of the campaign gets answers.
        """
        tasks = self._tasks()
        work = partial(run_task, bench=bench, archive=self.archive, allowance=self.options.allowance)
        stream = ordered_stream(work, tasks, workers=workers)
        for task, done in zip(tasks, stream, strict=True):
            index = task.brief.index
            if done.failure is not None and not self._others_may_answer(index):
                raise done.failure
            spent = str(done.result["ended"]).startswith(ENDED)
            if spent and not done.result["usage"]["calls"]:
                return False  # it has not begun, and stays open
            self.archive.close_run(
                self.campaign.id, index, result=done.result, entries=done.entries, seconds=done.seconds
            )
            if on_run is not None:
                on_run(summary_of(self.archive, self.campaign, task.brief, done.result))
            if spent and index == self.indices[-1]:
                return False
        return True

    def _tasks(self) -> list[RunTask]:
        """Choose authors, open the runs, and put together what they need."""
        archive, campaign = self.archive, self.campaign
        earlier = archive.accepted(campaign.id, before_generation=self.number)
        programs = {program.id: program for program in archive.programs([record.program_id for record in earlier])}
        fingerprints = {record.program_id: np.array(record.details["fingerprint"]) for record in earlier}
        played = self._played(earlier)
        named = isinstance(self.author, Ensemble)
        tasks = []
        for index in range(self.first, self.indices[-1] + 1):
            author = (
                self.author.choose(played, campaign.seed, index) if isinstance(self.author, Ensemble) else self.author
            )
            played.append(Played(author.name, None))
            if index not in self.indices:
                continue
            traits = traits_of(author)
            brief = _brief(campaign, self.options, earlier, programs, index, index - self.first)
            brief = replace(
                brief,
                discovery=traits.discovers and self.options.search.novelty_threshold > 0,
                tokens=self.share.tokens,
                cost=self.share.cost,
            )
            state = {"niche": brief.niche, "parent": brief.parent.program.id if brief.parent else None}
            if named:
                state["author"] = author.name
            archive.open_run(campaign.id, index, generation=self.number, state=state, keep=traits.converses)
            held = tuple(r for r in archive.accepted(campaign.id, open_too=True) if r.run_index == index)
            transcript = archive.transcript(campaign.id, index)
            tasks.append(RunTask(campaign.id, brief, author, named, programs, fingerprints, earlier, held, transcript))
        return tasks

    def _played(self, earlier: tuple[AcceptedRecord, ...]) -> list[Played]:
        """Closed runs of earlier generations, as a bandit learns from them."""
        best: dict[int, float] = {}
        for record in earlier:
            if record.elite_score is not None:
                best[record.run_index] = max(record.elite_score, best.get(record.run_index, record.elite_score))
        runs = self.archive.runs(self.campaign.id, status="closed", before_generation=self.number)
        return [Played(str(run.state.get("author")), best.get(run.index)) for run in runs]

    def _others_may_answer(self, index: int) -> bool:
        """Whether fewer runs in a row have gone without an answer than the ensemble has members."""
        if not isinstance(self.author, Ensemble):
            return False
        failed = 1
        for run in reversed([run for run in self.archive.runs(self.campaign.id, status="closed") if run.index < index]):
            if run.result is None or not str(run.result["ended"]).startswith(NO_ANSWER):
                break
            failed += 1
        return failed < len(self.author.members)


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
        benchmark=options.search.benchmark,
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
