"""A sealed report as tables and pictures, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernaut.errors import InputError
from kernaut.report.sealed_view import (
    budget_drawing,
    outcome_table,
    places_of,
    policies_of,
    policy_drawing,
    policy_table,
    require_sealed,
    sealed_report,
)
from tests.kernaut.report.test_sealed_charts import REPORT


def full(report: dict[str, Any]) -> dict[str, Any]:
    """The report with curves over all families and intervals."""
    runs = []
    for run in report["runs"]:
        families = {
            family: {**found, "lower": [v - 0.1 for v in found["curve"]], "upper": [v + 0.3 for v in found["curve"]]}
            for family, found in run["auc_queries"]["families"].items()
        }
        curves = {"macro": families["haar"], "micro": families["loss"]}
        outcomes = {"returned": 9, "timeout": 1}
        runs.append(
            {**run, "outcomes": outcomes, "auc_queries": {"families": families, "macro": 0.5, "curves": curves}}
        )
    return {**report, "runs": runs}


FULL = full(REPORT)


def test_policies_are_ordered_by_the_mean_that_is_asked_for() -> None:
    assert policies_of(FULL) == ["ceiling", "bo (rbf)", "random"]
    rows = policy_table(FULL).rows
    assert rows[0][:5] == ("ceiling", pytest.approx(0.03), "-0.080 to 0.220", 0.02, "-0.080 to 0.220")
    assert rows[0][-1] == 1
    assert outcome_table(FULL).rows[0] == ("ceiling", None, 9, 1)
    twice = {**FULL, "runs": [*FULL["runs"], FULL["runs"][1]]}
    assert policies_of(twice)[:2] == ["ceiling", "ceiling #2"]
    assert "bo (rbf) macro 0.410, micro 0.400" in policy_drawing(FULL).alt


def test_regret_against_the_budget_has_an_interval_a_query_and_whole_queries() -> None:
    assert places_of(FULL) == ["macro", "micro", "haar", "loss"]
    drawn = budget_drawing(FULL, "micro")
    assert drawn.svg.count("<polyline") == 3 + 3 * 2  # a line a policy, an interval a query of each
    assert drawn.svg.count('r="3.2"') == 2 and drawn.svg.count("<polygon") == 4  # circles, squares and triangles
    assert "ceiling from 0.040 to 1.020" in drawn.alt and "95 % intervals" in drawn.alt
    assert ">1.5<" not in drawn.svg and ">2<" in drawn.svg
    one = budget_drawing(FULL, "haar", ["random"])
    assert one.svg.count("<polyline") == 3 and "ceiling" not in one.alt
    with pytest.raises(InputError, match="policies of ceiling"):
        budget_drawing(FULL, "haar", ["nobody"])
    with pytest.raises(InputError, match="macro, micro, haar, loss"):
        budget_drawing(FULL, "nowhere")


def test_a_report_of_an_earlier_version_has_families_alone() -> None:
    drawn = budget_drawing(REPORT, "haar")
    assert drawn.svg.count("<polyline") == 3 and "intervals" not in drawn.alt
    with pytest.raises(InputError, match="earlier version"):
        budget_drawing(REPORT, "macro")


def test_what_is_no_sealed_report_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    with pytest.raises(InputError, match=r"report\.json"):
        sealed_report(path)
    for text, named in (("{", "JSON"), ('{"runs": [{"policy": "a"}]}', "something else"), ('{"runs": []}', "Got none")):
        path.write_text(text)
        with pytest.raises(InputError, match=named):
            sealed_report(path)
    path.write_text(json.dumps({"summary": {}, "report": FULL}))
    assert policies_of(sealed_report(path)) == policies_of(FULL)
    with pytest.raises(InputError, match="something else"):
        require_sealed([1], "a list")
