"""``kernaut notebook run``: a notebook headless, its summary and where everything is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernaut.cli.terminal import Progress, Terminal

if TYPE_CHECKING:
    from kernaut.runs.progress import ProgressEvent

app = typer.Typer(help="Run notebooks without a browser.", no_args_is_help=True, rich_markup_mode=None)


@app.command(
    "run",
    options_metavar="[OPTIONS] [-p KEY VALUE]...",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def run(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A notebook's name, or the path of an .ipynb file.")],
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", help="Stop the notebook after that time.")
    ] = None,
    root: Annotated[Path, typer.Option("--root", metavar="FOLDER", help="Where runs land.")] = Path("papermill_runs"),
) -> None:
    """Run a notebook, print its summary and the paths of what it left.

    -p KEY VALUE sets one of its parameters (repeatable). Exit codes: 2 bad name or parameter, 3 a cell raised, 4 out of time, 5 the kernel died,
    6 no report, 130 interrupted.
    """
    from kernaut.report.table import aligned
    from kernaut.runs.notebook import run_notebook

    terminal: Terminal = ctx.obj
    parameters = _parameters(ctx.args)
    with terminal.progress() as progress:
        result = run_notebook(name, parameters, root=root, timeout=timeout, on_progress=_Relay(progress))
    summary = result.report.get("summary")
    if isinstance(summary, Mapping):
        typer.echo("")
        if isinstance(summary.get("columns"), Sequence) and isinstance(summary.get("rows"), Sequence):
            typer.echo(aligned(summary["columns"], summary["rows"]))
        for line in summary.get("lines", ()):
            typer.echo(line)
        typer.echo("")
    paths = {
        "notebook": result.notebook,
        **_files(result.report, result.directory),
        "report": result.directory / "report.json",
    }
    width = max(len(key) for key in paths)
    for key, path in paths.items():
        typer.echo(f"{key:<{width}}  {path}")
    terminal.note(f"done in {result.seconds:.0f} s")


class _Relay:
    """Shows a notebook's events: a line each, and a counter where one message comes again with another number."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last = ""

    def __call__(self, event: ProgressEvent) -> None:
        if event.message == self._last and event.total is not None:
            self._progress.at(event.message, event.done or 0, event.total)
        else:
            self._progress.tell(str(event))
        self._last = event.message


def _files(report: Mapping[str, Any], directory: Path) -> dict[str, Path]:
    """Files that the notebook names in its report; relative to the run's folder."""
    files = report.get("files")
    return {str(key): directory / str(value) for key, value in files.items()} if isinstance(files, Mapping) else {}


def _parameters(words: Sequence[str]) -> dict[str, str]:
    """What follows each ``-p`` or ``--parameter``.

    Raises:
        typer.BadParameter: for anything else, an incomplete pair, or a name given twice.
    """
    found: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word not in ("-p", "--parameter"):
            raise typer.BadParameter(f"Expected -p KEY VALUE. Got {word!r}.")
        if len(rest) < 2:
            raise typer.BadParameter(f"Expected a KEY and a VALUE after {word}. Got {' '.join(rest) or 'nothing'}.")
        key, value = rest.pop(0), rest.pop(0)
        if key in found:
            raise typer.BadParameter(f"Expected each parameter once. Got {key!r} twice.")
        found[key] = value
    return found
