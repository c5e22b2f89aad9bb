"""Residual contracts against base plus squared weight times component, by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from kernaut.kernels.adapters import gram
from kernaut.kernels.interpreter import interpret
from kernaut.kernels.library import leaf
from kernaut.program.program import KernelProgram
from kernaut.sandbox.pool import SandboxPool

Program = Callable[[str], KernelProgram]


def features(X: np.ndarray) -> np.ndarray:
    total = X.sum(1)
    return np.stack([np.ones_like(total), 0.6 * total, np.cos(1.9 * total), X[:, 0] ** 2], axis=1)


def transform(X: np.ndarray) -> np.ndarray:
    warp = (1 - np.exp(-0.8 * X)) / (1 - np.exp(-0.8))
    return np.hstack([warp, 0.45 * np.sin(1.7 * X)])


def points() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    return rng.normal(size=(5, 3)), rng.normal(size=(4, 3))


def test_a_residual_feature_map_adds_to_its_base(program: Program, pool: SandboxPool) -> None:
    X, Z = points()
    kernel = interpret(program("residual_feature_map"), pool=pool)
    expected = gram(leaf("matern12", variance=1.4), X, Z) + 0.3**2 * features(X) @ features(Z).T
    np.testing.assert_allclose(gram(kernel, X, Z), expected, rtol=1e-12)
    assert not kernel.low_rank


def test_a_residual_input_transform_adds_its_own_base_on_transformed_points(
    program: Program, pool: SandboxPool
) -> None:
    X, Z = points()
    kernel = interpret(program("residual_input_transform"), pool=pool)
    base = gram(leaf("rq", alpha=0.6, lengthscale=1.2), X, Z)
    expected = base + 0.9**2 * gram(leaf("rbf", lengthscale=0.3), transform(X), transform(Z))
    np.testing.assert_allclose(gram(kernel, X, Z), expected, rtol=1e-12)


@pytest.mark.parametrize("weight", [None, 2, 0.25])
def test_the_weight_is_one_by_default_and_may_be_whole(weight: Any, program: Program, pool: SandboxPool) -> None:
    X, _ = points()
    source = program("residual_feature_map").source
    given = {} if weight is None else {"residual_weight": weight}
    kernel = interpret(
        KernelProgram("w", "residual_feature_map", source, {"slope": 0.6, "pitch": 1.9} | given), pool=pool
    )
    expected = gram(leaf("matern52", lengthscale=0.5), X) + (weight or 1) ** 2 * features(X) @ features(X).T
    np.testing.assert_allclose(gram(kernel, X), expected, rtol=1e-12)
    assert ("residual_weight" in kernel.parameter_names) == isinstance(weight, float)


def test_a_base_of_finite_rank_keeps_the_sum_of_finite_rank(program: Program, pool: SandboxPool) -> None:
    example = program("residual_feature_map").with_parameters({"base_kernel": {"kind": "linear", "variance": 0.7}})
    kernel = interpret(example, pool=pool)
    assert kernel.low_rank
    X, _ = points()
    phi = kernel.features(torch.from_numpy(X))
    assert phi.shape == (5, 7)
    np.testing.assert_allclose((phi @ phi.mT).numpy(), gram(kernel, X), rtol=1e-12)


@pytest.mark.parametrize("name", ["residual_feature_map", "residual_input_transform"])
def test_gradients_are_those_of_finite_differences(name: str, program: Program, pool: SandboxPool) -> None:
    kernel = interpret(program(name), pool=pool)
    assert "residual_weight" in kernel.parameter_names
    x = torch.from_numpy(points()[0]).requires_grad_()
    theta = kernel.theta().clone().requires_grad_()

    def covariances(x: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        embedding = kernel.form.embed(x, theta)
        return kernel.form.cross(embedding, embedding, theta)

    def variances(x: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        return kernel.form.diagonal(kernel.form.embed(x, theta), theta)

    assert torch.autograd.gradcheck(covariances, (x, theta))
    assert torch.autograd.gradcheck(variances, (x, theta))


def test_the_weight_moves_the_component_and_not_the_base(program: Program, pool: SandboxPool) -> None:
    kernel = interpret(program("residual_feature_map"), pool=pool)
    kernel.values.data[kernel.parameter_names.index("residual_weight")] = 0.0
    X, _ = points()
    np.testing.assert_allclose(gram(kernel, X), gram(leaf("matern12", variance=1.4), X), rtol=1e-12)
    assert math.isclose(gram(kernel, X)[0, 0], 1.4)
