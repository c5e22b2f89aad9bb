"""What every search command shares: its options as typed declarations, and the search behind them.

``meta-run``, ``ts-run``, ``chem-run`` and ``glucose-run`` differ in their benchmark, its options and a few defaults only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from kernaut.cli.options import worker_count
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
SHORT_RUNS = 8
"""Runs of a campaign on enzymes or glucose."""
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
    ),
]
StrategyOption = Annotated[
    StrategyName, typer.Option("--strategy", help="Many runs that build on each other, or a single one.")
]
IterationsOption = Annotated[int, typer.Option("--iterations", help="Runs of an evolutionary campaign.")]
RoundsOption = Annotated[
    int, typer.Option("--rounds-per-iteration", help="Most drafts of a run; most answers of a language model.")
]
MaxRoundsOption = Annotated[
    int | None,
    typer.Option("--max-rounds", help="As --rounds-per-iteration for a conversational run; never more in others."),
]
MaxToolCallsOption = Annotated[
    int | None, typer.Option("--max-tool-calls", help="Most tool calls of a run. [default: 100]")
]
NoveltyOption = Annotated[
    float, typer.Option("--novelty-threshold", help="Distance below which novelty is penalized; 0 turns it off.")
]
EliteScoreOption = Annotated[EliteScore, typer.Option("--elite-score", help="What steers elites.")]
SeedOption = Annotated[
    int | None, typer.Option("--seed", help="Seed of the search; never of the partitions. [default: 0]")
]
MaxTokensOption = Annotated[
    int | None, typer.Option("--max-tokens", help="Most tokens of the campaign, sent and answered.")
]
MaxCostOption = Annotated[
    float | None, typer.Option("--max-cost", metavar="DOLLARS", help="Most that the campaign's models may cost.")
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
class SearchRequest:
    """What a search command was asked for; each field is the option of its name.

    ``score_penalties`` are further penalties of the search score that a benchmark's command offers.
    """

    benchmark: str
    archive: str
    episodes_per_family: int
    benchmark_options: Mapping[str, Any] = field(default_factory=dict)
    config: Path | None = None
    context: Path | None = None
    run_id: str | None = None
    strategy: StrategyName = StrategyName.evolutionary
    iterations: int = RUNS
    rounds_per_iteration: int = ROUNDS
    max_rounds: int | None = None
    max_tool_calls: int | None = None
    novelty_threshold: float = 0.08
    elite_score: EliteScore = EliteScore.paper
    worst_domain_weight: float = 0.0
    seed: int | None = None
    workers: int | None = None
    force: str | None = None
    out: Path | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    dry_run: bool = False
    baselines: tuple[str, ...] | None = None


def search(ctx: typer.Context, request: SearchRequest) -> None:
    """Run a campaign, or what is left of it, and write its report.

    Raises:
        InputError: for an option out of range.
        ArchiveError: when the archive is frozen, or the campaign was begun with other options.
        ModelFailure: when a language model gives no answer; the same command goes on.
    """
    from kernaut.archive.store import Archive
    from kernaut.cli.authors import author_of, campaign_word
    from kernaut.cli.config import read_config
    from kernaut.digest import FrozenMapping
    from kernaut.errors import ModelFailure
    from kernaut.evaluation.references import references_of
    from kernaut.search.allowance import Allowance
    from kernaut.search.campaign import CampaignOptions, run_campaign
    from kernaut.search.workbench import SearchOptions

    terminal: Terminal = ctx.obj
    count = worker_count(request.workers)
    require_writable(request.out)
    settings = read_config(request.config, for_models=True)
    seed = first_given(request.seed, settings.campaign.seed, 0)
    most_rounds = first_given(request.max_rounds, settings.campaign.max_rounds, None)
    single = request.strategy is StrategyName.conversational
    rounds = request.rounds_per_iteration
    if most_rounds is not None:
        rounds = most_rounds if single else min(rounds, most_rounds)
    options = CampaignOptions(
        search=SearchOptions(
            benchmark=request.benchmark,
            seed=seed,
            episodes_per_family=request.episodes_per_family,
            novelty_threshold=request.novelty_threshold,
            elite_score=request.elite_score.value,
            benchmark_options=FrozenMapping(request.benchmark_options),
            limits=settings.execution.limits(),
            worst_family_weight=request.worst_domain_weight,
            baselines=request.baselines,
        ),
        strategy=request.strategy.value,
        runs=request.iterations,
        rounds=rounds,
        tool_calls=first_given(request.max_tool_calls, settings.campaign.max_tool_calls, TOOL_CALLS),
        allowance=Allowance(
            first_given(request.max_tokens, settings.campaign.max_tokens, None),
            first_given(request.max_cost, settings.campaign.max_cost, None),
        ),
    )
    author = author_of(settings, request.context, request.benchmark, ready=not request.dry_run)
    require_prices(author, options)
    made = options.search.made()
    if made.warning is not None:
        terminal.warn(made.warning)
    who = f"-{campaign_word(author.name)}" if settings.members() else ""
    name = request.run_id or f"{request.benchmark}{who}{'-conversational' if single else ''}-seed-{seed}"
    if request.dry_run:
        write_json({"campaign": name, **expected_of(author, options, request.archive, name)}, request.out)
        return
    references = len(references_of(made, request.baselines))
    try:
        with (
            Archive.open_or_create(request.archive) as opened,
            terminal.progress() as progress,
        ):
            location = str(opened.location)
            report = run_campaign(
                opened,
                options,
                author,
                campaign_id=name,
                workers=count,
                force=request.force,
                on_reference=lambda done: progress.at("references", done, references),
                on_run=lambda summary: _show(progress, summary),
            )
    except ModelFailure:
        terminal.note(f"campaign {name} is in {request.archive}, with all that was accepted")
        raise
    except KeyboardInterrupt as error:
        raise Resumable(command_line(ctx, run_id=name, archive=request.archive)) from error
    write_json(report, request.out)
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
