"""Spectral programs against a double loop over points and frequencies."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from kernaut.errors import InputError, SandboxFailure
from kernaut.kernels.adapters import gram
from kernaut.kernels.interpreter import interpret
from kernaut.program.program import KernelProgram
from kernaut.sandbox.pool import SandboxPool

Program = Callable[[str], KernelProgram]

TRANSPOSED = """
import numpy as np
def spectral_components(input_dimension, parameters):
    return np.ones((input_dimension, 3)), np.ones(3)
"""
GROWING = """
import torch
def spectral_components(input_dimension, parameters):
    count = 2 if parameters["size"] < 1 else 3
    return torch.ones(count, input_dimension), torch.ones(count)
"""


def twin(x: np.ndarray, z: np.ndarray) -> float:
    total = 0.0
    for row in (1, 2, 3):
        frequency = [1.9 * row / column for column in range(1, len(x) + 1)]
        total += (0.6 + row) ** 2 * math.cos(float(np.dot(frequency, x - z)))
    return total / 3


@pytest.mark.parametrize("dimension", [1, 3])
def test_a_spectral_program_is_a_sum_of_cosines_of_the_difference(
    dimension: int, program: Program, pool: SandboxPool
) -> None:
    rng = np.random.default_rng(2)
    X, Z = rng.normal(size=(5, dimension)), rng.normal(size=(4, dimension))
    kernel = interpret(program("spectral"), pool=pool)
    np.testing.assert_allclose(gram(kernel, X, Z), [[twin(x, z) for z in Z] for x in X], rtol=1e-11, atol=1e-12)
    assert kernel.stationary
    assert kernel.low_rank


def test_gradients_are_those_of_finite_differences(program: Program, pool: SandboxPool) -> None:
    form = interpret(program("spectral"), pool=pool).form
    x = torch.rand(3, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64).requires_grad_()
    theta = torch.tensor([0.6, 1.9], dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(form.features, (x, theta))


def test_each_row_of_a_batch_has_its_own_frequencies(program: Program, pool: SandboxPool) -> None:
    kernel = interpret(program("spectral"), pool=pool, batch_shape=torch.Size([2]))
    kernel.values.data[1] = torch.tensor([0.2, 0.9], dtype=torch.float64)
    single = interpret(program("spectral").with_parameters({"slope": 0.2, "pitch": 0.9}), pool=pool)
    X = np.random.default_rng(2).normal(size=(5, 3))
    np.testing.assert_allclose(gram(kernel, X)[1], gram(single, X), rtol=1e-12)


def test_components_of_the_wrong_shape_are_a_failure(pool: SandboxPool) -> None:
    kernel = interpret(KernelProgram("transposed", "spectral", TRANSPOSED), pool=pool)
    with pytest.raises(SandboxFailure) as caught:
        gram(kernel, np.zeros((2, 2)))
    assert caught.value.state == "failed"


def test_rows_of_a_batch_must_have_equally_many_frequencies(pool: SandboxPool) -> None:
    program = KernelProgram("growing", "spectral", GROWING, {"size": 0.5})
    kernel = interpret(program, pool=pool, batch_shape=torch.Size([2]))
    kernel.values.data[1] = 1.5
    with pytest.raises(InputError, match="equally many frequencies"):
        gram(kernel, np.zeros((2, 2)))
