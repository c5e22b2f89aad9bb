import json
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import nbformat
import psutil
import pytest
from nbformat.sign import NotebookNotary

from kernaut.runs.failures import (
    CellFailure,
    DeadKernel,
    MissingReport,
    NotebookFailure,
    NotebookInputError,
    NotebookInterrupted,
    NotebookTimeout,
)
from kernaut.runs.notebook import _new_directory, _read_report, find_notebook, run_notebook
from kernaut.runs.progress import ProgressEvent

MakeNotebook = Callable[..., Path]

REPORT = "from kernaut.runs.headless import write_report\nwrite_report({report})"


@pytest.fixture(autouse=True)
def own_jupyter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signatures and kernels of these tests stay out of the user's folders; another python3 kernel lies in wait."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    wrong = tmp_path / "wrong" / "kernels" / "python3"
    wrong.mkdir(parents=True)
    (wrong / "kernel.json").write_text('{"argv": ["/bin/false"], "display_name": "wrong", "language": "python"}')
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "wrong"))


def test_a_run_from_parameters_to_report(make_notebook: MakeNotebook, tmp_path: Path) -> None:
    report = "{'steps': steps, 'rate': rate, 'note': note, 'cwd': os.getcwd(), 'python': sys.executable}"
    make_notebook(
        "# Work\nimport os, sys\nfrom kernaut.runs.headless import report_progress\nreport_progress('halfway', steps, 8)",
        REPORT.format(report=report),
        parameters='steps = 3\nrate = 0.5\nnote = "a"',
    )
    events: list[ProgressEvent] = []
    given = {"steps": "4", "note": 'it\'s "quoted"\n'}
    result = run_notebook("tiny", given, workspace=tmp_path, on_progress=events.append)

    expected = {"steps": 4, "rate": 0.5, "note": given["note"]}
    assert result.report == {**expected, "cwd": str(tmp_path), "python": sys.executable}
    assert result.parameters == expected
    assert result.directory.parent == tmp_path / "papermill_runs" / "tiny"
    files = {
        "output.ipynb",
        "parameters.json",
        "report.json",
        "environment.json",
        "run.json",
        "stdout.log",
        "progress.jsonl",
    }
    assert {path.name for path in result.directory.iterdir()} == files
    assert json.loads((result.directory / "parameters.json").read_text()) == expected
    assert json.loads((result.directory / "run.json").read_text())["state"] == "done"
    assert "numpy" in json.loads((result.directory / "environment.json").read_text())["packages"]
    assert ProgressEvent("halfway", 4, 8) in events
    assert ProgressEvent("Work", 3, 4) in events
    with NotebookNotary(data_dir=str(tmp_path / "jupyter")) as notary:
        assert notary.check_signature(nbformat.read(result.notebook, as_version=4))
    assert (result.directory.parent / "latest").resolve() == result.directory


def test_equal_runs_at_the_same_second_have_folders_of_their_own(tmp_path: Path) -> None:
    made = [_new_directory(tmp_path / "tiny", parameters) for parameters in ({"a": 1}, {"a": 1}, {"a": 2})]
    assert len({path.name for path in made}) == 3
    digests = [path.name.split("-")[1] for path in made]
    assert digests[0] == digests[1] != digests[2]
    assert len(digests[0]) == 8


@pytest.mark.parametrize(
    ("content", "problem"), [(None, "no file"), ("[1]", "not an object"), ('{"a": NaN}', "finite")]
)
def test_a_report_is_a_finite_json_object(tmp_path: Path, content: str | None, problem: str) -> None:
    if content is not None:
        (tmp_path / "report.json").write_text(content)
    outcome = {"state": "done"}
    assert _read_report(tmp_path, outcome) == {}
    assert outcome["state"] == "no report"
    assert problem in outcome["error"]
    (tmp_path / "report.json").write_text('{"a": 0.1}')
    assert _read_report(tmp_path, {}) == {"a": 0.1}


def failing(make_notebook: MakeNotebook, tmp_path: Path, cell: str, **options: float) -> NotebookFailure:
    make_notebook(cell, REPORT.format(report="{}"))
    with pytest.raises(NotebookFailure) as caught:
        run_notebook("tiny", workspace=tmp_path, **options)  # type: ignore[arg-type]
    kept = nbformat.read(caught.value.directory / "output.ipynb", as_version=4)
    assert any(cell in node.source for node in kept.cells)
    assert not (caught.value.directory / "report.json").exists()
    assert not (tmp_path / "papermill_runs" / "tiny" / "latest").exists()
    return caught.value


def test_a_cell_that_raises(make_notebook: MakeNotebook, tmp_path: Path) -> None:
    error = failing(make_notebook, tmp_path, "1 / 0")
    assert isinstance(error, CellFailure)
    assert "ZeroDivisionError: division by zero in cell" in error.message
    kept = nbformat.read(error.directory / "output.ipynb", as_version=4)
    outputs = [output for cell in kept.cells for output in cell.get("outputs", [])]
    assert [output.ename for output in outputs if output.output_type == "error"] == ["ZeroDivisionError"]
    assert json.loads((error.directory / "run.json").read_text())["state"] == "cell failed"


def test_a_notebook_out_of_time(make_notebook: MakeNotebook, tmp_path: Path) -> None:
    error = failing(make_notebook, tmp_path, "import time\ntime.sleep(600)", timeout=4.0)
    assert isinstance(error, NotebookTimeout)


def test_a_kernel_that_dies(make_notebook: MakeNotebook, tmp_path: Path) -> None:
    error = failing(make_notebook, tmp_path, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    assert isinstance(error, DeadKernel)


def test_a_notebook_without_a_report(make_notebook: MakeNotebook, tmp_path: Path) -> None:
    make_notebook("pass")
    with pytest.raises(MissingReport, match=r"report.json"):
        run_notebook("tiny", workspace=tmp_path)


SLEEPER = (
    "import os, subprocess, sys, time\n"
    "from kernaut.runs.headless import report_progress, run_directory\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
    "(run_directory() / 'pids').write_text(f'{os.getpid()} {child.pid}')\n"
    "report_progress('sleeping')\n"
    "time.sleep(600)"
)


def gone(pids: list[int], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        alive = [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]
        if not alive:
            return True
        time.sleep(0.05)
    return False


def test_ctrl_c_interrupts_the_kernel_and_keeps_the_notebook(make_notebook: MakeNotebook, tmp_path: Path) -> None:
    make_notebook(SLEEPER, REPORT.format(report="{}"))

    def interrupt(event: ProgressEvent) -> None:
        if event.message == "sleeping":
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(NotebookInterrupted) as caught:
        run_notebook("tiny", workspace=tmp_path, on_progress=interrupt)
    directory = caught.value.directory
    kept = nbformat.read(directory / "output.ipynb", as_version=4)
    errors = [
        output.ename for cell in kept.cells for output in cell.get("outputs", []) if output.output_type == "error"
    ]
    assert errors == ["KeyboardInterrupt"]
    assert gone([int(pid) for pid in (directory / "pids").read_text().split()])
    assert json.loads((directory / "run.json").read_text())["state"] == "interrupted"
    assert not (directory / "report.json").exists()


def test_bad_input_is_refused_before_anything_runs(make_notebook: MakeNotebook, tmp_path: Path) -> None:
    make_notebook("pass")
    for arguments, problem in (
        ({"parameters": {"step": 1}}, "Did you mean 'steps'"),
        ({"parameters": {"steps": "many"}}, "of type int"),
        ({"timeout": 0.0}, "above 0 s"),
    ):
        with pytest.raises(NotebookInputError, match=problem):
            run_notebook("tiny", workspace=tmp_path, **arguments)  # type: ignore[arg-type]
    (tmp_path / "taken").write_text("")
    with pytest.raises(NotebookInputError, match="Expected a folder to write runs in"):
        run_notebook("tiny", workspace=tmp_path, root="taken")
    assert not (tmp_path / "papermill_runs").exists()


def test_names_are_looked_up_in_the_workspace_first(make_notebook: MakeNotebook, tmp_path: Path) -> None:
    path = make_notebook("pass", name="tiny")
    assert find_notebook("tiny", tmp_path) == path == find_notebook("notebooks/tiny.ipynb", tmp_path)
    assert find_notebook(path, Path("/")) == path
    with pytest.raises(NotebookInputError, match=r"tiny.*Got 'tinny'. Did you mean 'tiny'\?"):
        find_notebook("tinny", tmp_path)
    with pytest.raises(NotebookInputError, match="Got no file"):
        find_notebook("other.ipynb", tmp_path)
