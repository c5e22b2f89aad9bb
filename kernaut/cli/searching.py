"""What every search command shares: its options as typed declarations, and the search behind them.

``meta-run``, ``ts-run``, ``chem-run`` and ``glucose-run`` differ in their benchmark, its options and a few defaults only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from kernaut.cli import ranges
from kernaut.cli.options import DEFAULT_ARCHIVE, ArchiveOption, OutOption, WorkersOption, worker_count
from kernaut.cli.outcome import Resumable, command_line
from kernaut.cli.terminal import Progress, Terminal, require_writable, write_json

if TYPE_CHECKING:
    from kernaut.archive.records import RunRecord
    from kernaut.authors.author import Author
    from kernaut.search.bandit import Ensemble
    from kernaut.search.campaign import CampaignOptions
    from kernaut.search.running import RunSummary

T = TypeVar("T")
RUNS = 12
ROUNDS = 10
TOOL_CALLS = 100


class StrategyName(StrEnum):
    """How a campaign is laid out."""

    conversational = "conversational"
    evolutionary = "evolutionary"


class EliteScore(StrEnum):
    """What steers elites."""

    paper = "paper"
    score = "score"


ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="TOML: [llm] or [[ensemble]], [bandit], [campaign], [execution]; see configs/."
    ),
]
ContextOption = Annotated[
    Path | None,
    typer.Option(
        "--context", metavar="FILE", help="Task description for a language model. [default: the benchmark's own]"
    ),
]
RunIdOption = Annotated[
    str | None,
    typer.Option(
        "--run-id",
        metavar="NAME",
        help="The campaign's name; a known one is resumed. [default: BENCHMARK-seed-N, with a language model's name]",
        callback=ranges.printable,
    ),
]
StrategyOption = Annotated[
    StrategyName, typer.Option("--strategy", help="Many runs that build on each other, or a single one.")
]
IterationsOption = Annotated[
    int, typer.Option("--iterations", help="Runs of an evolutionary campaign.", callback=ranges.count)
]
RoundsOption = Annotated[
    int,
    typer.Option(
        "--rounds-per-iteration",
        help="Most drafts of a run; most answers of a language model.",
        callback=ranges.count,
    ),
]
MaxRoundsOption = Annotated[
    int | None,
    typer.Option(
        "--max-rounds",
        help="As --rounds-per-iteration for a conversational run; never more in others.",
        callback=ranges.count,
    ),
]
MaxToolCallsOption = Annotated[
    int | None, typer.Option("--max-tool-calls", help="Most tool calls of a run. [default: 100]", callback=ranges.count)
]
NoveltyOption = Annotated[
    float,
    typer.Option(
        "--novelty-threshold",
        help="Distance below which novelty is penalized; 0 turns it off.",
        callback=ranges.within(0, 2),
    ),
]
EliteScoreOption = Annotated[EliteScore, typer.Option("--elite-score", help="What steers elites.")]
SeedOption = Annotated[
    int | None,
    typer.Option("--seed", help="Seed of the search; never of the partitions. [default: 0]", callback=ranges.seed),
]
MaxTokensOption = Annotated[
    int | None,
    typer.Option(
        "--max-tokens", help="Most tokens of the campaign, sent and answered.", callback=ranges.within(0, above=True)
    ),
]
MaxCostOption = Annotated[
    float | None,
    typer.Option(
        "--max-cost",
        metavar="DOLLARS",
        help="Most that the campaign's models may cost.",
        callback=ranges.within(0, above=True),
    ),
]
DryRunOption = Annotated[
    bool,
    typer.Option("--dry-run", help="Print the answers, tokens and cost to expect; ask, search and store nothing."),
]
ForceOption = Annotated[
    str | None,
    typer.Option("--force", metavar="WHY", help="Search on although the archive is frozen; recorded with the reason."),
]


@dataclass(frozen=True)
class SearchGiven:
    """What every search command can be given; each field is the option of its name."""

    config: ConfigOption = None
    context: ContextOption = None
    archive: ArchiveOption = DEFAULT_ARCHIVE
    run_id: RunIdOption = None
    strategy: StrategyOption = StrategyName.evolutionary
    iterations: IterationsOption = RUNS
    rounds_per_iteration: RoundsOption = ROUNDS
    max_rounds: MaxRoundsOption = None
    max_tool_calls: MaxToolCallsOption = None
    novelty_threshold: NoveltyOption = 0.08
    elite_score: EliteScoreOption = EliteScore.paper
    max_tokens: MaxTokensOption = None
    max_cost: MaxCostOption = None
    seed: SeedOption = None
    workers: WorkersOption = None
    force: ForceOption = None
    dry_run: DryRunOption = False
    out: OutOption = None


SEARCH = SearchGiven()
SHORT_SEARCH = SearchGiven(iterations=8)
"""Enzymes and glucose need fewer runs."""


def search(
    ctx: typer.Context,
    benchmark: str,
    given: SearchGiven,
    *,
    episodes_per_family: int,
    benchmark_options: Mapping[str, Any] | None = None,
    worst_domain_weight: float = 0.0,
    baselines: tuple[str, ...] | None = None,
) -> None:
    """Run a campaign, or what is left of it, and write its report.

    Args:
        ctx: of the command.
        benchmark: its name.
        given: the options that search commands share.
        episodes_per_family: meta-training episodes.
        benchmark_options: what the benchmark is made with.
        worst_domain_weight: weight of the worst family's mean CRPS in the search score.
        baselines: the extensions whose kernels are among the references; all if absent.

    Raises:
        InputError: for an option out of range.
        ArchiveError: when the archive is frozen, or the campaign was begun with other options.
        ModelFailure: when a language model gives no answer; the same command goes on.
    """
    from kernaut.cli.authors import author_of, campaign_word, require_context
    from kernaut.cli.config import read_config
    from kernaut.digest import FrozenMapping
    from kernaut.episodes.registry import benchmark_named

    terminal: Terminal = ctx.obj
    count = worker_count(given.workers)
    require_writable(given.out)
    settings = read_config(given.config, for_models=True)
    require_context(settings, given.context)
    benchmark_named(benchmark, **(benchmark_options or {})).episodes("train", 1)

    from kernaut.archive.store import Archive
    from kernaut.errors import ModelFailure
    from kernaut.evaluation.references import references_of
    from kernaut.search.allowance import Allowance
    from kernaut.search.campaign import CampaignOptions, run_campaign
    from kernaut.search.workbench import SearchOptions

    seed = first_given(given.seed, settings.campaign.seed, 0)
    most_rounds = first_given(given.max_rounds, settings.campaign.max_rounds, None)
    single = given.strategy is StrategyName.conversational
    rounds = given.rounds_per_iteration
    if most_rounds is not None:
        rounds = most_rounds if single else min(rounds, most_rounds)
    options = CampaignOptions(
        search=SearchOptions(
            benchmark=benchmark,
            seed=seed,
            episodes_per_family=episodes_per_family,
            novelty_threshold=given.novelty_threshold,
            elite_score=given.elite_score.value,
            benchmark_options=FrozenMapping(benchmark_options or {}),
            limits=settings.execution.limits(),
            worst_family_weight=worst_domain_weight,
            baselines=baselines,
        ),
        strategy=given.strategy.value,
        runs=given.iterations,
        rounds=rounds,
        tool_calls=first_given(given.max_tool_calls, settings.campaign.max_tool_calls, TOOL_CALLS),
        allowance=Allowance(
            first_given(given.max_tokens, settings.campaign.max_tokens, None),
            first_given(given.max_cost, settings.campaign.max_cost, None),
        ),
    )
    author = author_of(settings, given.context, benchmark, ready=not given.dry_run)
    require_prices(author, options)
    made = options.search.made()
    if made.warning is not None:
        terminal.warn(made.warning)
    who = f"-{campaign_word(author.name)}" if settings.members() else ""
    name = given.run_id or f"{benchmark}{who}{'-conversational' if single else ''}-seed-{seed}"
    if given.dry_run:
        write_json({"campaign": name, **expected_of(author, options, given.archive, name)}, given.out)
        return
    references = len(references_of(made, baselines))
    try:
        with (
            Archive.open_or_create(given.archive) as opened,
            terminal.progress() as progress,
        ):
            location = str(opened.location)
            report = run_campaign(
                opened,
                options,
                author,
                campaign_id=name,
                workers=count,
                force=given.force,
                on_reference=lambda done: progress.at("references", done, references),
                on_run=lambda summary: _show(progress, summary),
            )
    except ModelFailure:
        terminal.note(f"campaign {name} is in {given.archive}, with all that was accepted")
        raise
    except KeyboardInterrupt as error:
        raise Resumable(command_line(ctx, run_id=name, archive=given.archive)) from error
    write_json(report, given.out)
    if "stopped" in report:
        terminal.warn(report["stopped"])
    terminal.note(f"campaign {name} is in {location}")


def require_prices(author: Author | Ensemble, options: CampaignOptions) -> None:
    """Check that a limit of money can be kept.

    Raises:
        InputError: when a model's prices are not known.
    """
    from kernaut.authors.conversation import ModelAuthor
    from kernaut.errors import InputError
    from kernaut.search.bandit import Ensemble

    members = author.members if isinstance(author, Ensemble) else (author,)
    unpriced = [
        member.name for member in members if isinstance(member, ModelAuthor) and member.settings.input_price is None
    ]
    if options.allowance.cost is not None and unpriced:
        raise InputError(
            f"Expected input_price and output_price, in dollars for a million tokens, beside a limit of money. Got none of {', '.join(unpriced)}."
        )


def expected_of(author: Author | Ensemble, options: CampaignOptions, archive: str, name: str) -> dict[str, Any]:
    """What is left of a campaign to be asked for and paid, as JSON; an archive that is there is only read."""
    from kernaut.archive.database import database_exists
    from kernaut.archive.location import locate
    from kernaut.archive.store import Archive
    from kernaut.search.expectation import expected_spending

    closed: tuple[RunRecord, ...] = ()
    if database_exists(locate(archive)):
        with Archive.open(archive, read_only=True) as opened:
            if any(campaign.id == name for campaign in opened.campaigns()):
                closed = opened.runs(name, status="closed")
    return expected_spending(author, options, closed)


def _show(progress: Progress, summary: RunSummary) -> None:
    progress.tell(str(summary))
    progress.at("runs", summary.index + 1, summary.run_count)


def first_given(given: T | None, configured: T | None, default: T) -> T:
    """The command line's value, else the configuration's, else the default."""
    if given is not None:
        return given
    return configured if configured is not None else default
