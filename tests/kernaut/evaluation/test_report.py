from __future__ import annotations

import json

import numpy as np
import pytest

from kernaut.errors import InputError
from kernaut.evaluation.evaluate import Evaluation, Setting, evaluate_all
from kernaut.evaluation.outcome import Outcome
from kernaut.evaluation.report import (
    build_report,
    compare_predictive,
    predictive_section,
    protocol_block,
    require_comparable,
    rollout_section,
    source_digest,
)
from kernaut.evaluation.subject import reference_subject

SUBJECTS = [reference_subject({"kind": "rbf", "lengthscale": scale}, f"rbf-{scale}") for scale in (0.1, 0.5, 1.0)]
SETTINGS = [Setting("bbo", "validation", 1, bo_steps=2, candidates=8), Setting("bbo", "test", 1)]
SCORES = {"crps": 0.5, "nlpd": 1.0, "rmse": 0.8, "coverage95": 0.9, "width95": 3.0}


@pytest.fixture(scope="module")
def evaluations() -> list[list[Evaluation]]:
    return evaluate_all(SUBJECTS, SETTINGS)


def test_candidates_stand_in_the_order_of_their_identifiers(evaluations: list[list[Evaluation]]) -> None:
    report = build_report(protocol_block(SETTINGS), {"validation": 1, "test": 0}, evaluations)
    assert list(report) == ["protocol", "looks", "candidates"]
    ids = [entry["candidate_id"] for entry in report["candidates"]]
    assert ids == sorted(subject.candidate_id for subject in SUBJECTS)
    assert ids != [subject.candidate_id for subject in SUBJECTS]
    entry = report["candidates"][0]
    assert {"name", "origin", "splits"} <= set(entry)
    predictive = entry["splits"]["validation"]["predictive"]
    names = ["mean_crps", "mean_nlpd", "mean_rmse", "coverage95", "mean_width95", "interval", "episodes", "failures"]
    assert list(predictive) == names
    assert predictive["mean_crps"] == pytest.approx(np.mean([e["crps"] for e in predictive["episodes"]]))
    assert predictive["interval"][0] < predictive["mean_crps"] < predictive["interval"][1]
    assert list(entry["splits"]["validation"]["bo"]) == ["regret_auc", "final_regret", "episodes", "failures"]
    assert "bo" not in entry["splits"]["test"]


def test_the_same_work_gives_the_same_bytes(evaluations: list[list[Evaluation]]) -> None:
    def text(rows: list[list[Evaluation]]) -> str:
        return json.dumps(build_report(protocol_block(SETTINGS), {"validation": 0, "test": 0}, rows), allow_nan=False)

    assert text(evaluations) == text(evaluate_all(SUBJECTS, SETTINGS))
    assert text(evaluations) == text(evaluations[::-1])


def test_one_candidate_twice_is_refused(evaluations: list[list[Evaluation]]) -> None:
    with pytest.raises(InputError, match="Expected each candidate once"):
        build_report({}, {}, [evaluations[0], evaluations[1], evaluations[0]])


def test_failures_are_listed_and_penalized() -> None:
    outcomes = [Outcome("a:1", "a", "scored", SCORES, {}), Outcome("a:2", "a", "timed out", reason="2 s")]
    section = predictive_section(outcomes)
    assert section["mean_crps"] == 1.25
    assert section["mean_nlpd"] == 1.5
    assert section["mean_rmse"] == 1.4
    assert section["coverage95"] == 0.9
    assert section["failures"] == [{"episode": "a:2", "family": "a", "state": "timed out", "reason": "2 s"}]
    assert [episode["episode"] for episode in section["episodes"]] == ["a:1"]
    nothing = predictive_section(outcomes[1:])
    assert (nothing["mean_crps"], nothing["coverage95"]) == (2.0, None)


def test_a_failed_rollout_counts_one_more_than_its_steps() -> None:
    good = Outcome("a:1", "a", "scored", {"regret_auc": 0.5, "final_regret": 0.25}, {}, curve=(0.75, 0.25))
    section = rollout_section([good, Outcome("a:2", "a", "crashed", reason="signal")], 8)
    assert section["regret_auc"] == pytest.approx((0.5 + 9) / 2)
    assert section["final_regret"] == pytest.approx((0.25 + 9) / 2)


def test_the_protocol_says_how_it_was_made() -> None:
    block = protocol_block(SETTINGS, selection={"metric": "predictive.mean_crps"}, seeds={"campaign": 5})
    assert block["splits"]["validation"]["episodes_per_family"] == 1
    assert block["splits"]["test"]["families"][0] == "bukin"
    assert block["seeds"]["campaign"] == 5
    assert block["selection"] == {"metric": "predictive.mean_crps"}
    assert set(block["data"]) == {"bbo"}
    assert block["packages"]["torch"]
    assert block["source"] == source_digest()
    json.dumps(block, allow_nan=False)


def test_reports_of_different_protocols_are_not_compared() -> None:
    one = {"protocol": protocol_block(SETTINGS)}
    require_comparable(one, {"protocol": protocol_block(SETTINGS)})
    other = {"protocol": protocol_block([Setting("bbo", "validation", 2, bo_steps=2, candidates=8), SETTINGS[1]])}
    with pytest.raises(InputError, match=r"differ in protocol\.splits\.validation\.episodes_per_family"):
        require_comparable(one, other)


def test_comparison_is_paired_and_penalizes_failures() -> None:
    first = [Outcome(f"a:{i}", "a", "scored", {**SCORES, "crps": 0.5 + 0.01 * i}, {}) for i in range(9)]
    second = [Outcome(f"a:{i}", "a", "scored", {**SCORES, "crps": 0.6 + 0.01 * i}, {}) for i in range(9)]
    result = compare_predictive(first, second)
    assert result["mean"] == pytest.approx(-0.1)
    assert result["upper"] < 0
    broken = [*second[:8], Outcome("a:8", "a", "failed", reason="no")]
    assert compare_predictive(first, broken)["mean"] == pytest.approx((-0.1 * 8 + 0.58 - 2.0) / 9)
    with pytest.raises(InputError, match="same episodes in the same order"):
        compare_predictive(first, second[::-1])
