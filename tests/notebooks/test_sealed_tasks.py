"""The sealed_tasks notebook at its smallest, through the headless runner."""

from __future__ import annotations

import nbformat
import pytest

from kernaut.plugins import bundled
from kernaut.runs.notebook import RunResult, run_notebook

NOTEBOOK = bundled("notebooks", "sealed_tasks.ipynb")
CANDIDATE = bundled("examples", "candidates", "dual_warp_fold.json")
SETTINGS = {
    "tasks": 1,
    "seeds": 1,
    "policies": ["random", "cma_es", "ceiling"],
    "surrogates": ["rbf"],
    "candidates": [str(CANDIDATE)],
    "workers": 1,
}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory, monkeypatch_module: pytest.MonkeyPatch) -> RunResult:
    folder = tmp_path_factory.mktemp("sealed")
    monkeypatch_module.setenv("KERNAUT_SEALED_HOME", str(folder / "home"))
    return run_notebook(NOTEBOOK, SETTINGS, workspace=folder)


@pytest.fixture(scope="module")
def monkeypatch_module() -> object:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def test_the_report_compares_policies_and_surrogates(result: RunResult) -> None:
    report = result.report
    assert [run["policy"] for run in report["report"]["runs"]] == ["ceiling", "cma_es", "random"]
    means = {run["policy"]: run["raw"]["macro"]["mean"] for run in report["report"]["runs"]}
    assert means["ceiling"] < means["cma_es"]
    assert {row["name"].split()[0] for row in report["surrogates"]} == {"rbf", "dual_warp_fold"}
    assert report["service_exit_code"] == 0
    assert all(probe["passed"] for probe in report["generated"]["probes"])


def test_the_executed_notebook_shows_pictures_and_no_secret(result: RunResult) -> None:
    book = nbformat.read(result.notebook, as_version=4)
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]
    assert len([output for output in outputs if "image/png" in output.get("data", {})]) == 3
    text = result.notebook.read_text(encoding="utf-8")
    secrets = [path.read_text().strip() for path in (result.directory.parents[2] / "home").rglob("*") if path.is_file()]
    assert secrets
    assert not any(secret in text for secret in secrets)


def test_the_board_is_drawn_with_intervals_and_tasks(result: RunResult) -> None:
    book = nbformat.read(result.notebook, as_version=4)
    pages = [
        output.data["text/html"]
        for cell in book.cells
        for output in cell.get("outputs", [])
        if "text/html" in output.get("data", {})
    ]
    (board,) = [page for page in pages if "queries an episode" in page]
    assert board.count("data:image/png") == 6 and "95 % intervals" in board
