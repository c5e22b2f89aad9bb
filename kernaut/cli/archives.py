"""``kernaut archive add``, ``check``, ``backup``, ``merge``, ``export`` and ``prune``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernaut.cli import ranges
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
    seed: Annotated[int, typer.Option("--seed", help="Seed of the verification.", callback=ranges.seed)] = 0,
) -> None:
    """Verify programs of candidate files and add them as candidates for selection; all or none.

    They are verified in the benchmark's input dimensions unless --dimensions names others.
    """
    from kernaut.episodes.registry import benchmark_named
    from kernaut.program.program import load_candidate

    for path in files:
        load_candidate(path)

    from kernaut.archive.store import Archive
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


@app.command()
def merge(
    sources: Annotated[list[str], typer.Argument(metavar="PATH", help="Archives to copy from; they stay as they are.")],
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    out: OutOption = None,
) -> None:
    """Copy everything of other archives into one; equal content is stored once, and looks at held-out splits are added up.

    A campaign that both hold under one name with other content is an error, and nothing of that archive is copied.
    """
    from kernaut.archive.merging import merge_archive
    from kernaut.archive.store import Archive

    require_writable(out)
    added = {}
    for source in sources:
        with Archive.open(source, read_only=True) as opened, Archive.open_or_create(archive) as into:
            added[source] = merge_archive(into, opened)
    write_json({"added": added}, out)


@app.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where candidate files go; made if it is missing.")],
    archive: ArchiveOption = DEFAULT_ARCHIVE,
) -> None:
    """Write every candidate of an archive as a candidate file, and index.json with their search scores."""
    from kernaut.archive.store import Archive
    from kernaut.errors import InputError
    from kernaut.program.program import save_candidate
    from kernaut.report.inspection import candidate_rows

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"Expected an empty folder, or none, at {folder}. Got one with files in it, or a file.")
    with Archive.open(archive, read_only=True) as opened:
        candidates, rows = opened.candidates(), candidate_rows(opened)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Expected a folder that can be made at {folder}. Got: {error.strerror}.") from error
    for candidate in candidates:
        save_candidate(candidate.program, folder / f"{candidate.program.name}-{candidate.program.id}.json")
    write_json({"candidates": rows}, folder / "index.json")
    typer.echo(f"wrote {len(candidates)} candidate files and index.json to {folder}")


@app.command()
def prune(
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    keep_transcripts: Annotated[
        bool, typer.Option("--keep-transcripts", help="Leave conversations with language models where they are.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would go.")] = False,
    out: OutOption = None,
) -> None:
    """Remove tuning trials, drafts that came to nothing, and transcripts of closed runs.

    Programs, evidence, evaluations and held-out outcomes stay, and so does what a selection rests on.
    """
    from kernaut.archive.merging import prune_archive
    from kernaut.archive.store import Archive

    require_writable(out)
    with Archive.open(archive) as opened:
        removed = prune_archive(opened, keep_transcripts=keep_transcripts, dry_run=dry_run)
    write_json({"to_remove" if dry_run else "removed": removed}, out)
