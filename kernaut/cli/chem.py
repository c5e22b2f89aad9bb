"""``kernaut chem-run`` and ``kernaut chem-benchmark``: rates of hidden enzyme mechanisms."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from kernaut.cli import ranges
from kernaut.cli.option_records import with_options_of
from kernaut.cli.reporting import REPORT, ReportGiven, SplitName, SplitOption, report, splits_of
from kernaut.cli.searching import SHORT_SEARCH, SearchGiven, search


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
NoiseOption = Annotated[
    float, typer.Option("--noise-level", help="Relative noise of a measurement.", callback=ranges.within(0, 1))
]
WorstDomainOption = Annotated[
    float,
    typer.Option(
        "--worst-domain-weight",
        help="Weight of the worst mechanism's mean CRPS in the score.",
        callback=ranges.within(0, 1_000_000),
    ),
]
TrainPointsOption = Annotated[
    int, typer.Option("--train-points", help="Experiments for fitting.", callback=ranges.within(1, 1000))
]
TestPointsOption = Annotated[
    int, typer.Option("--test-points", help="Experiments to predict.", callback=ranges.within(1, 1000))
]
PerDomainOption = Annotated[
    int, typer.Option("--episodes-per-domain", help="Episodes of each mechanism.", callback=ranges.per_family)
]


@with_options_of
def chem_run(
    ctx: typer.Context,
    episodes_per_domain: PerDomainOption = 1,
    difficulty: DifficultyOption = Difficulty.easy,
    noise_level: NoiseOption = 0.01,
    worst_domain_weight: WorstDomainOption = 0.0,
    train_points: TrainPointsOption = 20,
    test_points: TestPointsOption = 20,
    chembench_root: RootOption = None,
    given: SearchGiven = SHORT_SEARCH,
) -> None:
    """Search for kernels on meta-training mechanisms, and print the campaign's report."""
    search(
        ctx,
        "enzymes",
        given,
        benchmark_options=_made_with(chembench_root, difficulty, noise_level, train_points, test_points),
        episodes_per_family=episodes_per_domain,
        worst_domain_weight=worst_domain_weight,
    )


@with_options_of
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
    given: ReportGiven = REPORT,
) -> None:
    """Score programs and the reference kernels on enzyme mechanisms, and print the report; failures are listed by episode."""
    report(
        ctx,
        "enzymes",
        given,
        benchmark_options=_made_with(chembench_root, difficulty, noise_level, train_points, test_points),
        splits=splits_of(split),
        episodes_per_family=episodes_per_domain,
        worst_domain_weight=worst_domain_weight,
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
