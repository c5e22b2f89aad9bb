"""``kernaut references``: every reference of a benchmark in one table, tuned on meta-training and frozen."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from kernaut.cli import ranges
from kernaut.cli.options import OutOption, WorkersOption, worker_count
from kernaut.cli.outcome import Resumable, command_line
from kernaut.cli.terminal import Terminal, require_writable, write_json


class Opened(StrEnum):
    """Which held-out split the table has."""

    validation = "validation"
    test = "test"


def references(
    ctx: typer.Context,
    benchmark: Annotated[str, typer.Argument(metavar="BENCHMARK", help="bbo, greenhouse, enzymes or glucose.")],
    split: Annotated[Opened, typer.Option("--split", help="The split that the table shows.")] = Opened.validation,
    episodes_per_family: Annotated[
        int | None,
        typer.Option(
            "--episodes-per-family",
            help="Episodes of each family. [default: 10; glucose: 6]",
            callback=ranges.per_family,
        ),
    ] = None,
    archive: Annotated[
        str | None,
        typer.Option(
            "--archive",
            metavar="PATH",
            help="Keep each reference program there once it is tuned; the same command goes on after the last one.",
        ),
    ] = None,
    chembench_root: Annotated[
        str | None, typer.Option("--chembench-root", metavar="DIR", help="For enzymes: a checkout of LLM-AutoSciLab.")
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", metavar="PATH", help="For greenhouse or glucose: other records.")
    ] = None,
    workers: WorkersOption = None,
    out: OutOption = None,
) -> None:
    """Tune every reference on meta-training episodes, score it on one split, and print the table; --out has the whole report.

    This takes minutes. With --archive an interrupted command tunes only what is still missing.
    """
    from kernaut.episodes.registry import benchmark_named

    terminal: Terminal = ctx.obj
    count = worker_count(workers)
    require_writable(out)
    options: dict[str, Any] = {}
    if chembench_root is not None:
        options["chembench_root"] = chembench_root
    if data is not None:
        options["data"] = data
    benchmark_named(benchmark, **options)

    from kernaut.search.reference_table import reference_report, table_lines

    try:
        with terminal.progress() as progress:
            report = reference_report(
                benchmark,
                options,
                split.value,
                per_family=episodes_per_family,
                archive=archive,
                workers=count,
                told=progress.tell,
                done=progress.at,
            )
    except KeyboardInterrupt as error:
        if archive is None:
            raise
        raise Resumable(command_line(ctx)) from error
    if out is not None:
        write_json(report, out)
    for line in table_lines(report, split.value):
        typer.echo(line)
