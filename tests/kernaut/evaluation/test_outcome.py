from __future__ import annotations

import pickle

import pytest

from kernaut.errors import FitError, InputError, KernautError, ProgramRefused, SandboxFailure
from kernaut.evaluation.outcome import Outcome, failure, family_means, mean_crps, mean_score, penalized

GOOD = Outcome("a:1", "a", "scored", {"crps": 0.5, "coverage95": 0.9}, {"condition": 10.0})
BETTER = Outcome("b:1", "b", "scored", {"crps": 0.1, "coverage95": 0.8}, {"condition": 20.0})
BAD = Outcome("b:2", "b", "crashed", reason="signal 11")


@pytest.mark.parametrize(
    "parts",
    [
        {"state": "scored"},
        {"state": "scored", "scores": {"crps": 1.0}, "reason": "but"},
        {"state": "failed", "scores": {"crps": 0.0}, "reason": "it failed"},
        {"state": "timed out"},
    ],
)
def test_scores_if_and_only_if_scored(parts: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="Expected scores without reason when scored"):
        Outcome("a:1", "a", **parts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (SandboxFailure("timed out", "2 s"), "timed out"),
        (SandboxFailure("crashed", "signal"), "crashed"),
        (SandboxFailure("refused", "open"), "refused"),
        (ProgramRefused("no getattr"), "refused"),
        (FitError("not definite"), "failed"),
        (InputError("dimension"), "failed"),
    ],
)
def test_each_error_has_its_state(error: KernautError, state: str) -> None:
    outcome = failure("a:1", "a", error)
    assert (outcome.state, outcome.reason, outcome.scores) == (state, error.message, None)


def test_penalties_enter_means_only() -> None:
    outcomes = [GOOD, BETTER, BAD]
    assert penalized(outcomes, "crps", 2.0) == [0.5, 0.1, 2.0]
    assert mean_crps(outcomes) == pytest.approx(2.6 / 3)
    assert mean_score(outcomes, "crps", 2.0) == mean_crps(outcomes)
    assert mean_score(outcomes, "coverage95") == pytest.approx(0.85)
    assert mean_score([BAD], "coverage95") is None
    assert mean_score([], "crps", 2.0) is None
    assert family_means(outcomes, "crps", 2.0) == {"a": 0.5, "b": pytest.approx(1.05)}
    with pytest.raises(ValueError, match="at least one outcome"):
        mean_crps([])


def test_json_has_scores_or_a_reason() -> None:
    assert GOOD.to_json() == {"episode": "a:1", "family": "a", "crps": 0.5, "coverage95": 0.9, "condition": 10.0}
    assert BAD.to_json() == {"episode": "b:2", "family": "b", "state": "crashed", "reason": "signal 11"}
    rollout = Outcome("a:1", "a", "scored", {"regret_auc": 0.5}, {}, curve=(0.75, 0.25))
    assert rollout.to_json()["regret"] == [0.75, 0.25]


def test_outcomes_cross_processes() -> None:
    assert pickle.loads(pickle.dumps([GOOD, BAD])) == [GOOD, BAD]
