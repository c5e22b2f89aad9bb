from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernaut.errors import InputError
from kernaut.runs.comparison import compare_runs, metrics_of
from kernaut.runs.index import FoundRun

SUMMARY = {"columns": ["kernel", "validation CRPS", "test CRPS", "95 % interval", "regret"], "rows": [["a", 0.5, 0.25, "0.2 to 0.3", None]]}  # fmt: skip


def run(folder: Path, number: int, report: dict[str, Any], **parameters: Any) -> FoundRun:
    folder.mkdir()
    (folder / "report.json").write_text(json.dumps(report))
    return FoundRun("tiny", folder, "done", parameters, "", float(number), "")


def test_metrics_carry_the_interval_that_follows_them() -> None:
    found = metrics_of({"summary": SUMMARY})
    assert {name: str(metric) for name, metric in found.items()} == {
        "validation CRPS": "0.5000",
        "test CRPS": "0.2500 (0.2 to 0.3)",
    }
    assert metrics_of({}) == metrics_of({"summary": {"lines": []}}) == {}


def test_what_differs_is_laid_side_by_side(tmp_path: Path) -> None:
    first = run(tmp_path / "1", 1, {"summary": SUMMARY}, seed=0, where="<here>", runs=2)
    second = run(tmp_path / "2", 2, {}, seed=1, where="<here>", runs=[2, 3])
    found = compare_runs([first, second])
    assert found.columns == ("run", "state", "seed", "runs", "validation CRPS", "test CRPS")
    assert found.rows[0] == ("tiny/1", "done", "0", "2", "0.5000", "0.2500 (0.2 to 0.3)")
    assert found.rows[1] == ("tiny/2", "done", "1", "[2, 3]", None, None)
    assert found.equal == {"where": "<here>"}
    assert "&lt;here&gt;" in found.html() and "<here>" not in found.html()
    with pytest.raises(InputError, match="one run"):
        compare_runs([])
