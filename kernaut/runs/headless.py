"""What a notebook uses to work alike for a person and headless: where to write, and how to tell how far it is.

A headless run sets ``KERNAUT_RUN_DIRECTORY`` (its folder) and ``KERNAUT_PROGRESS_FILE``.  The notebook's kernel appends one JSON
object a line to that file and the waiting process relays them as they come, since papermill itself only knows when a cell ends.
Without these variables (a person in JupyterLab, or plain papermill) files go to ``papermill_runs/by-hand`` and progress nowhere.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernaut.digest import require_json, thaw

DIRECTORY_VARIABLE = "KERNAUT_RUN_DIRECTORY"
PROGRESS_VARIABLE = "KERNAUT_PROGRESS_FILE"
LIVE_VARIABLE = "KERNAUT_LIVE"
SESSION_VARIABLES = ("JPY_SESSION_NAME", "VSCODE_PID", LIVE_VARIABLE)
"""Set by notebook servers for the kernels of open notebooks, by VS Code, and by hand for any other front end with widgets."""
KERNEL = "python3"
"""The name of every kernel: this interpreter's."""
BY_HAND = Path("papermill_runs") / "by-hand"


def is_headless() -> bool:
    """Whether this process belongs to a headless run."""
    return DIRECTORY_VARIABLE in os.environ


def has_front_end() -> bool:
    """Whether somebody can use widgets here: a notebook server's session, VS Code or Voila, and no headless run."""
    return not is_headless() and (
        any(name in os.environ for name in SESSION_VARIABLES)
        or os.environ.get("SERVER_SOFTWARE", "").startswith("voila")
    )


def run_directory() -> Path:
    """The folder for this run's report and figures; made when it is not there."""
    directory = Path(os.environ.get(DIRECTORY_VARIABLE) or BY_HAND).absolute()
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def write_report(report: Mapping[str, Any]) -> Path:
    """Write ``report.json``, the last thing a notebook does; a headless run without it has failed.

    Returns:
        The path written.

    Raises:
        InputError: when the report holds anything but finite JSON.
    """
    require_json(report, "the notebook's report")
    path = run_directory() / "report.json"
    path.write_text(json.dumps(thaw(report), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def report_progress(message: str, done: int | None = None, total: int | None = None) -> None:
    """Say how far the work is; one line in the waiting process's terminal. Does nothing outside a headless run.

    Args:
        message: what is going on, a few words on one line.
        done: steps done.
        total: steps in all.
    """
    target = os.environ.get(PROGRESS_VARIABLE)
    if not target:
        return
    line = json.dumps({"message": message, "done": done, "total": total}, ensure_ascii=False) + "\n"
    descriptor = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, line.encode("utf-8", "replace"))  # one write: lines of several processes do not mix
    finally:
        os.close(descriptor)
