"""``kernaut meta-benchmark``: programs beside the references on the benchmark's splits. No author and no model is ever called."""

from __future__ import annotations

from typing import Annotated

import typer

from kernaut.cli import ranges
from kernaut.cli.option_records import with_options_of
from kernaut.cli.options import BenchmarkOption
from kernaut.cli.reporting import REPORT, ReportGiven, SplitName, SplitOption, report, splits_of


@with_options_of
def meta_benchmark(
    ctx: typer.Context,
    split: SplitOption = SplitName.all,
    episodes_per_family: Annotated[
        int, typer.Option("--episodes-per-family", help="Episodes of each family.", callback=ranges.per_family)
    ] = 1,
    bo_steps: Annotated[
        int,
        typer.Option(
            "--bo-steps", help="Steps of the optimization rollouts; 0 for none.", callback=ranges.within(0, 1000)
        ),
    ] = 8,
    candidate_pool_size: Annotated[
        int, typer.Option("--candidate-pool-size", help="Fresh candidates at each step.", callback=ranges.count)
    ] = 128,
    benchmark: BenchmarkOption = "bbo",
    given: ReportGiven = REPORT,
) -> None:
    """Score programs and the reference kernels, and print the report.

    References are always included. With --selection test results are those of one program that was chosen beforehand; without it, they must
    not be used to choose one.
    """
    report(
        ctx,
        benchmark,
        given,
        episodes_per_family=episodes_per_family,
        splits=splits_of(split),
        bo_steps=bo_steps,
        candidate_pool_size=candidate_pool_size,
    )
