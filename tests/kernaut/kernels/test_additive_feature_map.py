"""Additive feature maps against a triple loop."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from kernaut.kernels.adapters import gram
from kernaut.kernels.interpreter import interpret
from kernaut.program.program import KernelProgram
from kernaut.sandbox.pool import SandboxPool


def phi(value: float) -> np.ndarray:
    return np.array([math.sin(1.9 * value), 0.6 * value, math.exp(-value * value)])


def test_an_additive_feature_map_is_the_mean_over_coordinates(
    program: Callable[[str], KernelProgram], pool: SandboxPool
) -> None:
    rng = np.random.default_rng(2)
    X, Z = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    expected = [[np.mean([phi(a) @ phi(b) for a, b in zip(x, z, strict=True)]) for z in Z] for x in X]
    kernel = interpret(program("additive_feature_map"), pool=pool)
    np.testing.assert_allclose(gram(kernel, X, Z), expected, rtol=1e-12, atol=1e-14)
