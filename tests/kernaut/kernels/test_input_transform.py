"""Input transforms against the base kernel on points transformed by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from kernaut.kernels.adapters import gram
from kernaut.kernels.interpreter import interpret
from kernaut.kernels.library import base_kernel, leaf
from kernaut.program.program import KernelProgram
from kernaut.sandbox.pool import SandboxPool

Program = Callable[[str], KernelProgram]


def transform(X: np.ndarray) -> np.ndarray:
    warp = (1 - np.exp(-0.8 * X)) / (1 - np.exp(-0.8))
    return np.hstack([warp, 0.45 * np.sin(1.7 * X)])


def points() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    return rng.normal(size=(5, 3)), rng.normal(size=(4, 3))


@pytest.mark.parametrize(
    "base",
    [
        {"kind": "matern32", "lengthscale": 0.7},
        {"kind": "spectral_mixture", "weights": [0.4, 0.9], "means": [0.3, 1.1], "scales": [0.2, 0.5]},
        {"kind": "ard_rbf", "lengthscales": [0.3, 0.5, 0.7, 0.9, 1.1, 1.3]},
        {"kind": "linear", "variance": 1.4},
    ],
)
def test_an_input_transform_is_its_base_on_transformed_points(
    base: dict[str, object], program: Program, pool: SandboxPool
) -> None:
    X, Z = points()
    kernel = interpret(program("input_transform").with_parameters({"base_kernel": base}), pool=pool)
    expected = base_kernel(base)
    np.testing.assert_allclose(gram(kernel, X, Z), gram(expected, transform(X), transform(Z)), rtol=1e-12, atol=1e-15)
    assert not kernel.stationary
    assert kernel.low_rank == expected.low_rank


def test_the_default_base_is_a_matern52_of_lengthscale_one_half(program: Program, pool: SandboxPool) -> None:
    parameters = {name: program("input_transform").parameters[name] for name in ("rate", "height", "pitch")}
    plain = KernelProgram("plain", "input_transform", program("input_transform").source, parameters)
    X, _ = points()
    expected = gram(leaf("matern52", lengthscale=0.5), transform(X))
    np.testing.assert_allclose(gram(interpret(plain, pool=pool), X), expected, rtol=1e-12)


def test_gradients_are_those_of_finite_differences(program: Program, pool: SandboxPool) -> None:
    kernel = interpret(program("input_transform"), pool=pool)
    assert kernel.parameter_names == ("rate", "height", "pitch")
    x = torch.from_numpy(points()[0]).requires_grad_()
    theta = kernel.theta().clone().requires_grad_()

    def covariances(x: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        embedding = kernel.form.embed(x, theta)
        return kernel.form.cross(embedding, embedding, theta)

    assert torch.autograd.gradcheck(covariances, (x, theta))
