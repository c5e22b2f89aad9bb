"""Charts of a sealed report."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kernaut.errors import InputError
from kernaut.report.sealed_charts import difficulty_chart, learning_chart, policy_chart


def run(policy: str, value: float, **options: Any) -> dict[str, Any]:
    means = {
        "micro": {"mean": value, "interval": [value - 0.1, value + 0.2]},
        "macro": {"mean": value + 0.01, "interval": [value - 0.1, value + 0.2]},
        "families": {f: {"mean": value + k / 50, "interval": [0, 1]} for k, f in enumerate(("haar", "loss"))},
    }
    curves = {f: {"curve": [2 * value, value + k], "auc": value} for k, f in enumerate(("haar", "loss"))}
    return {
        "policy": policy,
        "options": options,
        "raw": means,
        "clipped": means,
        "auc_queries": {"families": curves, "macro": value},
    }


REPORT = {"runs": [run("random", 0.97), run("ceiling", 0.02), run("bo", 0.4, kernel={"kind": "rbf"})]}


def test_policies_are_ordered_and_said_in_words() -> None:
    picture = policy_chart(REPORT)
    assert picture.alt.endswith("ceiling 0.030; bo (rbf) 0.410; random 0.980.")
    assert picture.png.startswith(b"\x89PNG")
    assert "lower is better" in json.dumps(picture.spec)
    with pytest.raises(InputError, match="raw or clipped"):
        policy_chart(REPORT, "cut")


def test_learning_curves_have_one_panel_a_family() -> None:
    picture = learning_chart(REPORT)
    assert "haar, loss" in picture.alt and "ceiling area 0.020" in picture.alt
    assert len(picture.png) > 5000


def test_difficulty_needs_floor_and_ceiling() -> None:
    assert "floor on haar 0.970" in difficulty_chart(REPORT).alt
    assert "ceiling on loss 0.040" in difficulty_chart(REPORT).alt
    with pytest.raises(InputError, match="ceiling"):
        difficulty_chart({"runs": REPORT["runs"][:1]})


def test_nothing_calibrated_is_said() -> None:
    with pytest.raises(InputError, match="calibrated"):
        policy_chart({"runs": [{"policy": "x", "raw": None, "options": {}}]})
