from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from kernaut.scoring.predictive import (
    coverage,
    crps_gaussian,
    crps_gaussian_tensor,
    interval_width,
    nlpd_gaussian,
    nmse,
    predictive_scores,
    rmse,
)

MEAN = np.array([[0.3, -1.2, 2.0], [0.0, 0.7, -0.4]])
SD = np.array([[0.5, 2.0, 0.1], [1.3, 0.02, 0.9]])
TARGET = np.array([[0.1, 1.5, 2.1], [-3.0, 0.71, 1.0]])


def test_crps_is_the_integral_it_stands_for() -> None:
    scores = crps_gaussian(MEAN, SD, TARGET)
    for index in np.ndindex(MEAN.shape):
        mean, sd, target = MEAN[index], SD[index], TARGET[index]
        below = integrate.quad(lambda t, m=mean, s=sd: stats.norm.cdf(t, m, s) ** 2, mean - 40 * sd, target)[0]
        above = integrate.quad(lambda t, m=mean, s=sd: stats.norm.sf(t, m, s) ** 2, target, mean + 40 * sd)[0]
        assert scores[index] == pytest.approx(below + above, rel=1e-6)


def test_crps_has_the_digits_of_the_closed_form() -> None:
    z = (TARGET - MEAN) / SD
    closed = SD * (z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi))
    np.testing.assert_allclose(crps_gaussian(MEAN, SD, TARGET), closed, rtol=1e-14)


def test_tensor_crps_has_the_same_digits_and_true_gradients() -> None:
    tensors = [torch.tensor(a, requires_grad=True) for a in (MEAN, SD, TARGET)]
    np.testing.assert_allclose(
        crps_gaussian_tensor(*tensors).detach().numpy(), crps_gaussian(MEAN, SD, TARGET), rtol=1e-13
    )
    assert torch.autograd.gradcheck(crps_gaussian_tensor, tensors)


def test_nlpd_is_minus_the_log_density() -> None:
    np.testing.assert_allclose(nlpd_gaussian(MEAN, SD, TARGET), -stats.norm.logpdf(TARGET, MEAN, SD), rtol=1e-13)


def test_rmse_and_nmse_reduce_the_last_axis() -> None:
    square = np.array([np.mean((MEAN[i] - TARGET[i]) ** 2) for i in range(2)])
    np.testing.assert_allclose(rmse(MEAN, TARGET), np.sqrt(square))
    np.testing.assert_allclose(nmse(MEAN, TARGET, np.array([2.0, 5.0])), square / [2.0, 5.0])


def test_coverage_and_width_of_the_central_interval() -> None:
    low, high = stats.norm.interval(0.8, MEAN, SD)
    inside = ((low <= TARGET) & (high >= TARGET)).mean(-1)
    np.testing.assert_allclose(coverage(MEAN, SD, TARGET, 0.8), inside)
    np.testing.assert_allclose(interval_width(SD, 0.8), (high - low).mean(-1))
    assert 0.0 < inside.min() < inside.max() < 1.0


def test_coverage_of_draws_from_the_prediction_is_the_level() -> None:
    draws = np.random.default_rng(3).normal(1.5, 0.7, 200_000)
    assert coverage(np.full_like(draws, 1.5), np.full_like(draws, 0.7), draws) == pytest.approx(0.95, abs=0.002)


def test_all_scores_are_means_over_queries() -> None:
    scores = predictive_scores(MEAN, SD, TARGET)
    assert list(scores) == ["crps", "nlpd", "rmse", "coverage95", "width95"]
    np.testing.assert_allclose(scores["crps"], crps_gaussian(MEAN, SD, TARGET).mean(-1))
    np.testing.assert_allclose(scores["nlpd"], nlpd_gaussian(MEAN, SD, TARGET).mean(-1))
    np.testing.assert_allclose(scores["coverage95"], [1.0, 2.0 / 3.0])
    np.testing.assert_allclose(scores["width95"], interval_width(SD, 0.95))
