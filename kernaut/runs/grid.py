"""Many runs of one notebook: parameter values from YAML, checked before anything runs, then run in parallel.

A grid is a mapping from parameters to lists of values, of which every combination is run, or a list of mappings, each of which is one run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import yaml

from kernaut.errors import InputError
from kernaut.evaluation.engine import ordered_stream
from kernaut.runs.failures import NotebookFailure, NotebookInputError
from kernaut.runs.index import finished_run, read_run
from kernaut.runs.notebook import find_notebook, run_notebook
from kernaut.runs.parameters import match_parameters, notebook_parameters

MOST_RUNS = 1000


@dataclass(frozen=True)
class GridRun:
    """What became of one setting.

    Args:
        parameters: all of them.
        directory: the run's folder.
        state: ``done``, or how it failed.
        reused: whether the run was there already.
        error: what failed, one sentence.
    """

    parameters: Mapping[str, Any]
    directory: Path
    state: str
    reused: bool = False
    error: str = ""


def read_grid(text: str, where: str = "the grid") -> list[dict[str, Any]]:
    """Settings of a grid in YAML, in order.

    Raises:
        InputError: for other YAML, no settings, or more than 1000.
    """
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"Expected YAML in {where}. Got: {' '.join(str(error).split())}.") from error
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        settings = [{str(key): content for key, content in item.items()} for item in value]
    elif isinstance(value, dict) and value:
        columns = {str(key): content if isinstance(content, list) else [content] for key, content in value.items()}
        _require_few(prod(map(len, columns.values())), where)
        settings = [dict(zip(columns, row, strict=True)) for row in product(*columns.values())]
    else:
        raise InputError(
            f"Expected a mapping of parameters to lists, or a list of mappings, in {where}. Got {value!r}.",
            hint="Such as:  seed: [0, 1, 2]",
        )
    _require_few(len(settings), where)
    return settings


def _require_few(count: int, where: str) -> None:
    if not 1 <= count <= MOST_RUNS:
        raise InputError(f"Expected 1 to {MOST_RUNS} settings in {where}. Got {count}.")


def run_grid(
    name_or_path: str | Path,
    settings: Sequence[Mapping[str, Any]],
    *,
    root: str | Path = "papermill_runs",
    workspace: str | Path | None = None,
    timeout: float | None = None,
    workers: int = 1,
    again: bool = False,
    done: Callable[[GridRun], None] | None = None,
) -> list[GridRun]:
    """Run a notebook once for each setting.

    Args:
        name_or_path: of the notebook.
        settings: given parameters of each run.
        root: where runs land, relative to the workspace.
        workspace: the notebooks' working directory.
        timeout: wall time of each run [s].
        workers: runs at a time, each in processes of its own.
        again: run also where a finished run with equal parameters is there.
        done: called after each run, in the order of the settings.

    Returns:
        What became of each setting; a failed one does not end the others.

    Raises:
        NotebookInputError: before anything runs, for an unknown notebook or a parameter it does not take.
    """
    base = Path.cwd() if workspace is None else Path(workspace).absolute()
    path = find_notebook(name_or_path, base)
    defaults = notebook_parameters(path)
    matched = [match_parameters(defaults, given, path.stem) for given in settings]
    distinct = [given for place, given in enumerate(matched) if given not in matched[:place]]
    work = partial(_run_one, path=path, root=base / root, workspace=base, timeout=timeout, again=again)
    found = []
    for result in ordered_stream(work, distinct, workers=workers):
        found.append(result)
        if done is not None:
            done(result)
    return found


def _run_one(
    parameters: Mapping[str, Any], path: Path, root: Path, workspace: Path, timeout: float | None, again: bool
) -> GridRun:
    known = None if again else finished_run(root, path, parameters)
    if known is not None:
        return GridRun(parameters, known.directory, "done", reused=True)
    try:
        result = run_notebook(path, parameters, root=root, workspace=workspace, timeout=timeout)
    except NotebookFailure as error:
        return GridRun(parameters, error.directory, read_run(error.directory).state, error=error.message)
    except NotebookInputError as error:
        return GridRun(parameters, root, "refused", error=error.message)
    return GridRun(parameters, result.directory, "done")
