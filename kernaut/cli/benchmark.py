"""``kernaut meta-benchmark``: programs beside the references on the benchmark's splits. No author and no model is ever called."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kernaut.cli.options import BenchmarkOption, OutOption, WorkersOption, worker_count
from kernaut.cli.terminal import Terminal, read_text, require_writable, write_json


class SplitName(StrEnum):
    """Which splits are opened."""

    all = "all"
    train = "train"
    validation = "validation"
    test = "test"


def meta_benchmark(
    ctx: typer.Context,
    archive: Annotated[
        str | None,
        typer.Option("--archive", metavar="PATH", help="The archive whose accepted programs are evaluated."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="TOML; only its [execution] limits are used.")
    ] = None,
    split: Annotated[SplitName, typer.Option("--split", help="Which splits to open.")] = SplitName.all,
    selection: Annotated[
        Path | None,
        typer.Option("--selection", metavar="FILE", help="A selection.json: report its choice, and no other program."),
    ] = None,
    episodes_per_family: Annotated[int, typer.Option("--episodes-per-family", help="Episodes of each family.")] = 1,
    bo_steps: Annotated[int, typer.Option("--bo-steps", help="Steps of the optimization rollouts; 0 for none.")] = 8,
    candidate_pool_size: Annotated[
        int, typer.Option("--candidate-pool-size", help="Fresh candidates at each step.")
    ] = 128,
    limit: Annotated[int, typer.Option("--limit", help="Most programs of the archive.")] = 100,
    candidate_id: Annotated[
        list[str] | None,
        typer.Option("--candidate-id", metavar="ID", help="An accepted program of the archive (repeatable)."),
    ] = None,
    candidate_file: Annotated[
        list[Path] | None,
        typer.Option("--candidate-file", metavar="FILE", help="A candidate JSON file (repeatable); needs no archive."),
    ] = None,
    benchmark: BenchmarkOption = "bbo",
    workers: WorkersOption = None,
    out: OutOption = None,
) -> None:
    """Score programs and the reference kernels, and print the report.

    References are always included. With --selection test results are those of one program that was chosen beforehand; without it, they must
    not be used to choose one.
    """
    from kernaut.archive.store import Archive
    from kernaut.cli.config import read_config
    from kernaut.digest import loads_finite
    from kernaut.errors import InputError
    from kernaut.evaluation.references import references_of
    from kernaut.sandbox.pool import default_pool
    from kernaut.search.benchmarking import SPLITS, BenchmarkOptions, archive_programs, benchmark_report
    from kernaut.search.candidates import verified_candidate
    from kernaut.search.selection import selection_from_json

    terminal: Terminal = ctx.obj
    count = worker_count(workers)
    require_writable(out)
    limits = read_config(config, for_models=False).execution.limits()
    options = BenchmarkOptions(
        benchmark=benchmark,
        splits=SPLITS if split is SplitName.all else (split.value,),
        per_family=episodes_per_family,
        bo_steps=bo_steps,
        candidates=candidate_pool_size,
        limits=limits,
    )
    dimensions = options.training().made().dimensions
    if selection is not None and (candidate_id or candidate_file):
        raise InputError("Expected --selection alone, without --candidate-id and --candidate-file. Got both.")
    if archive is None and (candidate_id or selection is not None):
        raise InputError("Expected --archive with --candidate-id or --selection. Got none.")
    chosen = None
    if selection is not None:
        chosen = selection_from_json(loads_finite(read_text(selection, "selection"), str(selection)), str(selection))
    if split is SplitName.all and selection is None:
        terminal.warn(
            "test results are included; to choose a program, use kernaut select, which opens validation only."
        )

    opened = Archive.open(archive) if archive is not None else None
    try:
        programs = []
        if opened is not None and chosen is None and (candidate_id or not candidate_file):
            programs = archive_programs(opened, candidate_id or (), limit)
            left = len(opened.candidates()) - len(programs)
            if left and not candidate_id:
                terminal.warn(f"{left} programs beyond --limit {limit} are left out.")
        pool = default_pool(limits)
        resolve = opened.program if opened is not None else None
        files = [verified_candidate(path, dimensions, pool=pool, resolve=resolve)[0] for path in candidate_file or ()]
        references = len(references_of(options.training().made()))
        with terminal.progress() as progress:
            report = benchmark_report(
                options,
                archive=opened,
                programs=programs,
                files=files,
                selection=chosen,
                workers=count,
                on_reference=lambda done: progress.at("references", done, references),
                done=lambda done, total: progress.at("evaluations", done, total),
            )
    finally:
        if opened is not None:
            opened.close()
    write_json(report, out)
