from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from kernaut.episodes.bbo import BlackBoxOptimization
from kernaut.errors import InputError, SandboxFailure
from kernaut.evaluation.outcome import mean_crps, mean_score
from kernaut.evaluation.scoring import score_predictive, score_rollouts
from kernaut.fitting.group import EpisodeGroup
from kernaut.fitting.rollout import RolloutGroup

BBO = BlackBoxOptimization()


class RBF:
    """A plain kernel that can be told to go wrong."""

    def __init__(self, wrong: Any = None) -> None:
        self.wrong = wrong

    def embed(self, x: Tensor) -> tuple[Tensor, ...]:
        if self.wrong is not None:
            self.wrong(x)
        return (2.0 * x,)

    def cross(self, a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> Tensor:
        return torch.exp(-0.5 * (a[0][..., :, None, :] - b[0][..., None, :, :]).square().sum(-1))

    def diagonal(self, a: tuple[Tensor, ...]) -> Tensor:
        return torch.ones(a[0].shape[:-1], dtype=torch.float64)


def test_outcomes_stand_in_the_order_of_the_episodes() -> None:
    episodes = BBO.episodes("validation", 2)
    outcomes = score_predictive(RBF(), episodes)
    assert [outcome.episode for outcome in outcomes] == [episode.name for episode in episodes]
    assert outcomes == score_predictive(RBF(), EpisodeGroup.stack(episodes))
    assert list(outcomes[0].scores or {}) == ["crps", "nlpd", "rmse", "coverage95", "width95"]
    assert list(outcomes[0].fit or {}) == ["amplitude", "noise", "log_marginal", "condition"]
    json.dumps([outcome.to_json() for outcome in outcomes])
    one = score_predictive(RBF(), episodes[3:4])[0]
    np.testing.assert_allclose(list((one.scores or {}).values()), list((outcomes[3].scores or {}).values()), rtol=1e-9)


def test_mixtures_of_episodes_and_groups_are_refused() -> None:
    episodes = BBO.episodes("validation", 1)
    with pytest.raises(InputError, match="either episodes or stacked groups"):
        score_predictive(RBF(), [*episodes, *EpisodeGroup.stack(episodes)])  # type: ignore[list-item]


def refuse_points_below(limit: float) -> Any:
    def wrong(x: Tensor) -> None:
        if bool((x < limit).any()):
            raise SandboxFailure("failed", "a value is not finite")

    return wrong


def test_one_bad_point_fails_one_episode() -> None:
    episodes = BBO.episodes("validation", 4)
    limit = 1e-3
    lowest = [min(e.fit_inputs.min(), e.query_inputs.min()) for e in episodes]
    outcomes = score_predictive(RBF(refuse_points_below(limit)), episodes)
    sound = score_predictive(RBF(), episodes)
    assert 0 < sum(low < limit for low in lowest) < len(episodes)
    for low, outcome, good in zip(lowest, outcomes, sound, strict=True):
        if low < limit:
            assert (outcome.state, outcome.reason) == ("failed", "a value is not finite")
        else:
            assert outcome.scored
            assert outcome.scores["crps"] == pytest.approx(good.scores["crps"], rel=1e-9)  # type: ignore[index]


@pytest.mark.parametrize("state", ["crashed", "timed out", "refused"])
def test_a_dead_child_is_not_asked_again_for_each_episode(state: Any) -> None:
    calls = []

    def wrong(x: Tensor) -> None:
        calls.append(x)
        raise SandboxFailure(state, "gone")

    groups = EpisodeGroup.stack(BBO.episodes("validation", 3))
    outcomes = score_predictive(RBF(wrong), groups)
    assert {outcome.state for outcome in outcomes} == {state}
    assert len(calls) == len(groups)
    assert mean_crps(outcomes) == 2.0
    rollouts = score_rollouts(RBF(wrong), BBO.rollouts("validation", 1), steps=2, candidates=4)
    assert {outcome.state for outcome in rollouts} == {state}
    assert mean_score(rollouts, "regret_auc", 3.0) == 3.0


def test_matrices_that_cannot_be_fitted_and_predictions_that_are_not_finite() -> None:
    class Negative(RBF):
        def cross(self, a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> Tensor:
            value = super().cross(a, b)
            return -value if value.shape[-1] == value.shape[-2] else value

    class Endless(RBF):
        def diagonal(self, a: tuple[Tensor, ...]) -> Tensor:
            return super().diagonal(a) / 0.0

    episodes = BBO.episodes("train", 1)
    for outcome in score_predictive(Negative(), episodes):
        assert (outcome.state, "positive definite" in (outcome.reason or "")) == ("failed", True)
    for outcome in score_predictive(Endless(), episodes):
        assert (outcome.state, outcome.reason) == ("failed", "a prediction is not finite")


def test_rollouts_are_scored_in_order() -> None:
    tasks = BBO.rollouts("test", 1)
    outcomes = score_rollouts(RBF(), tasks, steps=3, candidates=16)
    assert [outcome.episode for outcome in outcomes] == [task.name for task in tasks]
    for outcome in outcomes:
        assert outcome.scores is not None
        assert len(outcome.curve) == 3
        assert outcome.scores["regret_auc"] == pytest.approx(np.mean(outcome.curve))
        assert outcome.scores["final_regret"] == outcome.curve[-1]
    assert outcomes == score_rollouts(RBF(), RolloutGroup.stack(tasks, 3, 16))


def test_one_bad_point_fails_one_rollout() -> None:
    tasks = [task for task in BBO.rollouts("train", 3) if task.family == "cosine"]
    starts = [np.random.default_rng(task.stream_seed).uniform(size=(20, 8)) for task in tasks]
    limit = sorted(start.min() for start in starts)[0] + 1e-12

    def wrong(x: Tensor) -> None:
        if x.shape[-2] == 20 and bool((x < limit).any()):
            raise SandboxFailure("failed", "a value is not finite")

    outcomes = score_rollouts(RBF(wrong), tasks, steps=1, candidates=4)
    assert [outcome.scored for outcome in outcomes] == [bool(start.min() >= limit) for start in starts]
    assert sum(outcome.scored for outcome in outcomes) == 2
