"""``kernaut archive add``, ``check`` and ``backup``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernaut.cli.options import (
    DEFAULT_ARCHIVE,
    ArchiveOption,
    BenchmarkOption,
    DimensionsOption,
    OutOption,
    dimension_list,
)
from kernaut.cli.outcome import FAILED
from kernaut.cli.terminal import require_writable, write_json

app = typer.Typer(help="Look after an archive.", no_args_is_help=True, rich_markup_mode=None)


@app.command()
def add(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Candidate JSON files.")],
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    benchmark: BenchmarkOption = "bbo",
    dimensions: DimensionsOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the verification.")] = 0,
) -> None:
    """Verify programs of candidate files and add them as candidates for selection; all or none.

    They are verified in the benchmark's input dimensions unless --dimensions names others.
    """
    from kernaut.archive.store import Archive
    from kernaut.episodes.registry import benchmark_named
    from kernaut.search.candidates import verified_candidate

    declared = dimension_list(dimensions, benchmark_named(benchmark).dimensions)
    with Archive.open_or_create(archive) as opened:
        found = [(path, *verified_candidate(path, declared, seed=seed, resolve=opened.program)) for path in files]
        for path, program, evidence in found:
            opened.import_candidate(program, evidence, f"file {path.name}")
            typer.echo(f"added {program.id} ({program.name}) from {path}")


@app.command()
def check(archive: ArchiveOption = DEFAULT_ARCHIVE, out: OutOption = None) -> None:
    """Check the file, its references and every identifier, those of the held-out store beside it too; exit code 1 for a damaged one."""
    from kernaut.archive.database import database_exists
    from kernaut.archive.store import Archive

    require_writable(out)
    with Archive.open(archive) as opened:  # for writing, which migrates an older one
        reports = {"archive": opened.check()}
        if database_exists(opened.location.held_out):
            with opened.held_out() as store:
                reports["held_out"] = store.check()
        location = str(opened.location)
    sound = not any(report.problems for report in reports.values())
    parts = {
        name: {"counts": dict(report.counts), "problems": list(report.problems)} for name, report in reports.items()
    }
    write_json({"location": location, "sound": sound, **parts}, out)
    if not sound:
        raise typer.Exit(FAILED)


@app.command()
def backup(
    destination: Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy goes; nothing may be there.")],
    archive: ArchiveOption = DEFAULT_ARCHIVE,
) -> None:
    """Write a consistent copy of an archive, and of its held-out store, also while a search writes to it."""
    from kernaut.archive.store import Archive

    with Archive.open(archive) as opened:
        for path in opened.backup(destination):
            typer.echo(str(path))
