"""``kernaut notebook run``, ``list`` and ``compare``: notebooks headless, their summaries and where everything is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernaut.cli import ranges
from kernaut.cli.terminal import Progress, Terminal

if TYPE_CHECKING:
    from kernaut.runs.progress import ProgressEvent

app = typer.Typer(help="Run notebooks without a browser.", no_args_is_help=True, rich_markup_mode=None)


RootOption = Annotated[Path, typer.Option("--root", metavar="FOLDER", help="Where runs land.")]
ROOT = Path("papermill_runs")


@app.command(
    "run",
    options_metavar="[OPTIONS] [-p KEY VALUE]...",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def run(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A notebook's name, or the path of an .ipynb file.")],
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            help="Stop the notebook after that time.",
            callback=ranges.within(0, above=True),
        ),
    ] = None,
    grid: Annotated[
        Path | None, typer.Option("--grid", metavar="FILE", help="YAML of parameter values; every combination is run.")
    ] = None,
    workers: Annotated[int, typer.Option("--workers", help="Runs of a grid at a time.", callback=ranges.workers)] = 1,
    again: Annotated[bool, typer.Option("--again", help="Run also where a finished run is there.")] = False,
    root: RootOption = ROOT,
) -> None:
    """Run a notebook, print its summary and the paths of what it left. A finished run of equal parameters is shown, not repeated.

    -p KEY VALUE sets one of its parameters (repeatable). Exit codes: 2 bad name or parameter, 3 a cell raised, 4 out of time, 5 the kernel died,
    6 no report, 130 interrupted; 1 when a run of a grid failed.
    """
    from kernaut.runs.index import finished_run
    from kernaut.runs.notebook import find_notebook, run_notebook
    from kernaut.runs.parameters import match_parameters, notebook_parameters

    terminal: Terminal = ctx.obj
    given = _parameters(ctx.args)
    if grid is not None:
        _run_grid(terminal, name, given, grid, root, timeout, workers, again)
        return
    path = find_notebook(name, Path.cwd())
    matched = match_parameters(notebook_parameters(path), given, path.stem)
    known = None if again else finished_run(root, path, matched)
    if known is not None:
        _show(known.report(), known.directory)
        terminal.note(f"found the finished run of {known.started_at}; --again runs it anew")
        return
    with terminal.progress() as progress:
        result = run_notebook(path, matched, root=root, timeout=timeout, on_progress=_Relay(progress))
    _show(result.report, result.directory)
    terminal.note(f"done in {result.seconds:.0f} s")


@app.command("list")
def list_notebooks(root: RootOption = ROOT) -> None:
    """Notebooks with their parameters, and how many runs of each there are."""
    from kernaut.runs.catalogue import notebook_catalogue
    from kernaut.runs.index import find_runs

    counts: dict[str, list[str]] = {}
    for found in find_runs(root):
        counts.setdefault(found.name, []).append(found.state)
    for entry in notebook_catalogue(Path.cwd()):
        states = counts.get(entry.name, [])
        typer.echo(f"{entry.name}: {entry.title}")
        typer.echo(
            f"    parameters  {', '.join(f'{key} = {value!r}' for key, value in entry.parameters.items()) or 'none'}"
        )
        typer.echo(f"    runs        {len(states)}, {states.count('done')} of them done")


@app.command("compare")
def compare(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN", help="Folders of runs, or names of notebooks (all their runs).")
    ],
    root: RootOption = ROOT,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write an HTML page too.")] = None,
) -> None:
    """Lay runs side by side: parameters that differ, and metrics with their intervals."""
    from kernaut.cli.terminal import require_writable
    from kernaut.report.table import aligned
    from kernaut.runs.comparison import compare_runs
    from kernaut.runs.index import find_runs, read_run

    require_writable(html)
    found = []
    for word in runs:
        of_name = find_runs(root, word) if "/" not in word else []
        found += of_name or [read_run(word)]
    comparison = compare_runs(found)
    typer.echo(aligned(comparison.columns, comparison.rows))
    if html is not None:
        html.write_text(comparison.html(), encoding="utf-8")


def _run_grid(
    terminal: Terminal,
    name: str,
    given: Mapping[str, str],
    grid: Path,
    root: Path,
    timeout: float | None,
    workers: int,
    again: bool,
) -> None:
    from kernaut.cli.outcome import FAILED
    from kernaut.cli.terminal import read_text
    from kernaut.report.table import aligned
    from kernaut.runs.comparison import compare_runs
    from kernaut.runs.grid import GridRun, read_grid, run_grid
    from kernaut.runs.index import read_run

    settings = [{**given, **setting} for setting in read_grid(read_text(grid, "grid"), str(grid))]

    ended: list[GridRun] = []

    def tell(run: GridRun) -> None:
        ended.append(run)
        progress.tell(
            f"{run.state}{' (was there)' if run.reused else ''}  {run.directory}{f'  {run.error}' if run.error else ''}"
        )

    try:
        with terminal.progress() as progress:
            found = run_grid(name, settings, root=root, timeout=timeout, workers=workers, again=again, done=tell)
    except KeyboardInterrupt:
        done = sum(run.state == "done" for run in ended)
        goes_on = "finds them" if done > 1 else "finds it" if done else "begins again"
        raise KeyboardInterrupt(
            f"interrupted; {done} of {len(settings)} runs done: the same command {goes_on}"
        ) from None
    comparison = compare_runs([read_run(run.directory) for run in found if run.state != "refused"])
    typer.echo(aligned(comparison.columns, comparison.rows))
    failed = sum(run.state != "done" for run in found)
    if failed:
        typer.echo(f"error: Expected {len(found)} finished runs. Got {failed} that failed.", err=True)
        raise typer.Exit(FAILED)


def _show(report: Mapping[str, Any], directory: Path) -> None:
    """A run's summary, and the paths of what it left."""
    from kernaut.report.table import aligned

    summary = report.get("summary")
    if isinstance(summary, Mapping):
        typer.echo("")
        if isinstance(summary.get("columns"), Sequence) and isinstance(summary.get("rows"), Sequence):
            typer.echo(aligned(summary["columns"], summary["rows"]))
        for line in summary.get("lines", ()):
            typer.echo(line)
        typer.echo("")
    paths = {"notebook": directory / "output.ipynb", **_files(report, directory), "report": directory / "report.json"}
    width = max(len(key) for key in paths)
    for key, path in paths.items():
        typer.echo(f"{key:<{width}}  {path}")


class _Relay:
    """Shows a notebook's events: a line each, a counter where one message comes again with another number, and nothing where it only comes again."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last = ""

    def __call__(self, event: ProgressEvent) -> None:
        if event.message != self._last:
            self._progress.tell(str(event))
        elif event.total is not None:
            self._progress.at(event.message, event.done or 0, event.total)
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
