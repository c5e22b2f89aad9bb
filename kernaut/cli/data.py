"""``kernaut data``: the bundled records, and current ones from their source."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernaut.cli.terminal import Terminal

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Bundled records, and current ones.")
refresh = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Fetch current records from their source.")
app.add_typer(refresh, name="refresh")


@refresh.command("greenhouse")
def greenhouse(
    ctx: typer.Context,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where records go; use them with ts-benchmark --data DIR.")
    ] = Path("greenhouse-records"),
    server: Annotated[
        str | None, typer.Option("--server", metavar="URL", help="A server laid out like NOAA's. [default: NOAA's own]")
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Replace the records that DIR already holds, after showing what changes."),
    ] = False,
) -> None:
    """Fetch the six gas records, show how they differ from those at hand, and write them to a folder of their own.

    The bundled records are never changed. A folder that holds other records is left as it is unless --overwrite is given.
    """
    from kernaut.episodes.noaa import SERVER, changes, fetch_records
    from kernaut.episodes.records import MANIFEST, write_records
    from kernaut.errors import InputError
    from kernaut.plugins import bundled

    terminal: Terminal = ctx.obj
    if out.exists() and not out.is_dir():
        raise InputError(f"Expected a folder at {out}. Got a file.")
    source = SERVER if server is None else server
    files = fetch_records(source)
    present = (out / MANIFEST).is_file()
    compared = out if present else bundled("data", "greenhouse")
    found = changes(compared, files)
    terminal.note(f"against {compared}:")
    for change in found:
        typer.echo(str(change))
    if present and all(change.none for change in found):
        terminal.note(f"{out} is current; nothing written")
        return
    if present and not overwrite:
        raise InputError(f"Expected --overwrite to replace the records in {out}. Got none; nothing was written.")
    if out.exists() and not present and any(out.iterdir()):
        raise InputError(f"Expected an empty folder, or one with records, at {out}. Got other files.")
    write_records(out, files, source)
    typer.echo(f"written {out}")
