"""Processes that a test starts and everything that comes from them, found by a mark in their environment, also when their parent has gone."""

from __future__ import annotations

import os
import time
import uuid
from contextlib import suppress
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
MARK = f"marked-{uuid.uuid4().hex}"
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / MARK)))}
"""For a process that a test starts; a sandbox passes the path on, and little else."""


def marked() -> set[psutil.Process]:
    """Every process of the mark that has not ended."""
    found = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if MARK in process.environ().get("PYTHONPATH", "") and process.status() != psutil.STATUS_ZOMBIE:
                found.add(process)
    return found


def left_over(before: set[psutil.Process], seconds: float = 20.0) -> list[str]:
    """Commands of what is still there of the mark, beyond what was there before; some time is given to end."""
    until = time.monotonic() + seconds
    while marked() - before and time.monotonic() < until:
        time.sleep(0.2)
    return [" ".join(process.cmdline()[:6]) for process in marked() - before]
