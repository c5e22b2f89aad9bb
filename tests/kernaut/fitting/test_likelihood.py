from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from kernaut.episodes.episode import Episode
from kernaut.errors import FitError
from kernaut.fitting.likelihood import AMPLITUDE_RANGE, NOISE_RANGE, LikelihoodGroup, fit_likelihood, row_loss
from kernaut.kernels.adapters import gram
from kernaut.kernels.library import leaf


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(40, 2))
    y = np.sin(5.0 * x[:, 0]) + 0.4 * rng.normal(size=40)
    return x, (y - y.mean()) / y.std()


def test_the_likelihood_is_that_of_scipy_and_no_other_setting_is_likelier(data: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = data
    matrix = gram(leaf("rbf", lengthscale=0.4), x)
    fit = fit_likelihood(matrix, y)

    def likelihood(amplitude: float, noise: float) -> float:
        return float(multivariate_normal(np.zeros(40), amplitude * matrix + noise * np.eye(40)).logpdf(y))

    assert fit.log_marginal == pytest.approx(likelihood(fit.amplitude, fit.noise), rel=1e-9)
    for factor in (0.97, 1.03):
        assert likelihood(fit.amplitude * factor, fit.noise) < fit.log_marginal
        assert likelihood(fit.amplitude, fit.noise * factor) < fit.log_marginal
    assert 0.05 < fit.noise < 0.6
    assert fit.condition() == pytest.approx(np.linalg.cond(fit.amplitude * matrix + fit.noise * np.eye(40)), rel=1e-6)


def test_predictions_are_those_of_the_textbook(data: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = data
    kernel, new = leaf("rbf", lengthscale=0.4), np.array([[0.2, 0.3], [0.9, 0.1], [1.4, 2.0]])
    fit = fit_likelihood(gram(kernel, x), y)
    cross = gram(kernel, new, x)
    mean, variance = fit.predict(cross, np.ones(3))
    noisy = fit.amplitude * gram(kernel, x) + fit.noise * np.eye(40)
    solved = np.linalg.solve(noisy, fit.amplitude * cross.T)
    assert np.allclose(mean, solved.T @ y)
    assert np.allclose(variance, fit.amplitude + fit.noise - np.einsum("qn,nq->q", fit.amplitude * cross, solved))


def test_the_gradient_is_that_of_the_maximum(data: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = data
    episode = Episode("t", "table", "train", "table", 0, x, y, np.empty((0, 2)), np.empty(0))
    group = LikelihoodGroup.of(0, episode)
    kernel = leaf("rbf", lengthscale=0.4)
    kernel.values.requires_grad_(True)
    row_loss(kernel, group).sum().backward()
    assert kernel.values.grad is not None
    slope = float(kernel.values.grad[kernel.parameter_names.index("lengthscale")])
    ends = []
    for step in (-1e-4, 1e-4):
        with torch.no_grad():
            ends.append(float(row_loss(leaf("rbf", lengthscale=0.4 + step), group)))
    assert slope == pytest.approx((ends[1] - ends[0]) / 2e-4, rel=1e-4)


def test_ranges_hold_and_what_cannot_be_fitted_is_said() -> None:
    rng = np.random.default_rng(1)
    fit = fit_likelihood(np.eye(30), 1e-6 * rng.normal(size=30))
    assert AMPLITUDE_RANGE[0] <= fit.amplitude * (1 + 1e-9)
    assert NOISE_RANGE[0] <= fit.noise * (1 + 1e-9)
    with pytest.raises(FitError):
        fit_likelihood(np.full((3, 3), np.nan), np.ones(3))
    with pytest.raises(FitError):
        fit_likelihood(-1e9 * np.eye(3), np.ones(3))
