"""Greenhouse scores: the published values, and agreement with the scores of single windows."""

from __future__ import annotations

import numpy as np

from kernaut.episodes.greenhouse import GreenhouseGases
from kernaut.evaluation.outcome import family_means, mean_crps
from kernaut.evaluation.prefix_scoring import score_prefixes
from kernaut.evaluation.scoring import score_predictive
from kernaut.fitting.prefixes import PrefixGroup, stack_episodes
from kernaut.kernels.library import base_kernel

RBF = base_kernel({"kind": "rbf", "lengthscale": 0.5})
GASES = GreenhouseGases()


def test_published_validation_value() -> None:
    outcomes = score_predictive(RBF, GASES.episodes("validation", 10))
    assert round(mean_crps(outcomes), 4) == 0.0860


def test_published_test_values() -> None:
    outcomes = score_predictive(RBF, GASES.episodes("test", 30))
    assert round(mean_crps(outcomes), 4) == 0.2046
    means = family_means(outcomes, "crps", 2.0)
    assert {gas: round(value, 4) for gas, value in means.items()} == {"sf6": 0.0264, "cfc12": 0.2677, "cfc11": 0.3197}


def test_shared_factors_give_the_numbers_of_single_windows() -> None:
    episodes = GreenhouseGases(minimum=110, horizon=20).episodes("train", 2)[4:]
    groups = stack_episodes(episodes)
    alone = [single for group in groups if isinstance(group, PrefixGroup) for single in group.alone()]
    fast, slow = score_predictive(RBF, groups), score_predictive(RBF, alone)
    for one, two in zip(fast, slow, strict=True):
        assert one.episode == two.episode
        assert (one.scores or {}).keys() == (two.scores or {}).keys()
        np.testing.assert_allclose(list((one.scores or {}).values()), list((two.scores or {}).values()), rtol=1e-7)
        np.testing.assert_allclose(list((one.fit or {}).values()), list((two.fit or {}).values()), rtol=1e-5)


def test_doubtful_matrices_are_fitted_one_by_one() -> None:
    huge = base_kernel({"kind": "rbf", "lengthscale": 0.5, "variance": 1e9})
    episodes = GreenhouseGases(minimum=110, horizon=20).episodes("train", 1)[2:]
    (group,) = stack_episodes(episodes)
    assert isinstance(group, PrefixGroup)
    assert score_prefixes(huge, group) is None
    assert score_predictive(huge, episodes) == score_predictive(huge, group.alone())
