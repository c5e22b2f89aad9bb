"""The discover notebook at its smallest, through the headless runner: its report, its pictures, what it leaves behind, and a second run."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from kernaut.archive.store import Archive
from kernaut.plugins import bundled
from kernaut.program.program import load_candidate
from kernaut.runs.notebook import RunResult, run_notebook
from kernaut.runs.parameters import notebook_parameters

NOTEBOOK = bundled("notebooks", "discover.ipynb")
SETTINGS = {"runs": 1, "episodes": 1, "workers": 1, "seed": 3}
TWO_MEGABYTES = 2_000_000


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    folder = tmp_path_factory.mktemp("discover")
    lines: list[str] = []
    found = run_notebook(NOTEBOOK, SETTINGS, workspace=folder, on_progress=lambda event: lines.append(str(event)))
    assert any(line.startswith("run 1/1") for line in lines)  # progress came while it ran
    return found


def test_the_report_says_what_was_found(result: RunResult) -> None:
    report = result.report
    assert set(report) == {"summary", "files", "selected", "comparison", "selection", "campaign", "benchmark"}
    chosen = report["selected"]["candidate_id"]
    assert report["selection"]["choice"] == chosen
    assert report["benchmark"]["looks"] == {"validation": 2, "test": 1}
    assert list(report["benchmark"]["protocol"]["splits"]) == ["validation", "test"]
    rows = report["comparison"]["rows"]
    assert len(rows) == 11
    name, validation, test, _, regret = rows[0]
    assert name == report["selected"]["candidate"]["name"]
    assert all(isinstance(value, float) and 0.0 < value < 2.0 for value in (validation, test, regret))
    verdict = "yes" if report["comparison"]["beats_every_reference"] else "no"
    assert report["comparison"]["sentence"].endswith(
        f"Beats every fixed reference, the interval to each below 0: {verdict}."
    )
    assert report["summary"]["rows"] == rows


def test_what_is_left_behind_can_be_used(result: RunResult) -> None:
    program = load_candidate(result.directory / result.report["files"]["selected program"])
    assert program.id == result.report["selected"]["candidate_id"]
    with Archive.open(result.directory / result.report["files"]["archive"], read_only=True) as archive:
        assert archive.program(program.id).source == program.source
        assert archive.frozen() is not None
        assert archive.check().problems == ()
    for name in ("convergence.svg", "elites.svg", "families.svg", "prior.png"):
        assert (result.directory / name).stat().st_size > 1000


def test_the_executed_notebook_shows_pictures_with_words_and_stays_small(result: RunResult) -> None:
    book = nbformat.read(result.notebook, as_version=4)
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    charts = [output for output in pictures if "application/vnd.vegalite.v5+json" in output.data]
    assert (len(pictures), len(charts)) == (5, 4)
    for picture in pictures:
        assert "text/html" not in picture.data
        assert len(picture.data["text/plain"]) > 40
        assert picture.metadata["image/png"]["alt"] == picture.data["text/plain"]
    assert result.notebook.stat().st_size < TWO_MEGABYTES


def test_a_second_run_on_the_same_archive_shows_it_and_counts_the_look(result: RunResult, tmp_path: Path) -> None:
    where = result.directory / result.report["files"]["archive"]
    again = run_notebook(NOTEBOOK, {**SETTINGS, "archive": str(where)}, workspace=tmp_path)
    assert again.report["campaign"] == result.report["campaign"]
    assert again.report["comparison"] == result.report["comparison"]
    assert again.report["benchmark"]["looks"] == {"validation": 4, "test": 2}
    assert again.report["files"]["archive"] == str(where)


def test_the_committed_notebook_is_clean() -> None:
    book = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert book["metadata"]["kernelspec"]["name"] == "python3"
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert notebook_parameters(NOTEBOOK) == {
        "seed": 0, "runs": 12, "episodes": 10, "workers": 2, "archive": "", "strategy": "evolutionary",
    }  # fmt: skip
