"""What every kernel must satisfy whatever the points: hypothesis properties on leaves and programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from kernaut.kernels.inspection import task_columns
from kernaut.kernels.interpreter import interpret
from kernaut.kernels.kernel import KernautKernel
from kernaut.kernels.library import base_kernel
from kernaut.program.program import KernelProgram
from kernaut.sandbox.pool import SandboxPool

LEAVES: tuple[dict[str, Any], ...] = (
    {"kind": "linear", "variance": 0.6},
    {"kind": "rbf", "lengthscale": 0.7},
    {"kind": "matern12", "lengthscale": 1.7},
    {"kind": "matern32", "lengthscale": 0.8, "variance": 1.3},
    {"kind": "matern52", "lengthscale": 0.9},
    {"kind": "rq", "alpha": 0.6},
    {"kind": "periodic", "period": 1.3, "lengthscale": 0.8},
    {"kind": "cosine", "period": 1.4},
    {"kind": "polynomial", "power": 2, "offset": 0.4, "lengthscale": 2.0},
    {"kind": "piecewise_polynomial", "q": 2, "lengthscale": 2.5},
    {"kind": "spectral_mixture", "weights": [0.4, 0.9], "means": [0.3, 1.1], "scales": [0.2, 0.5]},
    {"kind": "rff", "features": 12, "seed": 5, "lengthscale": 1.2},
    {"kind": "ard_matern32", "lengthscales": {"mode": "geometric_ramp", "min": 0.25, "max": 4.0}},
)
PROGRAMS = (
    "feature_map",
    "additive_feature_map",
    "spectral",
    "input_transform",
    "residual_feature_map",
    "residual_input_transform",
    "closure",
    "state_space",
    "coregionalized",
)

coordinates = st.floats(-2, 2, allow_nan=False).map(lambda value: round(value, 6))
points = st.integers(1, 4).flatmap(
    lambda d: st.integers(2, 7).flatmap(lambda n: arrays.arrays(np.float64, (n, d), elements=coordinates))
)


def check(kernel: KernautKernel, X: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = len(X)
    X = np.concatenate([X, X[rng.integers(0, n, 1)]])
    for column, values in task_columns(kernel, X.shape[1]).items():
        X[:, column] = np.array(values)[np.floor(np.abs(X[:, column]) * 10).astype(int) % len(values)]
    embedding = kernel.embed(torch.from_numpy(X))
    full = kernel.cross(embedding, embedding).numpy()
    scale = max(np.abs(full).max(), 1.0)
    np.testing.assert_allclose(full, full.T, rtol=0, atol=1e-12 * scale)
    assert np.linalg.eigvalsh((full + full.T) / 2)[0] >= -1e-11 * scale * n
    np.testing.assert_allclose(kernel.diagonal(embedding).numpy(), full.diagonal(), rtol=0, atol=1e-12 * scale)
    order = rng.permutation(n + 1)
    moved = kernel.embed(torch.from_numpy(X[order]))
    np.testing.assert_allclose(
        kernel.cross(moved, moved).numpy(), full[np.ix_(order, order)], rtol=0, atol=1e-12 * scale
    )
    some = order[: n // 2 + 1]
    part = kernel.embed(torch.from_numpy(X[some]))
    np.testing.assert_allclose(kernel.cross(part, embedding).numpy(), full[some], rtol=0, atol=1e-12 * scale)
    twin = int(np.flatnonzero((X[:n] == X[n]).all(1))[0])
    np.testing.assert_allclose(full[twin], full[n], rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("record", LEAVES, ids=[record["kind"] for record in LEAVES])
@settings(max_examples=25)
@given(X=points, seed=st.integers(0, 99))
def test_leaves(record: dict[str, Any], X: np.ndarray, seed: int) -> None:
    check(base_kernel(record), X, seed)


@pytest.fixture(scope="module")
def interpreted(all_programs: dict[str, KernelProgram], pool: SandboxPool) -> Callable[[str], KernautKernel]:
    return {name: interpret(all_programs[name], pool=pool) for name in PROGRAMS}.__getitem__


@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=25)
@given(X=points, seed=st.integers(0, 99))
def test_programs(name: str, interpreted: Callable[[str], KernautKernel], X: np.ndarray, seed: int) -> None:
    check(interpreted(name), X, seed)
