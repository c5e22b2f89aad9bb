"""``kernaut viz``: an archive, or a notebook, as a local web application through Voila."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernaut.cli.terminal import Terminal


def viz(
    ctx: typer.Context,
    archive: Annotated[
        str | None,
        typer.Option(
            "--archive", metavar="PATH", help="Show this archive; the page refreshes while a search writes it."
        ),
    ] = None,
    notebook: Annotated[
        str | None,
        typer.Option("--notebook", metavar="NAME", help="Serve this notebook instead, such as kernel_playground."),
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")] = 0,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Serve an archive, or a notebook, as a web page on 127.0.0.1, without its code cells. The address printed holds a token; Ctrl-C ends it."""
    import webbrowser

    from kernaut.errors import InputError
    from kernaut.report.reading import reading
    from kernaut.runs.application import Application

    terminal: Terminal = ctx.obj
    if (archive is None) == (notebook is None):
        raise InputError("Expected either --archive or --notebook. Got " + ("neither." if archive is None else "both."))
    if archive is not None:
        with reading(archive):
            pass
    name = "inspect_archive" if notebook is None else notebook
    place = None if archive is None else Path(archive).absolute()
    with Application(name, archive=place, port=port) as application:
        application.wait_until_ready()
        typer.echo(application.url)
        terminal.note("serving; Ctrl-C ends it")
        if open_browser:
            webbrowser.open(application.url)
        application.wait()
