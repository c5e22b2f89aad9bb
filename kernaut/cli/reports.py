"""``kernaut report``: what an archive or a headless run found, as one document."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kernaut.cli.terminal import Terminal, require_writable, write_text


class DocumentFormat(StrEnum):
    """What a report is written as."""

    html = "html"
    md = "md"
    latex = "latex"


def report(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(metavar="PATH", help="An archive, or the folder of a headless run.")],
    to: Annotated[
        DocumentFormat, typer.Option("--to", help="The document's format; html holds its pictures.")
    ] = DocumentFormat.html,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The document; standard output if absent.")
    ] = None,
    kernels: Annotated[
        int, typer.Option("--kernels", min=0, help="Kernels of an archive to describe, the best first.")
    ] = 3,
) -> None:
    """Write a report: tables, figures, descriptions measured on the frozen programs, protocol, budgets, failures, versions."""
    import json

    from kernaut.errors import InputError
    from kernaut.report.document import archive_sections, render, run_sections
    from kernaut.report.reading import reading
    from kernaut.runs.index import read_run

    terminal: Terminal = ctx.obj
    require_writable(out)
    if path.is_dir():
        run = read_run(path)
        found = run.report()
        if not found:
            raise InputError(f"Expected a run with a report in {path}. Got state {run.state}.")
        environment = json.loads((run.directory / "environment.json").read_text(encoding="utf-8"))
        sections, title = run_sections(found, environment, run.parameters), f"{run.name}, {run.directory.name}"
    else:
        with reading(path) as archive:
            sections, title = archive_sections(archive, kernels), f"Archive {path.name}"
    pictures = None if out is None else out.with_name(f"{out.stem}-figures")
    text = render(title, sections, to.value, pictures)
    write_text(text, out)
    if out is not None:
        terminal.note(f"written to {out}")
