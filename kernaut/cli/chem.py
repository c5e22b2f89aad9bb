"""``kernaut chem-run`` and ``kernaut chem-benchmark``: rates of hidden enzyme mechanisms."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

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
    SHORT_RUNS,
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


class Difficulty(StrEnum):
    """Which constants the laws have."""

    easy = "easy"
    medium = "medium"
    hard = "hard"


RootOption = Annotated[
    str | None,
    typer.Option(
        "--chembench-root",
        metavar="DIR",
        help="A checkout of LLM-AutoSciLab; without it, Kernaut's embedded oracle serves, which is not ChemBench.",
    ),
]
DifficultyOption = Annotated[Difficulty, typer.Option("--difficulty", help="Which constants the laws have.")]
NoiseOption = Annotated[float, typer.Option("--noise-level", help="Relative noise of a measurement.")]
WorstDomainOption = Annotated[
    float, typer.Option("--worst-domain-weight", help="Weight of the worst mechanism's mean CRPS in the score.")
]
TrainPointsOption = Annotated[int, typer.Option("--train-points", help="Experiments for fitting.")]
TestPointsOption = Annotated[int, typer.Option("--test-points", help="Experiments to predict.")]
PerDomainOption = Annotated[int, typer.Option("--episodes-per-domain", help="Episodes of each mechanism.")]


def chem_run(
    ctx: typer.Context,
    episodes_per_domain: PerDomainOption = 1,
    difficulty: DifficultyOption = Difficulty.easy,
    noise_level: NoiseOption = 0.01,
    worst_domain_weight: WorstDomainOption = 0.0,
    train_points: TrainPointsOption = 20,
    test_points: TestPointsOption = 20,
    chembench_root: RootOption = None,
    config: ConfigOption = None,
    context: ContextOption = None,
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    run_id: RunIdOption = None,
    strategy: StrategyOption = StrategyName.evolutionary,
    iterations: IterationsOption = SHORT_RUNS,
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
    """Search for kernels on meta-training mechanisms, and print the campaign's report."""
    search(
        ctx,
        SearchRequest(
            benchmark="enzymes",
            benchmark_options=_made_with(chembench_root, difficulty, noise_level, train_points, test_points),
            episodes_per_family=episodes_per_domain,
            worst_domain_weight=worst_domain_weight,
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


def chem_benchmark(
    ctx: typer.Context,
    split: SplitOption = SplitName.all,
    episodes_per_domain: PerDomainOption = 1,
    difficulty: DifficultyOption = Difficulty.easy,
    noise_level: NoiseOption = 0.01,
    worst_domain_weight: WorstDomainOption = 0.0,
    train_points: TrainPointsOption = 20,
    test_points: TestPointsOption = 20,
    chembench_root: RootOption = None,
    archive: ArchiveToReadOption = None,
    config: LimitsOption = None,
    selection: SelectionOption = None,
    limit: LimitOption = 100,
    candidate_id: CandidateIdOption = None,
    candidate_file: CandidateFileOption = None,
    workers: WorkersOption = None,
    out: OutOption = None,
) -> None:
    """Score programs and the reference kernels on enzyme mechanisms, and print the report; failures are listed by episode."""
    report(
        ctx,
        ReportRequest(
            benchmark="enzymes",
            benchmark_options=_made_with(chembench_root, difficulty, noise_level, train_points, test_points),
            splits=splits_of(split),
            episodes_per_family=episodes_per_domain,
            worst_domain_weight=worst_domain_weight,
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


def _made_with(
    root: str | None, difficulty: Difficulty, noise_level: float, train_points: int, test_points: int
) -> dict[str, Any]:
    return {
        "chembench_root": root,
        "difficulty": difficulty.value,
        "noise_level": noise_level,
        "train_points": train_points,
        "test_points": test_points,
    }
