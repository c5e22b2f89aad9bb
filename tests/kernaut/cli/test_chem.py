from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]


def test_a_report_names_the_oracle_and_holds_the_score(run: Run) -> None:
    words = ("chem-benchmark", "--split", "validation", "--worst-domain-weight", 0.5, "--workers", 1)
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert "its numbers are not ChemBench's" in result.stderr
    report = json.loads(result.stdout)
    assert report["protocol"]["options"]["enzymes"]["oracle"] == "kernaut-embedded"
    assert report["protocol"]["score"] == {"worst_family_weight": 0.5}
    for entry in report["candidates"]:
        section = entry["splits"]["validation"]["predictive"]
        expected = -(section["mean_crps"] + 0.5 * section["worst_family"]["mean_crps"])
        assert section["score"] == pytest.approx(expected)


def test_bad_options_are_refused(refused: Callable[..., str]) -> None:
    assert "Expected a checkout of github.com" in refused("chem-run", "--chembench-root", "/nowhere")
    assert "--train-points from 1 to 1000. Got 0" in refused("chem-benchmark", "--train-points", 0)
    assert "--worst-domain-weight from 0 to 1000000. Got -1.0" in refused("chem-benchmark", "--worst-domain-weight", -1)
    assert "1 to 999" in refused("chem-run", "--episodes-per-domain", 1000)
