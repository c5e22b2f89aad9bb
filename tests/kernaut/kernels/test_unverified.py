"""Unverified programs: their own matrices, block by block."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from kernaut.errors import SandboxFailure
from kernaut.kernels.adapters import gram, variances
from kernaut.kernels.interpreter import interpret
from kernaut.program.program import KernelProgram
from kernaut.sandbox.pool import SandboxPool

Program = Callable[[str], KernelProgram]

SKEWED = """
import numpy as np
def kernel_matrix(x, parameters):
    n = len(x)
    return np.arange(float(n * n)).reshape(n, n)
"""
TALL = """
import numpy as np
def kernel_matrix(x, parameters):
    return np.zeros((len(x) + 1, len(x)))
"""


def laplace(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return np.array([[1.3 * np.exp(-np.abs(x - z).sum()) for z in Z] for x in X])


def test_blocks_are_those_of_the_matrix_on_all_points(program: Program, pool: SandboxPool) -> None:
    rng = np.random.default_rng(2)
    X, Z = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    kernel = interpret(program("unverified"), pool=pool)
    np.testing.assert_allclose(gram(kernel, X, Z), laplace(X, Z), rtol=1e-12)
    np.testing.assert_allclose(gram(kernel, X), laplace(X, X), rtol=1e-12)
    np.testing.assert_allclose(variances(kernel, X), np.full(5, 1.3))


def test_a_batch_of_points_and_of_parameters(program: Program, pool: SandboxPool) -> None:
    kernel = interpret(program("unverified"), pool=pool, batch_shape=torch.Size([2]))
    kernel.values.data[1] = 2.6
    x = torch.rand(3, 1, 4, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    matrix = kernel(x).to_dense()
    assert matrix.shape == (3, 2, 4, 4)
    assert kernel.embed(x[0, 0])[0].shape == (2, 4, 2)
    np.testing.assert_allclose(matrix[2, 1], 2 * laplace(x[2, 0].numpy(), x[2, 0].numpy()), rtol=1e-12)


def test_an_asymmetric_matrix_is_shown_as_it_is(pool: SandboxPool) -> None:
    matrix = gram(interpret(KernelProgram("skewed", "unverified", SKEWED), pool=pool), np.zeros((3, 1)))
    np.testing.assert_array_equal(matrix, np.arange(9.0).reshape(3, 3))
    block = gram(interpret(KernelProgram("skewed", "unverified", SKEWED), pool=pool), np.zeros((2, 1)), np.ones((3, 1)))
    np.testing.assert_array_equal(block, np.arange(25.0).reshape(5, 5)[:2, 2:])


def test_a_matrix_of_the_wrong_shape_is_a_failure(pool: SandboxPool) -> None:
    with pytest.raises(SandboxFailure) as caught:
        gram(interpret(KernelProgram("tall", "unverified", TALL), pool=pool), np.zeros((3, 1)))
    assert caught.value.state == "failed"


def test_gradients_are_those_of_finite_differences(program: Program, pool: SandboxPool) -> None:
    form = interpret(program("unverified"), pool=pool).form
    x = torch.rand(3, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64).requires_grad_()
    theta = torch.tensor([1.3], dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, theta: form.cross((x,), (x,), theta).triu(1), (x, theta))
