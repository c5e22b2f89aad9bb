from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from kernaut.plugins import bundled

Run = Callable[..., Any]
EXAMPLE = bundled("examples", "candidates", "gas_trend_year.json")


def test_a_report_on_validation_windows(run: Run) -> None:
    result = run("--quiet", "ts-benchmark", "--split", "validation", "--candidate-file", EXAMPLE, "--workers", 1)
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    options = report["protocol"]["options"]["greenhouse"]
    assert options["horizon_months"] == 48
    assert len(options["records"]) == 6
    assert "may share months" in options["overlap"]
    names = {entry["name"] for entry in report["candidates"]}
    assert {"gas_trend_year", "linear"} <= names
    assert not any("bo" in entry["splits"]["validation"] for entry in report["candidates"])


def test_bad_horizons_are_refused(refused: Callable[..., str]) -> None:
    assert "--horizon-months from 1 to 1000000. Got 0" in refused("ts-benchmark", "--horizon-months", 0)
    assert "216 + 200 months" in refused("ts-benchmark", "--horizon-months", 200, "--split", "train")
    assert "1 to 999" in refused("ts-benchmark", "--episodes-per-family", 1000)
    assert "manifest.json" in refused("ts-run", "--data", "nowhere")
