"""Stationary leaves against double loops over their formulas."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gpytorch
import numpy as np
import pytest
import torch

from kernaut.errors import InputError
from kernaut.kernels.adapters import gram
from kernaut.kernels.form import distance
from kernaut.kernels.library import base_kernel, leaf

Pair = Callable[[np.ndarray, np.ndarray], float]


def twin(pair: Pair, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return np.array([[pair(x, z) for z in Z] for x in X])


def radius(x: np.ndarray, z: np.ndarray, scales: Any) -> float:
    return math.sqrt(sum(((a - b) / s) ** 2 for a, b, s in zip(x, z, np.broadcast_to(scales, x.shape), strict=True)))


def wendland(r: float, q: int, dimension: int) -> float:
    j = dimension // 2 + q + 1
    shapes = {
        0: 1.0,
        1: (j + 1) * r + 1,
        2: ((j * j + 4 * j + 3) * r**2 + (3 * j + 6) * r + 3) / 3,
        3: ((j**3 + 9 * j**2 + 23 * j + 15) * r**3 + (6 * j**2 + 36 * j + 45) * r**2 + (15 * j + 45) * r + 15) / 15,
    }
    return max(1.0 - r, 0.0) ** (j + q) * shapes[q]


def mixture(x: np.ndarray, z: np.ndarray, weights: list[float], means: Any, scales: Any, lengthscale: float) -> float:
    total = 0.0
    for weight, mean, scale in zip(weights, means, scales, strict=True):
        part = weight
        for i in range(len(x)):
            t = (x[i] - z[i]) / lengthscale
            mu, sigma = (np.broadcast_to(value, len(x))[i] for value in (mean, scale))
            part *= math.exp(-2 * math.pi**2 * sigma**2 * t**2) * math.cos(2 * math.pi * mu * t)
        total += part
    return total


def matern32(r: float) -> float:
    return (1 + math.sqrt(3) * r) * math.exp(-math.sqrt(3) * r)


def matern52(r: float) -> float:
    return (1 + math.sqrt(5) * r + 5 * r * r / 3) * math.exp(-math.sqrt(5) * r)


MEANS, SCALES = [[0.3, 0.7, 1.2], [1.1, 0.2, 0.5]], [[0.2, 0.4, 0.1], [0.5, 0.3, 0.6]]
RAMP = {"mode": "geometric_ramp", "min": 0.25, "max": 4.0}
CASES: list[tuple[dict[str, Any], Pair]] = [
    (
        {"kind": "rbf", "variance": 1.7, "lengthscale": 0.6},
        lambda x, z: 1.7 * math.exp(-(radius(x, z, 0.6) ** 2) / 2),
    ),
    (
        {"kind": "matern12", "variance": 0.8, "lengthscale": 1.6},
        lambda x, z: 0.8 * math.exp(-radius(x, z, 1.6)),
    ),
    ({"kind": "matern32", "variance": 1.1, "lengthscale": 0.7}, lambda x, z: 1.1 * matern32(radius(x, z, 0.7))),
    ({"kind": "matern52", "variance": 1.2, "lengthscale": 0.5}, lambda x, z: 1.2 * matern52(radius(x, z, 0.5))),
    (
        {"kind": "rq", "variance": 1.3, "lengthscale": 0.7, "alpha": 0.4},
        lambda x, z: 1.3 * (1 + radius(x, z, 0.7) ** 2 / (2 * 0.4)) ** -0.4,
    ),
    (
        {"kind": "periodic", "variance": 1.4, "lengthscale": 0.7, "period": 0.9},
        lambda x, z: (
            1.4
            * math.prod(
                math.exp(-2 * math.sin(math.pi * abs(a - b) / 0.9) ** 2 / 0.7**2) for a, b in zip(x, z, strict=True)
            )
        ),
    ),
    (
        {"kind": "cosine", "variance": 0.7, "lengthscale": 1.1, "period": 0.8},
        lambda x, z: 0.7 * math.prod(math.cos(math.pi * (a - b) / (0.8 * 1.1)) for a, b in zip(x, z, strict=True)),
    ),
    *(
        (
            {"kind": "piecewise_polynomial", "variance": 1.2, "lengthscale": 1.9, "q": q, "dimension": limit},
            lambda x, z, q=q, limit=limit: 1.2 * wendland(radius(x, z, 1.9), q, limit or len(x)),
        )
        for q in range(4)
        for limit in (None, 5)
    ),
    (
        {
            "kind": "spectral_mixture",
            "variance": 1.3,
            "lengthscale": 0.9,
            "weights": [0.4, 1.1],
            "means": MEANS,
            "scales": SCALES,
        },
        lambda x, z: 1.3 * mixture(x, z, [0.4, 1.1], MEANS, SCALES, 0.9),
    ),
    (
        {"kind": "spectral_mixture", "weights": [0.4, 1.1], "means": [0.3, 0.8], "scales": [0.5, 0.2]},
        lambda x, z: mixture(x, z, [0.4, 1.1], [0.3, 0.8], [0.5, 0.2], 1.0),
    ),
    (
        {"kind": "ard_rbf", "variance": 1.7, "lengthscales": [0.3, 1.1, 0.6]},
        lambda x, z: 1.7 * math.exp(-(radius(x, z, [0.3, 1.1, 0.6]) ** 2) / 2),
    ),
    (
        {"kind": "ard_matern32", "lengthscales": RAMP},
        lambda x, z: matern32(radius(x, z, np.geomspace(0.25, 4.0, 3))),
    ),
    ({"kind": "ard_matern52", "lengthscales": 0.4}, lambda x, z: matern52(radius(x, z, 0.4))),
    ({"kind": "ard_matern52", "lengthscale": 0.4}, lambda x, z: matern52(radius(x, z, 0.4))),
]
IDS = [f"{record['kind']}-{index}" for index, (record, _) in enumerate(CASES)]


@pytest.mark.parametrize(("record", "pair"), CASES, ids=IDS)
def test_a_leaf_is_its_formula(record: dict[str, Any], pair: Pair) -> None:
    rng = np.random.default_rng(3)
    X, Z = rng.uniform(-1, 1, (6, 3)), rng.uniform(-1, 1, (4, 3))
    kernel = base_kernel(record)
    np.testing.assert_allclose(gram(kernel, X, Z), twin(pair, X, Z), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(gram(kernel, X), twin(pair, X, X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("record", "pair"), CASES, ids=IDS)
def test_gradients_in_points_and_parameters_are_those_of_finite_differences(record: dict[str, Any], pair: Pair) -> None:
    kernel = base_kernel(record)
    generator = torch.Generator().manual_seed(5)
    x = torch.rand(3, 3, generator=generator, dtype=torch.float64).requires_grad_()
    z = torch.rand(2, 3, generator=generator, dtype=torch.float64).requires_grad_()
    theta = kernel.values.detach().clone().requires_grad_()

    def covariances(x: torch.Tensor, z: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        form = kernel.form
        return form.cross(form.embed(x, theta), form.embed(z, theta), theta)

    assert torch.autograd.gradcheck(covariances, (x, z, theta))


def test_the_geometric_ramp_runs_in_both_directions_and_has_one_value_in_one_dimension() -> None:
    X = np.random.default_rng(0).uniform(size=(5, 4))
    down = base_kernel({"kind": "ard_rbf", "lengthscales": {"mode": "geometric_ramp", "min": 4.0, "max": 0.25}})
    listed = base_kernel({"kind": "ard_rbf", "lengthscales": np.geomspace(4.0, 0.25, 4).tolist()})
    np.testing.assert_allclose(gram(down, X), gram(listed, X), rtol=1e-12)
    np.testing.assert_allclose(gram(down, X[:, :1]), gram(leaf("rbf", lengthscale=4.0), X[:, :1]), rtol=1e-12)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("ard_matern52", {"lengthscales": [0.2, 0.4]}),
        ("spectral_mixture", {"weights": [1.0], "means": [[1.0, 2.0]], "scales": [0.4]}),
        ("piecewise_polynomial", {"dimension": 2}),
    ],
)
def test_a_leaf_made_for_two_coordinates_refuses_three(kind: str, parameters: dict[str, Any]) -> None:
    kernel = leaf(kind, **parameters)
    assert gram(kernel, np.zeros((1, 2))).shape == (1, 1)
    with pytest.raises(InputError, match=r"Expected points of .*2 coordinates.* Got 3\."):
        gram(kernel, np.zeros((1, 3)))


def test_matern_distances_are_exactly_symmetric_and_zero_at_coincident_points() -> None:
    X = torch.rand(40, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 100
    X = torch.cat([X, X[:7]])
    r = distance(X, X)
    assert torch.equal(r, r.mT)
    assert torch.equal(r[:7, 40:].diagonal(), torch.zeros(7, dtype=torch.float64))
    assert gram(leaf("matern12"), X.numpy())[0, 40] == 1.0


def test_gradients_at_coincident_points_are_finite() -> None:
    x = torch.ones(3, 2, dtype=torch.float64, requires_grad=True)
    for kind in ("rbf", "matern12", "matern32", "matern52", "rq", "periodic", "cosine", "piecewise_polynomial"):
        kernel = leaf(kind)
        embedding = kernel.embed(x)
        (gradient,) = torch.autograd.grad(kernel.cross(embedding, embedding).sum(), x)
        assert torch.isfinite(gradient).all(), kind


@pytest.mark.parametrize("dimension", [1, 2, 5, 8])
@pytest.mark.parametrize("kind", ["cosine", "piecewise_polynomial", "periodic"])
def test_leaves_that_are_easily_made_indefinite_are_positive_semidefinite(kind: str, dimension: int) -> None:
    X = np.random.default_rng(dimension).uniform(-2, 2, (60, dimension))
    for q in range(4) if kind == "piecewise_polynomial" else (0,):
        extra = {"q": q, "lengthscale": 3.0} if kind == "piecewise_polynomial" else {}
        assert np.linalg.eigvalsh(gram(leaf(kind, **extra), X))[0] > -1e-10


def test_gpytorch_agrees_where_its_kernels_are_valid() -> None:
    x = torch.rand(6, 1, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    theirs = gpytorch.kernels.CosineKernel().double()
    theirs.period_length = 0.7
    torch.testing.assert_close(leaf("cosine", period=0.7)(x).to_dense(), theirs(x).to_dense())
    # In several dimensions GPyTorch multiplies the coordinates' mixtures; Wilson and Adams' eq. 12 mixes products, as here.
    mixed = gpytorch.kernels.SpectralMixtureKernel(num_mixtures=2).double()
    mixed.mixture_weights = torch.tensor([0.4, 1.1])
    mixed.mixture_means = torch.tensor([0.3, 0.8])[:, None, None]
    mixed.mixture_scales = torch.tensor([0.5, 0.2])[:, None, None]
    ours = leaf("spectral_mixture", weights=[0.4, 1.1], means=[0.3, 0.8], scales=[0.5, 0.2])
    torch.testing.assert_close(ours(x).to_dense(), mixed(x).to_dense(), rtol=1e-6, atol=1e-6)
