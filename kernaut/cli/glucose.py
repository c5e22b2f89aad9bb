"""``kernaut glucose-run``, ``glucose-benchmark`` and ``glucose-sealed-test``: forecasts of simulated patients' glucose."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kernaut.cli import ranges
from kernaut.cli.option_records import with_options_of
from kernaut.cli.options import DEFAULT_ARCHIVE, ArchiveOption, OutOption
from kernaut.cli.reporting import REPORT, ReportGiven, report
from kernaut.cli.searching import SHORT_SEARCH, SearchGiven, search
from kernaut.cli.terminal import Terminal, require_writable, write_json


class OpenSplit(StrEnum):
    """Which splits are opened; adults are tested by ``glucose-sealed-test`` alone."""

    all = "all"
    train = "train"
    validation = "validation"


DataOption = Annotated[
    str | None, typer.Option("--data", metavar="FILE", help="An exchange file. [default: the bundled one]")
]


@with_options_of
def glucose_run(
    ctx: typer.Context,
    episodes_per_family: Annotated[
        int,
        typer.Option(
            "--episodes-per-family", help="Meta-training folds of each child, 1 to 6.", callback=ranges.folds_of_patient
        ),
    ] = 2,
    data: DataOption = None,
    given: SearchGiven = SHORT_SEARCH,
) -> None:
    """Search for kernels on meta-training patients, and print the campaign's report."""
    search(
        ctx,
        "glucose",
        given,
        benchmark_options={} if data is None else {"data": data},
        episodes_per_family=episodes_per_family,
    )


@with_options_of
def glucose_benchmark(
    ctx: typer.Context,
    split: Annotated[OpenSplit, typer.Option("--split", help="Which splits to open; all means both.")] = OpenSplit.all,
    episodes_per_family: Annotated[
        int,
        typer.Option("--episodes-per-family", help="Folds of each patient, 1 to 6.", callback=ranges.folds_of_patient),
    ] = 6,
    data: DataOption = None,
    given: ReportGiven = REPORT,
) -> None:
    """Score programs and the reference kernels on children and adolescents, and print the report with CRPS, NLPD, RMSE and NMSE."""
    report(
        ctx,
        "glucose",
        given,
        benchmark_options={} if data is None else {"data": data},
        splits=("train", "validation") if split is OpenSplit.all else (split.value,),
        episodes_per_family=episodes_per_family,
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
