from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernaut.errors import InputError
from kernaut.report.comparison import COLUMNS, compare, episode_scores


def test_references_come_best_first_and_failures_count(benchmark_report: dict[str, Any]) -> None:
    found = compare(benchmark_report, "bb")
    assert [row.candidate_id for row in found.references] == ["aa", "cc"]  # cc: 0.9575 with its failure at 2.0
    assert found.best_reference.test_crps == pytest.approx(0.7525)
    assert found.differences[0].mean == pytest.approx(np.mean([0.5 - 0.6, 0.55 - 0.7, 0.72 - 0.8, 0.81 - 0.91]))
    assert found.differences[1].mean == pytest.approx(np.mean([0.5 - 0.51, 0.55 - 0.57, 0.72 - 0.75, 0.81 - 2.0]))
    assert found.differences[1].episodes == 4
    assert found.beats_every_reference
    assert "Beats every fixed reference, the interval to each below 0: yes." in found.sentence()
    assert found.program.regret_auc == pytest.approx(0.752)


def test_pairs_go_by_name_not_by_place(benchmark_report: dict[str, Any]) -> None:
    expected = compare(benchmark_report, "bb")
    benchmark_report["candidates"][0]["splits"]["test"]["predictive"]["episodes"].reverse()
    found = compare(benchmark_report, "bb")
    assert found.differences == expected.differences


def test_one_reference_that_is_not_beaten_is_enough_for_no(benchmark_report: dict[str, Any]) -> None:
    for outcome in benchmark_report["candidates"][2]["splits"]["test"]["predictive"]["episodes"]:
        outcome["crps"] -= 0.4
    found = compare(benchmark_report, "bb")
    assert found.differences[1].lower < 0.0 < found.differences[1].upper
    assert not found.beats_every_reference
    assert found.sentence().endswith("no.")


def test_every_form_has_the_same_numbers(benchmark_report: dict[str, Any]) -> None:
    found = compare(benchmark_report, "bb")
    record = found.to_json()
    assert record["columns"] == list(COLUMNS)
    assert record["rows"][0] == ["name_bb", 0.52, pytest.approx(0.645), "0.5450 to 0.8450", pytest.approx(0.752)]
    assert "0.6450" in found.to_text()
    assert "**0.6450**" in found._repr_markdown_()


def test_a_failed_episode_has_its_penalty(benchmark_report: dict[str, Any]) -> None:
    assert sorted(episode_scores(benchmark_report["candidates"][2], "test").values()) == [0.51, 0.57, 0.75, 2.0]


def test_a_report_without_the_program_or_a_split_is_refused(benchmark_report: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="zz"):
        compare(benchmark_report, "zz")
    del benchmark_report["protocol"]["splits"]["test"]
    with pytest.raises(InputError, match="split test"):
        compare(benchmark_report, "bb")
