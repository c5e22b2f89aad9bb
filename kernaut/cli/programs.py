"""``kernaut verify`` and ``kernaut inspect``: one program, or what an archive holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernaut.cli import ranges
from kernaut.cli.options import DEFAULT_ARCHIVE, ArchiveOption, DimensionsOption, OutOption, dimension_list
from kernaut.cli.outcome import FAILED
from kernaut.cli.terminal import require_writable, write_json


def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A candidate JSON file.")],
    dimensions: DimensionsOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the points.", callback=ranges.seed)] = 0,
    archive: Annotated[
        str | None,
        typer.Option("--archive", metavar="PATH", help="Where a closure's program leaves are looked up by identifier."),
    ] = None,
    out: OutOption = None,
) -> None:
    """Establish the tier of a program, and print the evidence; exit code 0 when it is accepted, 1 when it is not, 2 for bad input.

    Dimensions are 2 unless named: --dimensions 2,5,6,8.
    """
    from kernaut.program.program import load_candidate

    require_writable(out)
    program = load_candidate(file)

    from kernaut.archive.store import Archive
    from kernaut.verification.verify import verify as establish

    declared = dimension_list(dimensions, (2,))
    if archive is None:
        evidence = establish(program, declared, seed)
    else:
        with Archive.open(archive, read_only=True) as opened:
            evidence = establish(program, declared, seed, resolve=opened.program)
    write_json(evidence.to_json(), out)
    if not evidence.accepted:
        typer.echo(
            f"error: Expected a program that reaches T2 in {file}. Got tier {evidence.tier}: {evidence.reason}",
            err=True,
        )
        raise typer.Exit(FAILED)


def inspect(
    program: Annotated[
        str | None, typer.Argument(metavar="ID", help="A program's identifier, or its beginning.")
    ] = None,
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    frontier: Annotated[
        bool, typer.Option("--frontier", help="Only candidates that no other beats in both CRPS and seconds.")
    ] = False,
    transcript: Annotated[
        str | None,
        typer.Option(
            "--transcript", metavar="RUN", help="The conversation of a run, CAMPAIGN:INDEX, or of a whole CAMPAIGN."
        ),
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="For people instead of JSON: a table, or a conversation as text.")
    ] = False,
    out: OutOption = None,
) -> None:
    """Print what an archive holds, one program in full, or a conversation. Search results only; validation and test stay closed."""
    from kernaut.archive.store import Archive
    from kernaut.errors import InputError
    from kernaut.report import inspection
    from kernaut.report.table import aligned

    require_writable(out)
    if transcript is not None:
        if program is not None or frontier:
            raise InputError("Expected --transcript without an identifier and --frontier. Got both.")
        _show_transcript(archive, transcript, table, out)
        return
    if program is not None and (frontier or table):
        raise InputError("Expected an identifier alone, without --frontier and --table. Got both.")
    with Archive.open(archive, read_only=True) as opened:
        if program is not None:
            write_json(inspection.program_details(opened, program), out)
            return
        overview = inspection.archive_overview(opened)
    if frontier:
        overview["candidates"] = [dict(row) for row in inspection.frontier(overview["candidates"])]
    if not table:
        write_json(overview, out)
        return
    tables = any("mean_nlml" in row for row in overview["candidates"])  # searched on a user's table, by likelihood
    metrics = ("mean_nlml",) if tables else ("mean_crps", "regret_auc")
    names = ("candidate_id", "name", "contract", "niche", *metrics, "seconds")
    typer.echo(aligned(names, [[row.get(name) for name in names] for row in overview["candidates"]]))


def _show_transcript(archive: str, run: str, as_text: bool, out: Path | None) -> None:
    from kernaut.archive.store import Archive
    from kernaut.report.transcript import transcript_text, transcripts_of

    with Archive.open(archive, read_only=True) as opened:
        found = transcripts_of(opened, run)
    if as_text and out is None:
        typer.echo(transcript_text(found))
    else:
        write_json(found, out)
