from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kernaut.search import reference_table

Run = Callable[..., Any]


def test_the_table_is_printed_and_the_report_written(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def made(benchmark: str, options: Any, split: str, **words: Any) -> dict[str, Any]:
        asked.update(benchmark=benchmark, options=options, split=split, **words)
        words["told"]("a part")
        words["done"]("grid", 3, 3)
        section = {"mean_crps": 0.4, "mean_nlpd": 1.0, "mean_rmse": 0.5}
        return {"candidates": [{"name": "rbf", "splits": {split: {"predictive": section}}}]}

    monkeypatch.setattr(reference_table, "reference_report", made)
    result = run("references", "greenhouse", "--episodes-per-family", 2, "--workers", 1, "--out", "r.json")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[1].split() == ["rbf", "0.4000", "1.0000", "0.5000"]
    assert "a part" in result.stderr
    assert "grid: 3 of 3" in result.stderr
    assert (asked["benchmark"], asked["split"], asked["per_family"], asked["options"]) == (
        "greenhouse",
        "validation",
        2,
        {},
    )


def test_an_interrupted_table_says_how_it_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **words: Any) -> dict[str, Any]:
        raise KeyboardInterrupt

    monkeypatch.setattr(reference_table, "reference_report", interrupted)
    result = run("references", "greenhouse", "--split", "test", "--archive", "r.sqlite")
    assert result.exit_code == 130
    assert "resume with: kernaut references greenhouse --split test --archive r.sqlite" in result.stderr
    assert run("references", "greenhouse").stderr.strip() == "interrupted"


def test_bad_requests_are_refused(refused: Callable[..., str]) -> None:
    assert "Expected validation for glucose, whose test stays hidden" in refused(
        "references", "glucose", "--split", "test"
    )
    assert "Expected a benchmark of" in refused("references", "gases")
    assert "options that benchmark bbo takes. Got ['data']." in refused("references", "bbo", "--data", "x")
    text = refused("references", "greenhouse", "--chembench-root", "x")
    assert "Got ['chembench_root']." in text
    assert "Expected a file that can be written" in refused("references", "bbo", "--out", "no/where.json")
    assert "Expected a checkout of" in refused("references", "enzymes", "--chembench-root", "/nowhere")
