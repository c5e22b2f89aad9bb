"""``kernaut meta-run`` and ``kernaut select``: search on meta-training, then freeze and choose on validation."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from kernaut.cli.options import (
    DEFAULT_ARCHIVE,
    ArchiveOption,
    BenchmarkOption,
    OutOption,
    WorkersOption,
    worker_count,
)
from kernaut.cli.outcome import Resumable, command_line
from kernaut.cli.terminal import Progress, Terminal, require_writable, write_json

if TYPE_CHECKING:
    from kernaut.search.campaign import RunSummary

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


class Metric(StrEnum):
    """What a selection minimizes."""

    crps = "predictive.mean_crps"
    regret = "bo.regret_auc"


def meta_run(
    ctx: typer.Context,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="TOML with [campaign] and [execution] settings.")
    ] = None,
    context: Annotated[
        Path | None, typer.Option("--context", metavar="FILE", help="Task description for a language model.")
    ] = None,
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    run_id: Annotated[
        str | None,
        typer.Option(
            "--run-id", metavar="NAME", help="The campaign's name; a known one is resumed. [default: bbo-seed-N]"
        ),
    ] = None,
    strategy: Annotated[
        StrategyName, typer.Option("--strategy", help="Many runs that build on each other, or a single one.")
    ] = StrategyName.evolutionary,
    iterations: Annotated[int, typer.Option("--iterations", help="Runs of an evolutionary campaign.")] = RUNS,
    rounds_per_iteration: Annotated[int, typer.Option("--rounds-per-iteration", help="Most drafts of a run.")] = ROUNDS,
    episodes_per_family: Annotated[
        int, typer.Option("--episodes-per-family", help="Meta-training episodes of each family.")
    ] = 2,
    max_rounds: Annotated[
        int | None,
        typer.Option("--max-rounds", help="Most drafts of a conversational run; never more in an evolutionary one."),
    ] = None,
    max_tool_calls: Annotated[
        int | None, typer.Option("--max-tool-calls", help="Most tool calls of a run. [default: 100]")
    ] = None,
    novelty_threshold: Annotated[
        float, typer.Option("--novelty-threshold", help="Distance below which novelty is penalized; 0 turns it off.")
    ] = 0.08,
    elite_score: Annotated[EliteScore, typer.Option("--elite-score", help="What steers elites.")] = EliteScore.paper,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Seed of the search; never of the partitions. [default: 0]")
    ] = None,
    workers: WorkersOption = None,
    benchmark: BenchmarkOption = "bbo",
    force: Annotated[
        str | None,
        typer.Option(
            "--force", metavar="WHY", help="Search on although the archive is frozen; recorded with the reason."
        ),
    ] = None,
    out: OutOption = None,
) -> None:
    """Search for kernels on meta-training episodes, and print the campaign's report.

    Interrupt it at any moment: the same command continues where it was. Without --config the offline author searches, with no key and no network.
    """
    from kernaut.archive.store import Archive
    from kernaut.authors.grammar import GrammarAuthor
    from kernaut.cli.config import read_config
    from kernaut.errors import InputError
    from kernaut.evaluation.references import references_of
    from kernaut.search.campaign import CampaignOptions, run_campaign
    from kernaut.search.workbench import SearchOptions

    terminal: Terminal = ctx.obj
    count = worker_count(workers)
    require_writable(out)
    if context is not None:
        raise InputError(
            "Expected no --context: the offline author reads no task description. Got one.",
            hint="A context is for a language model, which --config would name; this version has none.",
        )
    settings = read_config(config, for_models=True)
    seed = _first(seed, settings.campaign.seed, 0)
    most_rounds = _first(max_rounds, settings.campaign.max_rounds, None)
    single = strategy is StrategyName.conversational
    rounds = rounds_per_iteration
    if most_rounds is not None:
        rounds = most_rounds if single else min(rounds, most_rounds)
    options = CampaignOptions(
        search=SearchOptions(
            benchmark=benchmark,
            seed=seed,
            episodes_per_family=episodes_per_family,
            novelty_threshold=novelty_threshold,
            elite_score=elite_score.value,
            limits=settings.execution.limits(),
        ),
        strategy=strategy.value,
        runs=iterations,
        rounds=rounds,
        tool_calls=_first(max_tool_calls, settings.campaign.max_tool_calls, TOOL_CALLS),
    )
    name = run_id or f"{benchmark}{'-conversational' if single else ''}-seed-{seed}"
    references = len(references_of(options.search.made()))
    try:
        with (
            Archive.open_or_create(archive) as opened,
            terminal.progress() as progress,
        ):
            terminal.note(f"campaign {name} in {opened.location}, {count} worker{'s' if count > 1 else ''}")
            report = run_campaign(
                opened,
                options,
                GrammarAuthor(),
                campaign_id=name,
                workers=count,
                force=force,
                on_reference=lambda done: progress.at("references", done, references),
                on_run=lambda summary: _show(progress, summary),
            )
    except KeyboardInterrupt as error:
        raise Resumable(command_line(ctx, run_id=name, archive=archive)) from error
    write_json(report, out)


def select(
    ctx: typer.Context,
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    benchmark: BenchmarkOption = "bbo",
    metric: Annotated[Metric, typer.Option("--metric", help="What to minimize on validation.")] = Metric.crps,
    episodes_per_family: Annotated[
        int, typer.Option("--episodes-per-family", help="Validation episodes of each family.")
    ] = 10,
    workers: WorkersOption = None,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the selection is written.")] = Path(
        "selection.json"
    ),
) -> None:
    """Freeze an archive, evaluate every candidate on validation, and choose one; test stays closed.

    Afterwards no search may go on in this archive. The selected program's test report: kernaut meta-benchmark --selection selection.json.
    """
    from kernaut.archive.store import Archive
    from kernaut.search.selection import select as choose

    terminal: Terminal = ctx.obj
    count = worker_count(workers)
    require_writable(out)
    with Archive.open(archive) as opened:
        total = len(opened.candidates())
        with terminal.progress() as progress:
            selection, _ = choose(
                opened,
                benchmark,
                metric.value,
                per_family=episodes_per_family,
                workers=count,
                done=lambda done: progress.at("validation", done, total),
            )
        program = opened.program(selection.choice)
    write_json(selection.to_json(), out)
    value = selection.values[selection.choice]
    typer.echo(f"selected {selection.choice} ({program.name}) of {total}: {metric.value} {value:.4f} on validation")
    typer.echo(f"selection {out}")


def _show(progress: Progress, summary: RunSummary) -> None:
    progress.tell(str(summary))
    progress.at("runs", summary.index + 1, summary.run_count)


def _first(given: T | None, configured: T | None, default: T) -> T:
    """The command line's value, else the configuration's, else the default."""
    if given is not None:
        return given
    return configured if configured is not None else default
