"""``kernaut extensions``, ``kernaut task-run`` and ``kernaut init``: packages that add to Kernaut, searches on their tasks, and a workspace to start from."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from kernaut.cli import ranges
from kernaut.cli.option_records import with_options_of
from kernaut.cli.options import OutOption
from kernaut.cli.searching import SEARCH, SearchGiven, search
from kernaut.cli.terminal import Terminal, read_text, require_writable, write_json

WORKSPACE = ("notebooks", "configs", "examples")
PASSED_OVER = ("__pycache__", ".ipynb_checkpoints")


class GroupName(StrEnum):
    """Groups of entry points."""

    tasks = "kernaut.tasks"
    models = "kernaut.models"
    baselines = "kernaut.baselines"
    policies = "kernaut.policies"
    families = "kernaut.families"
    domains = "kernaut.domains"


def extensions(
    group: Annotated[GroupName | None, typer.Option("--group", help="Only this group of entry points.")] = None,
    out: OutOption = None,
) -> None:
    """List what installed packages add to Kernaut, without importing any of it; two packages that claim one name are an error."""
    from kernaut.episodes.registry import benchmark_names
    from kernaut.plugins import extensions as installed

    require_writable(out)
    if group in (None, GroupName.tasks):
        benchmark_names()  # a task under a name of Kernaut's own is a clash too
    rows = []
    for name in [group.value] if group is not None else [item.value for item in GroupName]:
        for point in installed(name).values():
            package = point.dist
            rows.append(
                {
                    "group": name,
                    "name": point.name,
                    "object": point.value,
                    "package": package.name if package is not None else None,
                    "version": package.version if package is not None else None,
                }
            )
    write_json({"extensions": rows}, out)


@with_options_of
def task_run(
    ctx: typer.Context,
    task: Annotated[str, typer.Option("--task", metavar="NAME", help="The task: see kernaut extensions.")],
    options: Annotated[
        str | None,
        typer.Option("--options", metavar="JSON", help="What the task is made with: a JSON object, or a file of one."),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            "--baseline",
            metavar="NAME",
            help="Take the kernels of this extension among the references; repeatable. [default: all]",
        ),
    ] = None,
    episodes_per_family: Annotated[
        int,
        typer.Option(
            "--episodes-per-family", help="Meta-training episodes of each family.", callback=ranges.per_family
        ),
    ] = 2,
    given: SearchGiven = SEARCH,
) -> None:
    """Search for kernels on a task of an installed package (or a benchmark of Kernaut's own), and print the campaign's report.

    Afterwards: kernaut select --benchmark NAME, and kernaut meta-benchmark --benchmark NAME.
    """
    from kernaut.episodes.registry import benchmark_names
    from kernaut.errors import InputError
    from kernaut.evaluation.references import extension_references

    if task not in benchmark_names():
        raise InputError(
            f"Expected a task of {', '.join(benchmark_names())}. Got {task!r}.",
            hint="kernaut extensions lists those installed.",
        )
    if baseline is not None and len(set(baseline)) != len(baseline):
        raise InputError(f"Expected each --baseline once. Got {', '.join(baseline)}.")
    if baseline:
        extension_references(baseline)
    search(
        ctx,
        task,
        given,
        episodes_per_family=episodes_per_family,
        benchmark_options=_object(options),
        baselines=tuple(baseline) if baseline else None,
    )


def init(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The workspace; made if it is missing.")],
) -> None:
    """Lay out a workspace: notebooks, model configurations and examples, to be edited as you like. No file that is there is changed."""
    import shutil

    from kernaut.errors import InputError
    from kernaut.plugins import bundled

    terminal: Terminal = ctx.obj
    if folder.exists() and not folder.is_dir():
        raise InputError(f"Expected a folder, or nothing, at {folder}. Got a file.")
    copies = [
        (path, folder / name / path.relative_to(bundled(name))) for name in WORKSPACE for path in _files(bundled(name))
    ]
    there = [target for _, target in copies if target.exists()]
    if there:
        raise InputError(
            f"Expected none of the workspace's files in {folder}. Got {len(there)}, such as {there[0]}.",
            hint="Choose another folder, or move these files away.",
        )
    try:
        for source, target in copies:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    except OSError as error:
        raise InputError(f"Expected a folder that can be written at {folder}. Got: {error.strerror}.") from error
    typer.echo(f"{len(copies)} files in {folder}: {', '.join(WORKSPACE)}")
    terminal.note(
        f"next: cd {folder} && kernaut run --data examples/data.json --archive first.sqlite --iterations 2, or jupyter lab notebooks"
    )


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not set(PASSED_OVER) & set(path.parts):
            yield path


def _object(text: str | None) -> dict[str, Any]:
    """A JSON object given as text or as a file.

    Raises:
        InputError: for anything else.
    """
    from kernaut.digest import loads_finite
    from kernaut.errors import InputError

    if text is None:
        return {}
    where = "--options"
    if text.lstrip()[:1] not in ("{", "["):
        where = text
        text = read_text(Path(text), "file of task options")
    found = loads_finite(text, where)
    if not isinstance(found, dict):
        raise InputError(f"Expected a JSON object in {where}. Got a {type(found).__name__}.")
    return found
