"""``kernaut meta-run`` and ``kernaut select``: search on meta-training, then freeze and choose on validation."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kernaut.cli import ranges
from kernaut.cli.option_records import with_options_of
from kernaut.cli.options import DEFAULT_ARCHIVE, ArchiveOption, BenchmarkOption, WorkersOption, worker_count
from kernaut.cli.searching import SEARCH, SearchGiven, search
from kernaut.cli.terminal import Terminal, require_writable, write_json


class Metric(StrEnum):
    """What a selection minimizes."""

    crps = "predictive.mean_crps"
    regret = "bo.regret_auc"


@with_options_of
def meta_run(
    ctx: typer.Context,
    episodes_per_family: Annotated[
        int,
        typer.Option(
            "--episodes-per-family", help="Meta-training episodes of each family.", callback=ranges.per_family
        ),
    ] = 2,
    benchmark: BenchmarkOption = "bbo",
    given: SearchGiven = SEARCH,
) -> None:
    """Search for kernels on meta-training episodes, and print the campaign's report.

    Interrupt it at any moment: the same command continues where it was. Without --config the offline author searches, with no key and no network.
    """
    search(
        ctx,
        benchmark,
        given,
        episodes_per_family=episodes_per_family,
    )


def select(
    ctx: typer.Context,
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    benchmark: Annotated[
        str | None,
        typer.Option("--benchmark", metavar="NAME", help="The benchmark. [default: that of the archive's campaigns]"),
    ] = None,
    metric: Annotated[Metric, typer.Option("--metric", help="What to minimize on validation.")] = Metric.crps,
    episodes_per_family: Annotated[
        int | None,
        typer.Option(
            "--episodes-per-family",
            help="Validation episodes of each family. [default: 10; glucose: 6]",
            callback=ranges.per_family,
        ),
    ] = None,
    workers: WorkersOption = None,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the selection is written.")] = Path(
        "selection.json"
    ),
) -> None:
    """Freeze an archive, evaluate every candidate on validation, and choose one; test stays closed.

    The benchmark is made with the options of the archive's last campaign on it. Afterwards no search may go on in this archive. The selected program's test report: kernaut meta-benchmark --selection selection.json.
    """
    from kernaut.archive.store import Archive
    from kernaut.digest import thaw
    from kernaut.episodes.registry import benchmark_named
    from kernaut.search.selection import VALIDATION_EPISODES, benchmark_of
    from kernaut.search.selection import select as choose

    terminal: Terminal = ctx.obj
    count = worker_count(workers)
    require_writable(out)
    with Archive.open(archive) as opened:
        total = len(opened.candidates())
        name, options = benchmark_of(opened, benchmark)
        most = benchmark_named(name, **thaw(options)).most_per_family
        with terminal.progress() as progress:
            selection, _ = choose(
                opened,
                name,
                metric.value,
                per_family=min(VALIDATION_EPISODES, most) if episodes_per_family is None else episodes_per_family,
                benchmark_options=options,
                workers=count,
                done=lambda done: progress.at("validation", done, total),
            )
        program = opened.program(selection.choice)
    write_json(selection.to_json(), out)
    value = selection.values[selection.choice]
    typer.echo(f"selected {selection.choice} ({program.name}) of {total}: {metric.value} {value:.4f} on validation")
    typer.echo(f"selection {out}")
