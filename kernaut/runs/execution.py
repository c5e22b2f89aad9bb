"""The process that runs one notebook; started by :func:`kernaut.runs.notebook.run_notebook`, not for import elsewhere.

It executes the notebook through papermill with the interpreter it runs in, saves after each cell, and writes ``outcome.json`` beside
the output.  On SIGINT it interrupts the kernel and stops after the interrupted cell; on SIGTERM, or when the process that asked has
gone, it kills the kernel with everything the kernel started.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import nbformat
import papermill
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat.sign import NotebookNotary
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine, papermill_engines
from papermill.exceptions import PapermillExecutionError

from kernaut.runs.headless import KERNEL, report_progress

ENGINE = "kernaut"


class _Interrupted(Exception):
    """The notebook was asked to stop."""


class _Client(PapermillNotebookClient):
    """papermill's client with a deadline for the whole notebook, cell progress, and an interrupt that reaches the kernel."""

    deadline: float | None = None
    interrupted = False
    terminated = False

    def papermill_execute_cells(self) -> None:
        """Execute the cells under our own signal handlers, which replace those nbclient has just set."""
        self.timeout_func = self._remaining
        self._titles = cell_titles(self.nb.cells)
        signal.signal(signal.SIGINT, self._interrupt)
        signal.signal(signal.SIGTERM, self._terminate)
        super().papermill_execute_cells()
        if _Client.interrupted:
            raise _Interrupted

    def execute_cell(self, cell: Any, cell_index: int, **options: Any) -> Any:
        """Execute one cell, unless the notebook was interrupted in an earlier one."""
        if _Client.interrupted:
            raise _Interrupted
        if cell_index in self._titles:
            report_progress(self._titles[cell_index], list(self._titles).index(cell_index) + 1, len(self._titles))
        return super().execute_cell(cell, cell_index, **options)

    def _remaining(self, cell: Any) -> float | None:
        return None if _Client.deadline is None else max(_Client.deadline - monotonic(), 0.01)

    def _interrupt(self, number: int, frame: Any) -> None:
        _Client.interrupted = True
        self._signal_kernel(signal.SIGINT)

    def _terminate(self, number: int, frame: Any) -> None:
        _Client.terminated = True
        self._signal_kernel(signal.SIGKILL)

    def _signal_kernel(self, number: int) -> None:
        pid = getattr(getattr(self.km, "provisioner", None), "pid", None)
        if pid is None:
            return
        try:
            group = os.getpgid(pid)
            if group == os.getpgid(0):
                os.kill(pid, number)
            else:
                os.killpg(group, number)
        except ProcessLookupError:
            return


class _Engine(NBClientEngine):
    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **options: Any) -> Any:
        """Execute with our client."""
        return _Client(nb_man, kernel_name=kernel_name, startup_timeout=options.get("start_timeout", 60)).execute()


def main(request_path: str) -> int:
    """Run the notebook that a request file describes; 0 when an outcome was written."""
    request = json.loads(Path(request_path).read_text(encoding="utf-8"))
    _follow_parent()
    if request["timeout"] is not None:
        _Client.deadline = monotonic() + request["timeout"]
    papermill_engines.register(ENGINE, _Engine)
    output = Path(request["output"])
    with tempfile.TemporaryDirectory(prefix="kernaut-kernel-") as folder:
        _offer_this_interpreter(Path(folder))
        outcome = _execute(request, output)
    if output.exists():
        _sign(output)
    Path(request["outcome"]).write_text(json.dumps(outcome), encoding="utf-8")
    return 0


def _execute(request: dict[str, Any], output: Path) -> dict[str, Any]:
    try:
        papermill.execute_notebook(
            request["notebook"],
            str(output),
            parameters=request["parameters"],
            engine_name=ENGINE,
            kernel_name=KERNEL,
            language="python",
            progress_bar=False,
            start_timeout=request["start_timeout"],
        )
    except _Interrupted:
        return {"state": "interrupted"}
    except PapermillExecutionError as error:
        if _Client.interrupted:
            return {"state": "interrupted"}
        place = {"cell": error.cell_index, "source": error.source}
        return {"state": "cell failed", "error": f"{error.ename}: {error.evalue}", **place}
    except CellTimeoutError:
        return {"state": "timed out"}
    except (DeadKernelError, RuntimeError) as error:
        if _Client.interrupted:
            return {"state": "interrupted"}
        return {"state": "timed out" if _Client.terminated else "dead kernel", "error": str(error)}
    return {"state": "done"}


def _offer_this_interpreter(folder: Path) -> None:
    """Put a kernel of this interpreter before any other called ``python3`` that a user may have installed."""
    spec = folder / "kernels" / KERNEL
    spec.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    description = {"argv": command, "display_name": "Python 3 (Kernaut)", "language": "python"}
    (spec / "kernel.json").write_text(json.dumps(description), encoding="utf-8")
    os.environ["JUPYTER_PATH"] = os.pathsep.join(filter(None, (str(folder), os.environ.get("JUPYTER_PATH"))))


def _follow_parent() -> None:
    """End with the process that asked: it holds the other end of standard input and never writes."""

    def wait() -> None:
        while os.read(0, 1024):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


def _sign(output: Path) -> None:
    """Trust what this machine has just made, so that JupyterLab shows its widgets and charts."""
    with NotebookNotary() as notary:
        notary.sign(nbformat.read(output, as_version=4))


def cell_titles(cells: Sequence[Any]) -> dict[int, str]:
    """What to call each code cell in progress lines, by index: its opening comment, else the heading above, else its first line."""
    titles, heading = {}, ""
    for index, cell in enumerate(cells):
        lines = [line.strip() for line in cell.source.splitlines() if line.strip()]
        if cell.cell_type == "markdown":
            heading = next((line.lstrip("# ") for line in lines if line.startswith("#")), heading)
        elif cell.cell_type == "code":
            comment = lines[0].lstrip("#% ") if lines and lines[0].startswith("#") else ""
            titles[index] = (comment or heading or (lines[0] if lines else "an empty cell"))[:80]
    return titles
