"""The five benchmark notebooks at their smallest, through the headless runner: their reports, their tables, their pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import numpy as np

from kernaut.episodes.greenhouse import SEEN, UNSEEN
from kernaut.episodes.records import format_record, write_records
from kernaut.plugins import bundled
from kernaut.program.program import load_candidate
from kernaut.runs.notebook import RunResult, run_notebook

PICTURES = {"bbo": 8, "enzyme": 8, "greenhouse": 7, "glucose": 7, "custom": 4}
"""Forecasts, decompositions, residuals and calibration; the custom notebook has one forecast a family and no decomposition."""


def short_records(folder: Path) -> str:
    """Six records of 268 months with a trend, a year and a bend, so that windows are short."""
    months = np.arange(268)
    files = {}
    for place, gas in enumerate((*SEEN, *UNSEEN)):
        values = 300 + place + 0.1 * months * (1 + 0.2 * place) + np.sin(2 * np.pi * months / 12)
        values += 0.001 * (place - 2) * np.maximum(months - 150, 0) ** 1.5
        rows = [(2000 + m // 12, m % 12 + 1, f"{value:.4f}") for m, value in zip(months, values, strict=True)]
        files[gas] = ("ppm", format_record(rows))
    write_records(folder / "records", files, "made up")
    return str(folder / "records")


def sparse_patients(folder: Path) -> str:
    """The bundled exchange file with every fourth reading."""
    record = json.loads(bundled("data", "glucose", "training.json").read_text())
    for patient in record.values():
        for episode in patient["training"]:
            episode |= {name: episode[name][::4] for name in ("times_min", "cgm_mg_dl")}
    (folder / "sparse.json").write_text(json.dumps(record))
    return str(folder / "sparse.json")


def run(name: str, folder: Path, **settings: Any) -> tuple[RunResult, str]:
    """Execute a notebook; its result, and the text of everything it showed."""
    result = run_notebook(bundled("notebooks", f"{name}_benchmark.ipynb"), settings, workspace=folder)
    book = nbformat.read(result.notebook, as_version=4)
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == PICTURES[name]
    assert all(len(output["metadata"]["image/png"]["alt"]) > 20 for output in pictures)
    shown = [output["data"]["text/markdown"] for output in outputs if "text/markdown" in output.get("data", {})]
    return result, "\n".join([*shown, *(output.get("text", "") for output in outputs)])


def checked(report: dict[str, Any], split: str, families: int) -> dict[str, Any]:
    """What holds for every benchmark's report; the program's own entry comes back."""
    entries = {entry["candidate_id"]: entry for entry in report["benchmark"]["candidates"]}
    (own,) = [entry for entry in entries.values() if entry["origin"] == "file"]
    assert own["name"] == report["program"]["name"]
    section = own["splits"][split]["predictive"]
    assert len(section["failures"]) == 0
    assert len({row["family"] for row in section["episodes"]}) == families
    rows = report["summary"]["rows"]
    assert [row[2] for row in rows] == sorted(row[2] for row in rows)
    assert {row[0] for row in rows} == {entry["name"] for entry in entries.values()}
    assert f"CRPS {section['mean_crps']:.4f} on {split}" in report["summary"]["lines"][0]
    return own


def test_black_box_optimization(tmp_path: Path) -> None:
    example = bundled("examples", "candidates", "dual_warp_fold.json")
    result, text = run("bbo", tmp_path, episodes=1, bo_steps=1, candidate_file=str(example), split="train")
    own = checked(result.report, "train", 5)
    assert "regret AUC | final regret" in text.replace("**", "")
    assert own["candidate_id"] == load_candidate(example).id
    assert 0.0 < own["splits"]["train"]["bo"]["regret_auc"] <= 1.0
    assert "p after Holm" in text
    assert "| kernel, by family |" in text
    assert (result.directory / "calibration.svg").stat().st_size > 1000


def test_enzymes(tmp_path: Path) -> None:
    result, text = run("enzyme", tmp_path, episodes=1)
    own = checked(result.report, "validation", 10)
    references = [
        e["splits"]["validation"]["predictive"]["mean_crps"]
        for e in result.report["benchmark"]["candidates"]
        if e is not own
    ]
    assert own["splits"]["validation"]["predictive"]["mean_crps"] < min(references)  # rate laws, even untuned
    assert "its numbers are not ChemBench's" in text
    assert "c9_noncompetitive_inhibition" in text


def test_greenhouse(tmp_path: Path) -> None:
    result, text = run("greenhouse", tmp_path, episodes=2, data=short_records(tmp_path))
    checked(result.report, "validation", 3)
    assert "forward" in text
    assert "reversed" in text
    digests = result.report["benchmark"]["protocol"]["options"]["greenhouse"]["records"]
    assert len(set(digests.values())) == 6


def test_glucose(tmp_path: Path) -> None:
    result, text = run("glucose", tmp_path, episodes=1, data=sparse_patients(tmp_path))
    own = checked(result.report, "validation", 10)
    assert own["splits"]["validation"]["predictive"]["nmse"] > 0.0
    assert "NMSE" in text
    assert "passive" in text


def test_a_benchmark_of_ones_own(tmp_path: Path) -> None:
    result, text = run("custom", tmp_path, episodes=1)
    assert len(result.report["outcomes"]) == 2
    assert {outcome["family"] for outcome in result.report["outcomes"]} == {"slow", "fast"}
    assert all(0.0 < outcome["crps"] < 1.0 for outcome in result.report["outcomes"])
    assert result.report["best"] in text
    x = np.linspace(0.0, 1.0, 14)
    records = [
        {
            "split": split,
            "family": family,
            "fit_x": np.stack([x[:9], x[:9] ** 2], axis=1).tolist(),
            "fit_y": np.sin(place + 4.0 * x[:9]).tolist(),
            "query_x": np.stack([x[9:], x[9:] ** 2], axis=1).tolist(),
            "query_y": np.sin(place + 4.0 * x[9:]).tolist(),
        }
        for place, (split, family) in enumerate([("train", "a"), ("validation", "a"), ("validation", "b"), ("train", "b")])
    ]
    (tmp_path / "mine.json").write_text(json.dumps(records))
    mine, _ = run("custom", tmp_path, episodes=1, file=str(tmp_path / "mine.json"))
    assert [outcome["episode"] for outcome in mine.report["outcomes"]] == ["a:validation-0", "b:validation-0"]
    assert mine.report["digest"] != result.report["digest"]
