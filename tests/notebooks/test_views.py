"""The notebooks with widgets, run headless at smoke size: their results, and pictures where the widgets would be, in the executed copy as HTML too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbconvert import HTMLExporter

from kernaut.plugins import bundled
from kernaut.runs.notebook import RunResult, run_notebook
from kernaut.runs.parameters import notebook_parameters

NAMES = ("tour", "kernel_playground", "inspect_archive", "episode_fits", "runs")
TWO_MEGABYTES = 2_000_000


def run(name: str, folder: Path, **parameters: Any) -> RunResult:
    return run_notebook(bundled("notebooks", f"{name}.ipynb"), parameters, workspace=folder)


def require_pictures(result: RunResult, least: int) -> None:
    """No errors, no live widgets, at least so many pictures with words, and all of that in its HTML."""
    book = nbformat.read(result.notebook, as_version=4)
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]
    assert not [output for output in outputs if "application/vnd.jupyter.widget-view+json" in output.get("data", {})]
    assert result.notebook.stat().st_size < TWO_MEGABYTES
    page, _ = HTMLExporter(template_name="classic").from_notebook_node(book)
    pictures = page.count("data:image/png;base64,")
    assert pictures >= least, f"{pictures} pictures"
    assert page.count("<img alt=") + page.count('alt="') >= least


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_notebook_is_clean(name: str) -> None:
    path = bundled("notebooks", f"{name}.ipynb")
    book = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert book["metadata"]["kernelspec"]["name"] == "python3"
    assert notebook_parameters(path)


def test_the_playground_shows_that_samples_are_no_proof(tmp_path: Path) -> None:
    result = run("kernel_playground", tmp_path, dimension=2)
    report = result.report
    assert report["sampled tiers"] == {"gaussian": "T1", "far_bump": "T1", "hard_edge": "T1"}
    lowest = report["smallest eigenvalues"]
    assert lowest["gaussian"] > -1e-8 and lowest["far_bump"] < -0.1 and lowest["hard_edge"] < -0.1
    assert set(report["tiers"].values()) == {"T1", "T2"} and report["tiers"]["unverified"] == "T1"
    assert report["task correlations"][0][1] > 0.5 > 0.0 > report["task correlations"][0][2]
    require_pictures(result, 10)


def test_the_tour_ends_with_a_kernel_and_its_archive_can_be_inspected(tmp_path: Path) -> None:
    result = run("tour", tmp_path, runs=1)
    report = result.report
    assert report["message"] == "" and report["tier"] == "T2"
    ((name, crps),) = report["summary"]["rows"]
    assert 0.0 < crps < 2.0 and set(report["scores"]) == {name, "matern52-lengthscale-0.5"}
    require_pictures(result, 5)
    archive = result.directory / report["files"]["archive"]
    looked = run("inspect_archive", tmp_path, archive=str(archive))
    assert looked.report["programs"] == 1 and looked.report["messages"] == ("", "", "")
    assert name in looked.report["summary"]["lines"][1]
    require_pictures(looked, 3)


def test_fits_of_an_episode_are_scored(tmp_path: Path) -> None:
    result = run("episode_fits", tmp_path, family="levy", kernels=["rbf-lengthscale-0.5"])
    assert result.report["message"] == "" and result.report["episode"].startswith("levy")
    assert {row[0] for row in result.report["summary"]["rows"]} == {"dual_warp_fold", "rbf-lengthscale-0.5"}
    require_pictures(result, 4)
    listed = run("runs", tmp_path, notebook="episode_fits")
    assert listed.report["runs"] == 1
    assert (listed.directory / "compare-episode_fits.html").is_file()
