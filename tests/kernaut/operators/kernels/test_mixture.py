"""The mixture's CRPS against its definition, and weights among kept kernels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from kernaut.operators.kernels.mixture import likelihood_weights, mixture_crps
from kernaut.scoring.predictive import crps_gaussian


def test_one_component_is_the_gaussian_crps() -> None:
    mean, sd, y = np.array([[0.3, -1.0]]), np.array([[0.5, 2.0]]), np.array([0.1, 4.0])
    assert mixture_crps(np.array([1.0]), mean, sd, y) == pytest.approx(crps_gaussian(mean, sd, y[None])[0], rel=1e-12)


def test_agrees_with_the_integral_of_the_squared_distance() -> None:
    weights, mean, sd, y = np.array([0.2, 0.5, 0.3]), np.array([-1.0, 0.4, 2.0]), np.array([0.3, 1.1, 0.7]), 0.9

    def cdf(x: float) -> float:
        return float((weights * norm.cdf(x, mean, sd)).sum())

    exact = quad(lambda x: cdf(x) ** 2, -12, y, limit=200)[0] + quad(lambda x: (cdf(x) - 1) ** 2, y, 14, limit=200)[0]
    assert mixture_crps(weights, mean[:, None], sd[:, None], np.array([y]))[0] == pytest.approx(exact, rel=1e-6)


def test_weights_are_shared_among_the_kept() -> None:
    likelihood = np.array([-1.0, -2.0, 50.0, -np.inf])
    kept = np.array([True, True, False, True])
    weights = likelihood_weights(likelihood, kept)
    assert weights == pytest.approx([1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1)), 0, 0])
    assert likelihood_weights(likelihood, np.zeros(4, dtype=bool)) == pytest.approx([0, 0, 1, 0], abs=1e-12)
    prior = np.array([0.0, 1.0, 1.0, 1.0])
    assert likelihood_weights(likelihood, kept, prior) == pytest.approx([0, 1, 0, 0], abs=1e-12)
