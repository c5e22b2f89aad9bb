"""The headless runs there are: list them, and find the finished one of a notebook with the same text and parameters."""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernaut.errors import InputError

DIGEST_KEY = "notebook_digest"


@dataclass(frozen=True)
class FoundRun:
    """One run's folder, read.

    Args:
        name: the notebook's name.
        directory: the folder.
        state: ``done``, or how it failed; ``running`` while a process works on it, ``broken off`` where that process was killed.
        parameters: all parameters.
        started_at: UTC, ISO 8601; empty while it runs.
        seconds: wall time [s]; 0 while it runs.
        digest: of the notebook's file when it ran; empty for runs of earlier versions.
        error: what failed, if anything.
    """

    name: str
    directory: Path
    state: str
    parameters: Mapping[str, Any]
    started_at: str
    seconds: float
    digest: str
    error: str = ""

    def report(self) -> Mapping[str, Any]:
        """The content of ``report.json``; empty where there is none."""
        return _read(self.directory / "report.json")


def notebook_digest(path: str | Path) -> str:
    """First 16 hex digits of SHA-256 of a notebook's file.

    Raises:
        InputError: when it cannot be read.
    """
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise InputError(f"Expected a notebook at {path}. Got: {error.strerror}.") from error


def find_runs(root: str | Path = "papermill_runs", name: str | None = None) -> list[FoundRun]:
    """All runs below a folder, the latest last.

    Args:
        root: where runs land.
        name: only this notebook's.
    """
    pattern = f"{name or '*'}/*/parameters.json"
    folders = [path.parent for path in Path(root).glob(pattern) if not path.parent.is_symlink()]
    return sorted((read_run(folder) for folder in folders), key=lambda run: (run.directory.name, run.name))


def read_run(directory: str | Path) -> FoundRun:
    """One run's folder.

    Raises:
        InputError: when it is none.
    """
    folder = Path(directory).resolve()
    if not (folder / "parameters.json").is_file():
        raise InputError(
            f"Expected the folder of a run at {directory}. Got none.", hint="List them with kernaut notebook list."
        )
    record = _read(folder / "run.json")
    return FoundRun(
        str(record.get("notebook", folder.parent.name)),
        folder,
        str(record.get("state") or _unfinished(folder)),
        _read(folder / "parameters.json"),
        str(record.get("started_at", "")),
        float(record.get("seconds", 0.0)),
        str(record.get(DIGEST_KEY, "")),
        str(record.get("error", "")),
    )


def finished_run(root: str | Path, notebook: Path, parameters: Mapping[str, Any]) -> FoundRun | None:
    """The latest finished run of this notebook's present text with these parameters; None when there is none.

    None too for a notebook whose metadata say ``"kernaut": {"anew": true}``: equal parameters give it another result when what it reads has changed.
    """
    digest = notebook_digest(notebook)
    if _read(notebook).get("metadata", {}).get("kernaut", {}).get("anew"):
        return None
    for run in reversed(find_runs(root, notebook.stem)):
        same = run.state == "done" and run.digest == digest and dict(run.parameters) == dict(parameters)
        if same and (run.directory / "report.json").is_file():
            return run
    return None


def _unfinished(folder: Path) -> str:
    """Whether somebody still works on a run without an outcome: whoever does holds its request."""
    try:
        with (folder / "request.json").open("rb") as request:
            fcntl.flock(request, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return "running"  # it is held, or not written yet
    return "broken off"


def _read(path: Path) -> dict[str, Any]:
    """A JSON object; empty where there is none, or half of one."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
