from __future__ import annotations

import numpy as np
import pytest

from kernaut.episodes.episode import Episode
from kernaut.evaluation.outcome import loss_name, mean_loss
from kernaut.evaluation.scoring import score_predictive
from kernaut.kernels.library import leaf


def table(name: str, seed: int) -> Episode:
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(25, 1))
    y = np.sin(6.0 * x[:, 0])
    return Episode(name, "table", "train", "table", 0, x, (y - y.mean()) / y.std(), np.empty((0, 1)), np.empty(0))


def test_an_episode_without_queries_is_scored_by_its_likelihood() -> None:
    good, bad = (score_predictive(leaf("rbf", lengthscale=s), [table("t", 0)]) for s in (0.3, 30.0))
    assert good[0].scores is not None
    assert good[0].fit is not None
    assert good[0].scores["nlml"] == pytest.approx(-good[0].fit["log_marginal"] / 25)
    assert loss_name(good) == "nlml"
    assert mean_loss(good) < mean_loss(bad)


def test_it_stands_beside_episodes_with_queries() -> None:
    with_queries = Episode("q", "b", "train", "f", 0, np.eye(3), np.array([1.0, -1.0, 0.0]), np.eye(3)[:2], np.zeros(2))
    outcomes = score_predictive(leaf("rbf"), [with_queries, table("t", 1)])
    assert [outcome.episode for outcome in outcomes] == ["q", "t"]
    assert [set(outcome.scores or {}) >= {name} for outcome, name in zip(outcomes, ("crps", "nlml"), strict=True)] == [
        True,
        True,
    ]
