"""``kernaut export``: a program as a Python module that needs no Kernaut."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from kernaut.cli.options import DEFAULT_ARCHIVE, ArchiveOption
from kernaut.cli.terminal import Terminal, require_writable, write_text


class TargetName(StrEnum):
    """What the module is for."""

    gpytorch = "gpytorch"
    botorch = "botorch"
    sklearn = "sklearn"
    numpy = "numpy"


def export(
    ctx: typer.Context,
    program: Annotated[
        str,
        typer.Argument(metavar="PROGRAM", help="A program's identifier (its beginning will do), or a candidate file."),
    ],
    to: Annotated[TargetName, typer.Option("--to", help="What the module is for.")],
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the module there, not to standard output.")
    ] = None,
) -> None:
    """Write a small Python module with one kernel: its source, tuned parameters and provenance. It imports nothing of Kernaut.

    gpytorch and botorch modules are differentiable in their inputs, and need a program written in torch.
    """
    from kernaut import __version__
    from kernaut.archive.store import Archive
    from kernaut.export.module import export_kernel
    from kernaut.program.program import load_candidate
    from kernaut.report.inspection import program_named

    terminal: Terminal = ctx.obj
    require_writable(out)
    provenance: dict[str, Any] = {"kernaut": __version__}
    if Path(program).is_file():
        text = export_kernel(load_candidate(program), to.value, provenance={**provenance, "file": Path(program).name})
    else:
        with Archive.open(archive, read_only=True) as opened:
            chosen = program_named(opened, program)
            proofs = [record for record in opened.evidence(chosen.id) if record.accepted]
            provenance |= {"archive": Path(str(opened.location)).name, "tier": proofs[0].tier if proofs else "none"}
            provenance["benchmarks"] = sorted({record.benchmark for record in opened.evaluations(program_id=chosen.id)})
            dimension = proofs[0].dimensions[0] if proofs and proofs[0].dimensions else 2
            text = export_kernel(chosen, to.value, resolve=opened.program, dimension=dimension, provenance=provenance)
    write_text(text, out)
    if out is not None:
        terminal.note(f"{out} is a module for {to.value}; it needs no Kernaut")
