from __future__ import annotations

from typing import Any

import pytest

from kernaut.evaluation.paired import paired_tests
from kernaut.report.breakdown import failure_table, group_table, means_table, paired_table


@pytest.fixture
def report(benchmark_report: dict[str, Any]) -> dict[str, Any]:
    """The made-up report with the remaining means, unequal everywhere."""
    for place, entry in enumerate(benchmark_report["candidates"]):
        for split in entry["splits"].values():
            split["predictive"] |= {"mean_nlpd": 1.1 + place, "mean_rmse": 0.3 + place, "coverage95": 0.9 - place / 10}
    return benchmark_report


def test_means_stand_best_first_with_nmse_where_there_is_one(report: dict[str, Any]) -> None:
    columns, rows = means_table(report, "validation")
    assert columns == ("kernel", "origin", "CRPS", "95 % interval", "NLPD", "RMSE", "coverage")
    assert rows[0] == ["name_bb", "archive", 0.52, "0.1000 to 0.9000", 2.1, 1.3, 0.8]
    assert [row[0] for row in rows] == ["name_bb", "name_aa", "name_cc"]
    report["candidates"][0]["splits"]["validation"]["predictive"]["nmse"] = 0.44
    columns, rows = means_table(report, "validation")
    assert columns[-1] == "NMSE"
    assert [row[-1] for row in rows] == [None, 0.44, None]
    for place, entry in enumerate(report["candidates"]):
        entry["splits"]["validation"]["bo"] = {"regret_auc": 0.6 + place, "final_regret": 0.5 + place}
    columns, rows = means_table(report, "validation")
    assert columns[-3:] == ("NMSE", "regret AUC", "final regret")
    assert [row[-2:] for row in rows] == [[1.6, 1.5], [0.6, 0.5], [2.6, 2.5]]


def test_groups_hold_failures_at_their_penalty(report: dict[str, Any]) -> None:
    columns, rows = group_table(report, "test", lambda name, family: family, "family")
    found = {row[0]: dict(zip(columns[1:], row[1:], strict=True)) for row in rows}
    assert columns[0] == "kernel, by family"
    assert found["name_bb"] == {"levy": pytest.approx(0.61), "branin": pytest.approx(0.68)}
    assert found["name_cc"]["branin"] == pytest.approx((0.57 + 2.0) / 2)
    assert [row[0] for row in rows] == ["name_bb", "name_aa", "name_cc"]
    columns, _ = group_table(report, "test", lambda name, family: name.split("-")[1])
    assert sorted(columns[1:]) == ["0", "1"]


def test_pairs_are_the_same_episodes_whatever_failed(report: dict[str, Any]) -> None:
    columns, rows = paired_table(report, "test", "bb")
    own, failed = [0.55, 0.81, 0.50, 0.72], [0.57, 2.0, 0.51, 0.75]  # branin 0, 1, levy 0, 1
    (expected,) = [t for t in paired_tests(own, [("a", [0.70, 0.91, 0.60, 0.80]), ("c", failed)]) if t.name == "c"]
    found = {row[0]: row for row in rows}
    assert columns == ("against", "mean difference", "95 % interval", "p", "p after Holm")
    assert found["name_cc"][1] == pytest.approx(expected.difference.mean)
    assert found["name_cc"][3:] == pytest.approx([expected.p, expected.adjusted])
    assert [row[0] for row in rows] == ["name_aa", "name_cc"]  # the closest first


def test_failures_have_their_reasons(report: dict[str, Any]) -> None:
    columns, rows = failure_table(report)
    assert columns == ("kernel", "split", "episode", "state", "reason")
    assert rows == [["name_cc", "test", "branin:seed-1", "failed", "no"]]
