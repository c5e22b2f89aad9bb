"""The evaluator_evolution notebook at a small size, through the headless runner."""

from __future__ import annotations

from pathlib import Path

from kernaut.plugins import bundled
from kernaut.runs.notebook import run_notebook


def test_runs_are_measured_and_replayed(tmp_path: Path) -> None:
    result = run_notebook(
        bundled("notebooks", "evaluator_evolution.ipynb"), {"runs": 1, "calls": 6}, workspace=tmp_path
    )
    report = result.report
    assert set(report["result"]["electorates"]) == {"train", "unseen", "transfer"}
    assert report["result"]["summary"]["runs"] == 1
    assert report["replay"]["verdicts_changed"] == 0
    assert report["studies"]["criteria"] is not None
