from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from kernaut.errors import InputError
from kernaut.runs.failures import NotebookInputError
from kernaut.runs.grid import GridRun, read_grid, run_grid

BODY = """
from kernaut.runs.headless import write_report
assert seed != 2, "two is too many"
write_report({"summary": {"columns": ["kernel", "crps"], "rows": [["rbf", seed + 0.5]]}})
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    book = nbformat.v4.new_notebook()
    parameters = nbformat.v4.new_code_cell("seed = 0\nname = 'a'", metadata={"tags": ["parameters"]})
    book.cells = [parameters, nbformat.v4.new_code_cell(BODY)]
    (tmp_path / "notebooks").mkdir()
    nbformat.write(book, tmp_path / "notebooks" / "tiny.ipynb")
    return tmp_path


def test_every_combination_is_a_setting_and_a_list_is_taken_as_it_is() -> None:
    assert read_grid("seed: [0, 1]\nname: [a, b]\nlevel: 2") == [
        {"seed": seed, "name": name, "level": 2} for seed in (0, 1) for name in "ab"
    ]
    assert read_grid("- {seed: 3}\n- {name: b}") == [{"seed": 3}, {"name": "b"}]


@pytest.mark.parametrize("text", ["", "[]", "seed: []", "3", "a: [", "- 3", "a: {{range}}"])
def test_other_yaml_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="Expected"):
        read_grid(text)


def test_a_grid_without_end_is_refused_before_it_is_laid_out() -> None:
    lists = "".join(f"p{i}: [{', '.join(map(str, range(1000)))}]\n" for i in range(10))
    with pytest.raises(InputError, match=f"Expected 1 to 1000 settings in the grid. Got {10**30}"):
        read_grid(lists)
    with pytest.raises(InputError, match=r"Expected YAML in the grid\. Got: maximum recursion depth"):
        read_grid("a: " + "[" * 5000)


def test_a_grid_runs_in_parallel_keeps_failures_and_finds_what_is_finished(workspace: Path) -> None:
    told: list[GridRun] = []
    settings = read_grid("seed: [0, 2, 0]")
    found = run_grid("tiny", settings, workspace=workspace, workers=2, done=told.append)
    assert [run.state for run in found] == ["done", "cell failed"]
    assert "two is too many" in found[1].error
    assert (found[1].directory / "output.ipynb").exists()
    assert told == found
    again = run_grid("tiny", settings[:1], workspace=workspace)
    assert again[0].reused and again[0].directory == found[0].directory


def test_a_wrong_parameter_is_refused_before_anything_runs(workspace: Path) -> None:
    with pytest.raises(NotebookInputError, match="sede"):
        run_grid("tiny", [{"seed": 0}, {"sede": 1}], workspace=workspace)
    with pytest.raises(NotebookInputError, match="int"):
        run_grid("tiny", [{"seed": "many"}], workspace=workspace)
    assert not (workspace / "papermill_runs").exists()
