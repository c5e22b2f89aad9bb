"""The process that executes a notebook, seen from outside: it ends with whoever asked, and its kernel with it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import nbformat
import psutil

from kernaut.runs.execution import cell_titles

ASK = "import sys\nfrom kernaut.runs.notebook import run_notebook\nrun_notebook('tiny', workspace=sys.argv[1])\n"
CELL = (
    "import os, time\nfrom kernaut.runs.headless import run_directory\n"
    "(run_directory() / 'pids').write_text(f'{os.getppid()} {os.getpid()}')\ntime.sleep(600)"
)


def test_killing_who_asked_ends_everything(make_notebook: Callable[..., Path], tmp_path: Path) -> None:
    make_notebook(CELL)
    environment = {**os.environ, "JUPYTER_DATA_DIR": str(tmp_path / "jupyter")}
    asking = subprocess.Popen([sys.executable, "-c", ASK, str(tmp_path)], env=environment)
    deadline = time.monotonic() + 60
    pids: list[int] = []
    while len(pids) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
        found = list(tmp_path.glob("papermill_runs/tiny/*/pids"))
        pids = [int(pid) for pid in found[0].read_text().split()] if found else []
    assert len(pids) == 2
    os.kill(asking.pid, signal.SIGKILL)
    asking.wait()
    _, alive = psutil.wait_procs([psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)], timeout=30)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []


def test_cells_are_called_by_comment_heading_or_first_line() -> None:
    code, text = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell
    cells = [
        code("x = 1\ny = 2"),
        code(""),
        text("Words.\n## Search\nMore."),
        code("run()"),
        code("#%% Plot it\nplot()"),
        text("No heading."),
        code("z"),
    ]
    expected = {0: "x = 1", 1: "an empty cell", 3: "Search", 4: "Plot it", 6: "Search"}
    assert cell_titles(cells) == expected
