from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from kernaut.cli.notebooks import _parameters, _Relay
from kernaut.cli.terminal import Progress
from kernaut.runs import grid
from kernaut.runs.grid import GridRun
from kernaut.runs.progress import ProgressEvent
from tests.kernaut.cli.conftest import Run

Refused = Callable[..., str]
BODY = """
from kernaut.runs.headless import report_progress, write_report
for step in range(3):
    report_progress("steps", step + 1, 3)
write_report({
    "summary": {"columns": ["kernel", "crps"], "rows": [["rbf", level / 4]], "lines": ["done well"]},
    "files": {"archive": "a.sqlite"},
})
"""


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    book = nbformat.v4.new_notebook()
    book.cells = [
        nbformat.v4.new_code_cell("level = 2.0", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(BODY),
    ]
    (tmp_path / "notebooks").mkdir()
    nbformat.write(book, tmp_path / "notebooks" / "tiny.ipynb")
    return tmp_path / "notebooks" / "tiny.ipynb"


def test_a_run_ends_with_its_summary_and_its_paths(run: Run, notebook: Path, tmp_path: Path) -> None:
    result = run("notebook", "run", "tiny", "-p", "level", "-0.5")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[1:5] == ["kernel     crps", "------  -------", "rbf     -0.1250", "done well"]
    paths = dict(line.split(maxsplit=1) for line in lines if line.startswith(("notebook", "archive", "report")))
    assert all(Path(paths[key]).is_file() for key in ("notebook", "report"))
    assert Path(paths["archive"]) == Path(paths["report"]).parent / "a.sqlite"
    assert Path(paths["report"]).is_relative_to(tmp_path / "papermill_runs" / "tiny")
    assert "[1/3] steps" in result.stderr
    assert "steps: 3 of 3" in result.stderr
    assert "done in" in result.stderr


def test_failures_have_codes_of_their_own(run: Run, notebook: Path) -> None:
    book = nbformat.read(notebook, as_version=4)
    book.cells[1].source = "1 / 0"
    nbformat.write(book, notebook)
    result = run("--quiet", "notebook", "run", "tiny")
    assert result.exit_code == 3
    assert result.stderr.startswith(
        "error: Expected every cell to succeed. Got ZeroDivisionError: division by zero in cell"
    )
    assert len(result.stderr.splitlines()) == 2


def test_bad_names_and_parameters_are_one_line(refused: Refused, notebook: Path, tmp_path: Path) -> None:
    assert "tiny" in refused("notebook", "run", "tinny")
    assert "'levle'" in refused("notebook", "run", "tiny", "-p", "levle", 3)
    assert "type float" in refused("notebook", "run", "tiny", "-p", "level", "high")
    assert "KEY" in refused("notebook", "run", "tiny", "-p", "level")
    assert "'--tmeout'" in refused("notebook", "run", "tiny", "--tmeout", 3)
    assert "--timeout above 0. Got nan" in refused("notebook", "run", "tiny", "--timeout", "nan")
    assert "--workers from 1 to 256. Got 0" in refused("notebook", "run", "tiny", "--workers", 0)
    assert "twice" in refused("notebook", "run", "tiny", "-p", "level", 1, "-p", "level", 2)
    assert not (tmp_path / "papermill_runs").exists()


def test_pairs_are_read_in_order() -> None:
    assert _parameters(["-p", "a", "1", "--parameter", "b", "-2"]) == {"a": "1", "b": "-2"}
    assert _parameters([]) == {}


def test_a_finished_run_is_found_and_run_again_on_demand(run: Run, notebook: Path, tmp_path: Path) -> None:
    assert run("notebook", "run", "tiny").exit_code == 0
    found = run("notebook", "run", "tiny", "-p", "level", "2")
    assert "found the finished run" in found.stderr
    assert found.stdout.splitlines()[3] == "rbf     0.5000"
    assert run("notebook", "run", "tiny", "--again").exit_code == 0
    assert len(list((tmp_path / "papermill_runs" / "tiny").glob("2*"))) == 2
    listed = run("notebook", "list").stdout
    assert "tiny: tiny" in listed and "level = 2.0" in listed and "2, 2 of them done" in listed


def test_a_grid_is_run_and_compared(run: Run, notebook: Path, tmp_path: Path) -> None:
    (tmp_path / "grid.yaml").write_text("level: [1, 3]\n")
    result = run("notebook", "run", "tiny", "--grid", "grid.yaml")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["run", "state", "level", "crps"]
    assert [line.split()[1:] for line in lines[2:4]] == [["done", "1.0", "0.2500"], ["done", "3.0", "0.7500"]]
    compared = run("notebook", "compare", "tiny", "--html", "runs.html")
    assert compared.stdout == result.stdout
    assert "<th>level</th>" in (tmp_path / "runs.html").read_text()


def test_an_interrupted_grid_says_what_is_done(
    run: Run, notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(name: str, settings: object, *, done: Callable[[GridRun], None], **options: object) -> None:
        done(GridRun({}, tmp_path, "done"))
        raise KeyboardInterrupt

    monkeypatch.setattr(grid, "run_grid", interrupted)
    (tmp_path / "grid.yaml").write_text("level: [1.0, 2.0]")
    result = run("notebook", "run", "tiny", "--grid", "grid.yaml")
    assert result.exit_code == 130 and result.stdout == ""
    assert result.stderr.endswith("interrupted; 1 of 2 runs done: the same command finds it\n")


def test_a_grid_with_an_unknown_parameter_is_refused(refused: Refused, notebook: Path, tmp_path: Path) -> None:
    (tmp_path / "grid.yaml").write_text("levle: [1, 3]\n")
    assert "levle" in refused("notebook", "run", "tiny", "--grid", "grid.yaml")
    assert "folder of a run" in refused("notebook", "compare", "nothing")


def test_a_message_that_only_comes_again_is_said_once() -> None:
    said: list[object] = []

    class Kept(Progress):
        def at(self, part: str, done: int, total: int) -> None:
            said.append((part, done, total))

        def tell(self, line: str) -> None:
            said.append(line)

    relay = _Relay(Kept())
    for event in (
        ProgressEvent("waits"),
        ProgressEvent("waits"),
        ProgressEvent("runs", 1, 3),
        ProgressEvent("runs", 2, 3),
    ):
        relay(event)
    assert said == ["waits", "[1/3] runs", ("runs", 2, 3)]
