"""``kernaut meta-benchmark``: programs beside the references on the benchmark's splits. No author and no model is ever called."""

from __future__ import annotations

from typing import Annotated

import typer

from kernaut.cli.options import BenchmarkOption, OutOption, WorkersOption
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


def meta_benchmark(
    ctx: typer.Context,
    archive: ArchiveToReadOption = None,
    config: LimitsOption = None,
    split: SplitOption = SplitName.all,
    selection: SelectionOption = None,
    episodes_per_family: Annotated[int, typer.Option("--episodes-per-family", help="Episodes of each family.")] = 1,
    bo_steps: Annotated[int, typer.Option("--bo-steps", help="Steps of the optimization rollouts; 0 for none.")] = 8,
    candidate_pool_size: Annotated[
        int, typer.Option("--candidate-pool-size", help="Fresh candidates at each step.")
    ] = 128,
    limit: LimitOption = 100,
    candidate_id: CandidateIdOption = None,
    candidate_file: CandidateFileOption = None,
    benchmark: BenchmarkOption = "bbo",
    workers: WorkersOption = None,
    out: OutOption = None,
) -> None:
    """Score programs and the reference kernels, and print the report.

    References are always included. With --selection test results are those of one program that was chosen beforehand; without it, they must
    not be used to choose one.
    """
    report(
        ctx,
        ReportRequest(
            benchmark=benchmark,
            episodes_per_family=episodes_per_family,
            splits=splits_of(split),
            archive=archive,
            config=config,
            selection=selection,
            bo_steps=bo_steps,
            candidate_pool_size=candidate_pool_size,
            limit=limit,
            candidate_id=candidate_id,
            candidate_file=candidate_file,
            workers=workers,
            out=out,
        ),
    )
