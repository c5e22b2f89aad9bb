"""``kernaut ts-run`` and ``kernaut ts-benchmark``: forecasts of the greenhouse-gas records."""

from __future__ import annotations

from typing import Annotated

import typer

from kernaut.cli.options import DEFAULT_ARCHIVE, ArchiveOption, OutOption, WorkersOption
from kernaut.cli.reporting import (
    ArchiveToReadOption,
    CandidateFileOption,
    CandidateIdOption,
    LimitOption,
    LimitsOption,
    ReportRequest,
    SelectionOption,
    SplitName,
    SplitOption,
    report,
    splits_of,
)
from kernaut.cli.searching import (
    ROUNDS,
    RUNS,
    ConfigOption,
    ContextOption,
    DryRunOption,
    EliteScore,
    EliteScoreOption,
    ForceOption,
    IterationsOption,
    MaxCostOption,
    MaxRoundsOption,
    MaxTokensOption,
    MaxToolCallsOption,
    NoveltyOption,
    RoundsOption,
    RunIdOption,
    SearchRequest,
    SeedOption,
    StrategyName,
    StrategyOption,
    search,
)

DataOption = Annotated[
    str | None,
    typer.Option("--data", metavar="DIR", help="Folder of refreshed records. [default: the bundled ones]"),
]


def ts_run(
    ctx: typer.Context,
    episodes_per_family: Annotated[
        int, typer.Option("--episodes-per-family", help="Meta-training windows of each gas.")
    ] = 3,
    data: DataOption = None,
    config: ConfigOption = None,
    context: ContextOption = None,
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    run_id: RunIdOption = None,
    strategy: StrategyOption = StrategyName.evolutionary,
    iterations: IterationsOption = RUNS,
    rounds_per_iteration: RoundsOption = ROUNDS,
    max_rounds: MaxRoundsOption = None,
    max_tool_calls: MaxToolCallsOption = None,
    novelty_threshold: NoveltyOption = 0.08,
    elite_score: EliteScoreOption = EliteScore.paper,
    max_tokens: MaxTokensOption = None,
    max_cost: MaxCostOption = None,
    seed: SeedOption = None,
    workers: WorkersOption = None,
    force: ForceOption = None,
    dry_run: DryRunOption = False,
    out: OutOption = None,
) -> None:
    """Search for forecasting kernels on meta-training windows, at the full horizon of 48 months, and print the campaign's report."""
    search(
        ctx,
        SearchRequest(
            benchmark="greenhouse",
            benchmark_options=_made_with(data),
            episodes_per_family=episodes_per_family,
            archive=archive,
            config=config,
            context=context,
            run_id=run_id,
            strategy=strategy,
            iterations=iterations,
            rounds_per_iteration=rounds_per_iteration,
            max_rounds=max_rounds,
            max_tool_calls=max_tool_calls,
            novelty_threshold=novelty_threshold,
            elite_score=elite_score,
            seed=seed,
            workers=workers,
            force=force,
            out=out,
            max_tokens=max_tokens,
            max_cost=max_cost,
            dry_run=dry_run,
        ),
    )


def ts_benchmark(
    ctx: typer.Context,
    split: SplitOption = SplitName.all,
    episodes_per_family: Annotated[int, typer.Option("--episodes-per-family", help="Windows of each gas.")] = 1,
    horizon_months: Annotated[int, typer.Option("--horizon-months", help="Months to forecast.")] = 48,
    data: DataOption = None,
    archive: ArchiveToReadOption = None,
    config: LimitsOption = None,
    selection: SelectionOption = None,
    limit: LimitOption = 100,
    candidate_id: CandidateIdOption = None,
    candidate_file: CandidateFileOption = None,
    workers: WorkersOption = None,
    out: OutOption = None,
) -> None:
    """Score programs and the reference kernels on windows of the gas records, and print the report."""
    options = _made_with(data) | ({} if horizon_months == 48 else {"horizon": horizon_months})
    report(
        ctx,
        ReportRequest(
            benchmark="greenhouse",
            benchmark_options=options,
            splits=splits_of(split),
            episodes_per_family=episodes_per_family,
            archive=archive,
            config=config,
            selection=selection,
            limit=limit,
            candidate_id=candidate_id,
            candidate_file=candidate_file,
            workers=workers,
            out=out,
        ),
    )


def _made_with(data: str | None) -> dict[str, str | int]:
    return {} if data is None else {"data": data}
