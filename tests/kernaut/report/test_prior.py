from __future__ import annotations

import numpy as np

from kernaut.kernels.library import base_kernel
from kernaut.report.prior import prior_draws, prior_picture


def test_draws_have_the_kernel_s_covariance() -> None:
    kernel = base_kernel({"kind": "rbf", "lengthscale": 0.4, "variance": 2.5})
    points = np.array([[0.1, 0.3], [0.2, 0.9], [0.7, 0.4]])
    draws = prior_draws(kernel, points, 40_000, seed=3)
    distance = ((points[:, None] - points[None]) ** 2).sum(-1)
    expected = 2.5 * np.exp(-distance / (2 * 0.4**2))
    assert np.abs(draws.T @ draws / len(draws) - expected).max() < 0.08
    assert np.abs(draws.mean(0)).max() < 0.04


def test_equal_noise_gives_equal_functions_whatever_the_order() -> None:
    kernel = base_kernel({"kind": "matern52", "lengthscale": 0.3})
    points = np.linspace(0, 1, 20)[:, None]
    assert np.array_equal(prior_draws(kernel, points, 3), prior_draws(kernel, points, 3))
    assert not np.array_equal(prior_draws(kernel, points, 3), prior_draws(kernel, points, 3, seed=1))


def test_a_picture_names_every_kernel() -> None:
    kernels = [(kind, base_kernel({"kind": kind, "lengthscale": 0.5})) for kind in ("rbf", "linear")]
    picture = prior_picture(kernels)
    assert "rbf and linear" in picture.alt
    assert picture.size[0] > 600
    assert picture.png == prior_picture(kernels).png
