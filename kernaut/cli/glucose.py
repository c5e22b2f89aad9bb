"""``kernaut glucose-run``, ``glucose-benchmark`` and ``glucose-sealed-test``: forecasts of simulated patients' glucose."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
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
    report,
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
from kernaut.cli.terminal import Terminal, require_writable, write_json


class OpenSplit(StrEnum):
    """Which splits are opened; adults are tested by ``glucose-sealed-test`` alone."""

    all = "all"
    train = "train"
    validation = "validation"


DataOption = Annotated[
    str | None, typer.Option("--data", metavar="FILE", help="An exchange file. [default: the bundled one]")
]


def glucose_run(
    ctx: typer.Context,
    episodes_per_family: Annotated[
        int, typer.Option("--episodes-per-family", help="Meta-training folds of each child, 1 to 6.")
    ] = 2,
    data: DataOption = None,
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
    """Search for kernels on meta-training patients, and print the campaign's report."""
    search(
        ctx,
        SearchRequest(
            benchmark="glucose",
            benchmark_options={} if data is None else {"data": data},
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


def glucose_benchmark(
    ctx: typer.Context,
    split: Annotated[OpenSplit, typer.Option("--split", help="Which splits to open; all means both.")] = OpenSplit.all,
    episodes_per_family: Annotated[
        int, typer.Option("--episodes-per-family", help="Folds of each patient, 1 to 6.")
    ] = 6,
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
    """Score programs and the reference kernels on children and adolescents, and print the report with CRPS, NLPD, RMSE and NMSE."""
    report(
        ctx,
        ReportRequest(
            benchmark="glucose",
            benchmark_options={} if data is None else {"data": data},
            splits=("train", "validation") if split is OpenSplit.all else (split.value,),
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


def glucose_sealed_test(
    ctx: typer.Context,
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    candidate_id: Annotated[
        str | None, typer.Option("--candidate-id", metavar="ID", help="An accepted program of the archive.")
    ] = None,
    candidate_file: Annotated[
        Path | None, typer.Option("--candidate-file", metavar="FILE", help="A candidate JSON file instead.")
    ] = None,
    out: OutOption = None,
) -> None:
    """Forecast twelve hidden interventions of each adult, have a separate process score them, and print the scores.

    This is Kernaut's own test on simulated data, not the external evaluator; the outcomes are kept apart from the search, not secret, since the simulator is
    public. Every use is counted as a look at test.
    """
    from kernaut.archive.store import Archive
    from kernaut.errors import InputError
    from kernaut.evaluation.subject import program_subject
    from kernaut.search.candidates import verified_candidate
    from kernaut.search.sealed_glucose import sealed_glucose_test

    terminal: Terminal = ctx.obj
    require_writable(out)
    if (candidate_id is None) == (candidate_file is None):
        raise InputError("Expected one of --candidate-id and --candidate-file. Got both or none.")
    if candidate_file is not None:
        program, _ = verified_candidate(candidate_file, (5,))
        with terminal.progress() as progress:
            found = sealed_glucose_test(
                program_subject(program, "file"), done=lambda done, total: progress.at("forecasts", done, total)
            )
        write_json(found, out)
        return
    with Archive.open(archive) as opened:
        assert candidate_id is not None
        program = opened.program(candidate_id)
        known = {other.id: other for other in opened.programs()}
        with terminal.progress() as progress:
            found = sealed_glucose_test(
                program_subject(program),
                archive=opened,
                programs=known,
                done=lambda done, total: progress.at("forecasts", done, total),
            )
    write_json(found, out)
