from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kernaut.evaluation import baselines
from tests.kernaut.cli.conftest import Run


@pytest.fixture
def table(tmp_path: Path) -> Path:
    x = np.linspace(0.0, 3.0, 14)
    rows = ["time,level", *(f"{a},{b}" for a, b in zip(x, np.sin(4.0 * x), strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(rows), encoding="utf-8")
    return tmp_path / "t.csv"


def test_the_eight_are_tuned_the_likeliest_first(run: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "STARTS", 1)
    result = run("baselines", "--data", table, "--target", "level", "--workers", 1)
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    found = report["baselines"]
    assert {row["kernel"]["kind"] for row in found} == set(baselines.KINDS)
    likelihoods = [row["log_marginal_likelihood"] for row in found]
    assert likelihoods == sorted(likelihoods, reverse=True)
    assert found[-1]["kernel"]["kind"] == "linear"  # a sine is no line
    assert (report["rows"], report["columns"]) == (14, ["time"])


def test_bad_tables_are_one_line(refused: Callable[..., str], table: Path, tmp_path: Path) -> None:
    assert "target column of time, level" in refused("baselines", "--data", table)
    assert "No such file" in refused("baselines", "--data", tmp_path / "none.csv", "--target", "y")
    assert "--data" in refused("baselines")
