"""Run one notebook headless: checked parameters, its own process and folder, live progress, a report or a named failure.

A run lands in ``papermill_runs/NAME/STAMP-DIGEST/``: ``output.ipynb`` (executed, signed), ``parameters.json``, ``report.json`` (written
by the notebook), ``environment.json``, ``run.json`` (state and times) and ``stdout.log``.  Nothing is ever overwritten; a failed
run keeps its notebook up to the failing cell.
"""

from __future__ import annotations

import difflib
import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

from kernaut.digest import FrozenMapping, content_id, loads_finite
from kernaut.errors import InputError
from kernaut.plugins import bundled
from kernaut.runs.environment import environment_versions
from kernaut.runs.failures import (
    CellFailure,
    DeadKernel,
    MissingReport,
    NotebookFailure,
    NotebookInputError,
    NotebookInterrupted,
    NotebookTimeout,
)
from kernaut.runs.headless import DIRECTORY_VARIABLE, PROGRESS_VARIABLE
from kernaut.runs.index import DIGEST_KEY, notebook_digest
from kernaut.runs.parameters import match_parameters, notebook_parameters
from kernaut.runs.progress import ProgressEvent, ProgressTail

POLL_SECONDS = 0.1
GRACE_SECONDS = 20.0
"""How long an interrupted or overdue notebook may take to stop before its process is killed."""
BOOTSTRAP = """
import sys
sys.modules["rfc3987_syntax"] = None  # jsonschema does without; building its grammar takes seconds at each start
from kernaut.runs.execution import main
sys.exit(main(sys.argv[1]))
"""


@dataclass(frozen=True)
class RunResult:
    """A finished run.

    Args:
        name: the notebook's name.
        directory: the run's folder.
        notebook: the executed notebook.
        parameters: all parameters, defaults included.
        report: the content of ``report.json``.
        seconds: wall time [s].
    """

    name: str
    directory: Path
    notebook: Path
    parameters: Mapping[str, Any]
    report: Mapping[str, Any]
    seconds: float


def find_notebook(name_or_path: str | Path, workspace: Path) -> Path:
    """The notebook of a name (``notebooks/NAME.ipynb`` in the workspace, else the bundled one) or at a path.

    Raises:
        NotebookInputError: when there is none, listing the names there are.
    """
    text = str(name_or_path)
    if text.endswith(".ipynb") or os.sep in text:
        path = (workspace / text).absolute()
        if not path.is_file():
            raise NotebookInputError(f"Expected a notebook at {path}. Got no file.")
        return path
    folders = [workspace / "notebooks"]
    with suppress(InputError):
        folders.append(bundled("notebooks"))
    for folder in folders:
        if (folder / f"{text}.ipynb").is_file():
            return (folder / f"{text}.ipynb").absolute()
    names = sorted({path.stem for folder in folders for path in folder.glob("*.ipynb")})
    near = difflib.get_close_matches(text, names, n=1)
    raise NotebookInputError(
        f"Expected a notebook of {', '.join(names) or '(none found)'}, or a path that ends in .ipynb. Got {text!r}.",
        hint=f"Did you mean {near[0]!r}?" if near else None,
    )


def run_notebook(
    name_or_path: str | Path,
    parameters: Mapping[str, Any] | None = None,
    *,
    root: str | Path = "papermill_runs",
    workspace: str | Path | None = None,
    timeout: float | None = None,
    start_timeout: float = 60.0,
    on_progress: Callable[[ProgressEvent], None] | None = None,
) -> RunResult:
    """Run a notebook to its end.

    Args:
        name_or_path: a notebook's name, or the path of an ``.ipynb`` file.
        parameters: values by name; text is read in the type of the default.
        root: where runs land, relative to the workspace.
        workspace: the notebook's working directory; the current one by default.
        timeout: wall time for the whole notebook [s].
        start_timeout: wall time for the kernel to start [s].
        on_progress: called in this process with each event as it comes; see :func:`kernaut.runs.progress.to_stream`.

    Raises:
        NotebookInputError: before anything runs, for an unknown notebook or a parameter it does not take.
        NotebookFailure: ``CellFailure``, ``NotebookTimeout``, ``DeadKernel`` or ``MissingReport``; each names the run's folder.
        NotebookInterrupted: on Ctrl-C, after the kernel was interrupted and the notebook saved.
    """
    base = Path.cwd() if workspace is None else Path(workspace).absolute()
    path = find_notebook(name_or_path, base)
    matched = match_parameters(notebook_parameters(path), parameters or {}, path.stem)
    if timeout is not None and timeout <= 0:
        raise NotebookInputError(f"Expected a timeout above 0 s. Got {timeout!r}.")
    digest = notebook_digest(path)
    directory = _new_directory(base / root / path.stem, matched)
    _write(directory / "parameters.json", matched)
    _write(directory / "environment.json", environment_versions())
    request = {
        "notebook": str(path),
        "output": str(directory / "output.ipynb"),
        "outcome": str(directory / "outcome.json"),
        "parameters": matched,
        "timeout": timeout,
        "start_timeout": start_timeout,
    }
    started, began = datetime.now(UTC).isoformat(timespec="seconds"), monotonic()
    outcome = _run(request, directory, base, timeout, on_progress)
    seconds = monotonic() - began
    report: Mapping[str, Any] = {}
    if outcome["state"] == "done":
        report = _read_report(directory, outcome)
    record = {"notebook": path.stem, DIGEST_KEY: digest, "started_at": started, "seconds": round(seconds, 3), **outcome}
    _write(directory / "run.json", record)
    _raise_for(outcome, directory, timeout)
    _point_latest(directory)
    return RunResult(path.stem, directory, directory / "output.ipynb", FrozenMapping(matched), report, seconds)


def _run(
    request: Mapping[str, Any],
    directory: Path,
    workspace: Path,
    timeout: float | None,
    on_progress: Callable[[ProgressEvent], None] | None,
) -> dict[str, Any]:
    """Start the process, relay progress, and bring back its outcome; the process has ended afterwards, come what may."""
    progress, outcome = directory / "progress.jsonl", Path(request["outcome"])
    _write(directory / "request.json", request)
    tail = ProgressTail(progress)
    environment = {**os.environ, DIRECTORY_VARIABLE: str(directory), PROGRESS_VARIABLE: str(progress)}
    command = [sys.executable, "-P", "-c", BOOTSTRAP, str(directory / "request.json")]
    interrupted = False
    overdue = None if timeout is None else monotonic() + timeout + GRACE_SECONDS
    with (directory / "stdout.log").open("wb") as log, (directory / "request.json").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # until this process ends, however it ends
        process = subprocess.Popen(
            command,
            cwd=workspace,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            while True:
                try:
                    ended = _wait(process)
                    _relay(tail, on_progress)
                except KeyboardInterrupt:
                    if interrupted:
                        raise
                    interrupted = True
                    overdue = monotonic() + GRACE_SECONDS
                    process.send_signal(signal.SIGINT)
                    continue
                if ended:
                    break
                if overdue is not None and monotonic() > overdue:
                    _end(process)
        finally:
            _end(process)
            _relay(tail, on_progress)
    (directory / "request.json").unlink()
    if interrupted:
        outcome.unlink(missing_ok=True)
        return {"state": "interrupted"}
    if not outcome.exists():
        return {"state": "dead kernel", "error": f"the notebook's process ended with code {process.returncode}"}
    found: dict[str, Any] = json.loads(outcome.read_text(encoding="utf-8"))
    outcome.unlink()
    return found


def _wait(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the process to kill its kernel and end; kill it when it does not."""
    if process.stdin is not None:
        process.stdin.close()
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _relay(tail: ProgressTail, on_progress: Callable[[ProgressEvent], None] | None) -> None:
    for event in tail.read():
        if on_progress is not None:
            on_progress(event)


def _read_report(directory: Path, outcome: dict[str, Any]) -> Mapping[str, Any]:
    """The report of a notebook that ran to its end; changes the outcome when there is none."""
    path = directory / "report.json"
    try:
        value = loads_finite(path.read_bytes(), "report.json")
        if isinstance(value, dict):
            return FrozenMapping(value)
        problem = f"a JSON {type(value).__name__}, not an object"
    except FileNotFoundError:
        problem = "no file"
    except InputError as error:
        problem = error.message
    outcome |= {"state": "no report", "error": problem}
    return {}


def _raise_for(outcome: Mapping[str, Any], directory: Path, timeout: float | None) -> None:
    state, kept = outcome["state"], f"The notebook up to there is {directory / 'output.ipynb'}."
    if state == "interrupted":
        raise NotebookInterrupted(directory)
    failure: NotebookFailure
    if state == "cell failed":
        message = f"Expected every cell to succeed. Got {outcome['error']} in cell {outcome['cell']}."
        failure = CellFailure(message, directory=directory, hint=kept)
    elif state == "timed out":
        failure = NotebookTimeout(
            f"Expected the notebook done within {timeout} s. Got none.", directory=directory, hint=kept
        )
    elif state == "no report":
        message = f"Expected the notebook to write {directory / 'report.json'}. Got: {outcome['error']}."
        failure = MissingReport(message, directory=directory, hint="End it with kernaut.runs.headless.write_report.")
    elif state == "dead kernel":
        message = f"Expected the kernel to live until the end. Got: {outcome['error']}."
        failure = DeadKernel(message, directory=directory, hint=f"{kept} See also {directory / 'stdout.log'}.")
    else:
        return
    raise failure


def _new_directory(parent: Path, parameters: Mapping[str, Any]) -> Path:
    """A folder of its own: UTC stamp and parameter digest, numbered when two runs share both."""
    stem = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{content_id(parameters)[:8]}"
    for number in range(1, 1000):
        directory = parent / (stem if number == 1 else f"{stem}-{number}")
        try:
            directory.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise NotebookInputError(
                f"Expected a folder to write runs in at {parent}. Got: {error.strerror}."
            ) from error
        return directory
    raise NotebookInputError(f"Expected fewer than 1000 equal runs a second in {parent}.")


def _point_latest(directory: Path) -> None:
    """Point ``latest`` to a finished run, where the file system has symbolic links."""
    link = directory.parent / "latest"
    fresh = directory.parent / f".latest-{os.getpid()}"
    with suppress(OSError):
        fresh.symlink_to(directory.name)
        fresh.replace(link)


def _write(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
