"""Feature maps against a double loop, in torch and in numpy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from kernaut.kernels.adapters import gram
from kernaut.kernels.interpreter import interpret
from kernaut.program.program import KernelProgram
from kernaut.sandbox.pool import SandboxPool

SCALAR = "def feature_point(x, parameters):\n    return parameters['slope'] * x[0]"


def phi(x: np.ndarray) -> np.ndarray:
    return np.array([1.0, 0.6 * x.sum(), math.cos(1.9 * x.sum()), x[0] ** 2])


@pytest.mark.parametrize("name", ["feature_map", "numpy_feature_map"])
def test_a_feature_map_is_the_inner_product_of_its_features(
    name: str, program: Callable[[str], KernelProgram], pool: SandboxPool
) -> None:
    rng = np.random.default_rng(2)
    X, Z = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    kernel = interpret(program(name), pool=pool)
    expected = [[float(phi(x) @ phi(z)) for z in Z] for x in X]
    np.testing.assert_allclose(gram(kernel, X, Z), expected, rtol=1e-12)
    assert kernel.low_rank
    assert not kernel.stationary


def test_a_single_number_is_one_feature(pool: SandboxPool) -> None:
    kernel = interpret(KernelProgram("scalar", "feature_map", SCALAR, {"slope": 0.5}), pool=pool)
    np.testing.assert_allclose(gram(kernel, [[2.0, 9.0], [3.0, 9.0]]), [[1.0, 1.5], [1.5, 2.25]])
