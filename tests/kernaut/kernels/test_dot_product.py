"""Linear, polynomial and random-feature leaves against double loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from kernaut.errors import InputError
from kernaut.kernels.adapters import gram
from kernaut.kernels.library import base_kernel, leaf

OMEGA, BIAS = [[0.4, -1.2], [2.2, 0.3], [0.9, 0.8]], [0.1, 2.0, -0.7]


def points() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(8)
    return rng.uniform(-1, 1, (5, 2)), rng.uniform(-1, 1, (3, 2))


def test_linear_and_polynomial_are_their_formulas() -> None:
    X, Z = points()
    linear = [[1.3 * float(x @ z) / 0.7**2 for z in Z] for x in X]
    np.testing.assert_allclose(gram(leaf("linear", variance=1.3, lengthscale=0.7), X, Z), linear, rtol=1e-12)
    kernel = leaf("polynomial", variance=1.3, lengthscale=0.7, offset=0.4, power=3)
    cubic = [[1.3 * (float(x @ z) / 0.7**2 + 0.4) ** 3 for z in Z] for x in X]
    np.testing.assert_allclose(gram(kernel, X, Z), cubic, rtol=1e-12)


def phi(x: np.ndarray, omega: Any, bias: Any, lengthscale: float) -> list[float]:
    m = len(bias)
    return [
        math.sqrt(2 / m) * math.cos(float(np.dot(w, x)) / lengthscale + b) for w, b in zip(omega, bias, strict=True)
    ]


def test_stored_random_features_are_their_formula() -> None:
    X, Z = points()
    kernel = leaf("rff", variance=1.3, lengthscale=0.7, omega=OMEGA, bias=BIAS)
    expected = [[1.3 * np.dot(phi(x, OMEGA, BIAS, 0.7), phi(z, OMEGA, BIAS, 0.7)) for z in Z] for x in X]
    np.testing.assert_allclose(gram(kernel, X, Z), expected, rtol=1e-11, atol=1e-14)


def test_seeded_random_features_draw_frequencies_then_phases() -> None:
    X, Z = points()
    generator = np.random.default_rng(11)
    omega = generator.standard_normal((40, 2))
    bias = generator.uniform(0, 2 * math.pi, 40)
    kernel = leaf("rff", features=40, seed=11, lengthscale=0.6)
    expected = [[np.dot(phi(x, omega, bias, 0.6), phi(z, omega, bias, 0.6)) for z in Z] for x in X]
    np.testing.assert_allclose(gram(kernel, X, Z), expected, rtol=1e-11, atol=1e-14)
    other = gram(leaf("rff", features=40, seed=12, lengthscale=0.6), X, Z)
    assert np.abs(other - expected).max() > 0.01


def test_many_random_features_approach_the_rbf_kernel() -> None:
    X, Z = points()
    many = gram(leaf("rff", features=8192, seed=1, lengthscale=0.6), X, Z)
    np.testing.assert_allclose(many, gram(leaf("rbf", lengthscale=0.6), X, Z), atol=0.05)


@pytest.mark.parametrize(
    "record",
    [
        {"kind": "linear", "variance": 1.3, "lengthscale": 0.7},
        {"kind": "polynomial", "variance": 1.3, "offset": 0.4, "power": 3},
        {"kind": "rff", "omega": OMEGA, "bias": BIAS, "lengthscale": 0.7},
        {"kind": "rff", "features": 5, "seed": 3, "variance": 1.3},
    ],
)
def test_gradients_are_those_of_finite_differences(record: dict[str, Any]) -> None:
    kernel = base_kernel(record)
    X, Z = (torch.from_numpy(side).requires_grad_() for side in points())
    theta = kernel.values.detach().clone().requires_grad_()

    def covariances(x: torch.Tensor, z: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        form = kernel.form
        return form.cross(form.embed(x, theta), form.embed(z, theta), theta)

    assert torch.autograd.gradcheck(covariances, (X, Z, theta))
    if kernel.low_rank:
        assert torch.autograd.gradcheck(kernel.form.features, (X, theta))


def test_stored_frequencies_refuse_points_of_another_dimension() -> None:
    with pytest.raises(InputError, match=r"Expected points of 2 coordinates, as many as omega has\. Got 3\."):
        gram(leaf("rff", omega=OMEGA, bias=BIAS), np.zeros((1, 3)))
