"""Search and elite scores computed by hand from the protocol's formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from kernaut.evaluation.evaluate import Evaluation, Setting
from kernaut.evaluation.outcome import Outcome
from kernaut.evaluation.subject import reference_subject
from kernaut.search.scores import search_scores, yardstick


def _evaluation(
    name: str, crps: Sequence[float | None], aucs: Sequence[float], finals: Sequence[float], condition: float = 1e3
) -> Evaluation:
    predictive = tuple(
        Outcome(f"e{i}", f"f{i // 2}", "failed", reason="no")
        if value is None
        else Outcome(f"e{i}", f"f{i // 2}", "scored", {"crps": value}, {"condition": condition})
        for i, value in enumerate(crps)
    )
    rollouts = tuple(
        Outcome(f"t{i}", "f0", "scored", {"regret_auc": auc, "final_regret": final}, {})
        for i, (auc, final) in enumerate(zip(aucs, finals, strict=True))
    )
    setting = Setting("bbo", "train", 2, bo_steps=3)
    return Evaluation(reference_subject({"kind": "rbf"}, name), setting, predictive, rollouts)


REFERENCES = [
    _evaluation("one", [0.4, 0.8, 1.0, 0.5], [0.9, 0.7], [0.6, 0.8]),
    _evaluation("two", [0.9, 0.9, 0.9, 0.9], [0.5, 0.7], [0.7, 0.9]),
]


def test_the_yardstick_takes_each_measure_from_its_own_best_reference() -> None:
    measure = yardstick(REFERENCES)
    assert measure.name == "one"
    assert measure.loss == (0.4, 0.8, 1.0, 0.5)
    assert dict(measure.family_loss) == pytest.approx({"f0": 0.6, "f1": 0.75})
    assert measure.regret_auc == pytest.approx(0.6)
    assert measure.final_regret == pytest.approx(0.7)


def test_the_elite_score_by_hand() -> None:
    candidate = _evaluation("c", [0.3, 0.8, 0.9, 0.55], [0.5, 0.55], [0.35, 0.7], condition=1e6)
    found = search_scores(candidate, yardstick(REFERENCES), 0.04, threshold=0.08, mode="paper")
    improvement = (0.1 / 0.4 + 0.0 + 0.1 / 1.0 - 0.05 / 0.5) / 4
    stability = 0.01 * (6 - 4)
    novelty = 0.1 * 0.5 * (1 - 5 * improvement)
    worst = (0.75 - 0.725) / 0.75  # f1 is where the candidate's own mean is largest
    auc, final = (0.6 - 0.525) / 0.6, (0.7 - 0.525) / 0.7
    assert found.improvement == pytest.approx(improvement)
    assert found.stability == pytest.approx(stability)
    assert found.novelty_penalty == pytest.approx(novelty)
    assert found.score == pytest.approx(-0.6375 - novelty)
    expected = 0.55 * improvement + 0.30 * auc + 0.10 * final + 0.05 * worst - stability - novelty
    assert found.elite_score == pytest.approx(expected)
    plain = search_scores(candidate, yardstick(REFERENCES), 0.04, threshold=0.08, mode="score")
    assert plain.elite_score == plain.score == found.score


def test_threshold_zero_turns_novelty_off_and_good_programs_pay_nothing() -> None:
    same = _evaluation("c", [0.4, 0.8, 1.0, 0.5], [0.9, 0.7], [0.6, 0.8])
    measure = yardstick(REFERENCES)
    assert search_scores(same, measure, 0.0, threshold=0.0, mode="paper").novelty_penalty == 0.0
    assert search_scores(same, measure, 0.0, threshold=0.08, mode="paper").novelty_penalty == pytest.approx(0.1)
    good = _evaluation("c", [0.3, 0.6, 0.7, 0.35], [0.9, 0.7], [0.6, 0.8])
    assert search_scores(good, measure, 0.0, threshold=0.08, mode="paper").novelty_penalty == 0.0


def test_failures_enter_with_their_penalty_and_without_rollouts_the_elite_score_is_short() -> None:
    failed = _evaluation("c", [None, 0.8, 1.0, 0.5], [], [])
    found = search_scores(failed, yardstick(REFERENCES), 1.0, threshold=0.08, mode="paper")
    assert found.mean_crps == pytest.approx((2.0 + 0.8 + 1.0 + 0.5) / 4)
    assert found.improvement == pytest.approx(-1.6 / 0.4 / 4)
    assert found.elite_score == pytest.approx(found.improvement - 0.01 * max(0.0, math.log10(1e3) - 4))
    assert found.regret_auc is None
