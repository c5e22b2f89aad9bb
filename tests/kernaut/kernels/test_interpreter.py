"""The way from a program to a kernel: what is checked before a child starts, and what the kernel knows of its program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from kernaut.errors import ProgramRefused, SandboxFailure
from kernaut.kernels.adapters import gram
from kernaut.kernels.interpreter import interpret
from kernaut.program.parameters import ParameterSpec
from kernaut.program.program import KernelProgram
from kernaut.sandbox.pool import SandboxPool

Program = Callable[[str], KernelProgram]

CONTRACTS = (
    "feature_map",
    "additive_feature_map",
    "spectral",
    "input_transform",
    "residual_feature_map",
    "residual_input_transform",
    "closure",
    "state_space",
    "coregionalized",
    "unverified",
)
ASKED = ("closure", "coregionalized")
"""Contracts whose tree is asked for when they are interpreted."""


class NoPool(SandboxPool):
    """A pool that must not be asked."""

    def __init__(self) -> None:
        """Start nothing."""

    def child(self, program: Any) -> Any:
        raise AssertionError("a child was started")


@pytest.mark.parametrize("contract", CONTRACTS)
def test_values_are_the_float_parameters_under_their_names(contract: str, program: Program, pool: SandboxPool) -> None:
    kernel = interpret(program(contract), pool=pool, batch_shape=torch.Size([2]), active_dims=[0, 1])
    floats = {k: v for k, v in program(contract).parameters.items() if isinstance(v, float)}
    assert dict(zip(kernel.parameter_names, kernel.values[1].tolist(), strict=True)) == floats
    assert kernel.values.dtype == torch.float64
    assert not kernel.values.requires_grad
    assert kernel.identity == program(contract)
    assert kernel.batch_shape == (2,)


def test_only_declared_floats_are_values_where_a_space_is_declared(program: Program, pool: SandboxPool) -> None:
    source = "def feature_point(x, parameters):\n    return [parameters['a'] * x[0], parameters['b'], parameters['n']]"
    space = (ParameterSpec("a", "float", lower=0.0, upper=3.0), ParameterSpec("n", "int", lower=1, upper=9))
    declared = KernelProgram("declared", "feature_map", source, {"n": 2, "b": 0.5, "a": 1}, space=space)
    kernel = interpret(declared, pool=pool)
    assert kernel.parameter_names == ("a",)
    np.testing.assert_allclose(gram(kernel, [[2.0]]), [[4.0 + 0.25 + 4.0]])


def test_nothing_starts_before_the_first_evaluation(program: Program) -> None:
    for contract in CONTRACTS:
        if contract not in ASKED:
            interpret(program(contract), pool=NoPool())
    for contract in ASKED:
        with pytest.raises(AssertionError, match="a child was started"):
            interpret(program(contract), pool=NoPool())


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import os\ndef feature_point(x, parameters):\n    return [1.0]", "os"),
        ("def feature_points(x, parameters):\n    return [1.0]", "feature_point"),
        ("def feature_point(x):\n    return [1.0]", "parameters"),
    ],
)
def test_a_source_that_breaks_a_rule_is_refused_before_a_child_starts(source: str, said: str) -> None:
    with pytest.raises(ProgramRefused, match=said):
        interpret(KernelProgram("refused", "feature_map", source), pool=NoPool())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"base_kernel": {"kind": "matern62"}}, r"parameters\.base_kernel\.kind of linear, .*Got 'matern62'"),
        ({"base_kernel": {"kind": "rbf", "lengthscale": 0}}, r"parameters\.base_kernel\.lengthscale\. Got 0"),
        (
            {"base_kernel": {"kind": "rbf", "alpha": 1}},
            r"keys op, kind, variance, lengthscale in parameters\.base_kernel",
        ),
        ({"base_kernel": "rbf"}, r"parameters\.base_kernel to be a base node"),
        ({"residual_base_kernel": {"kind": "ard_rbf", "lengthscales": []}}, r"residual_base_kernel\.lengthscales"),
        ({"residual_weight": "large"}, r"parameters\.residual_weight\. Got 'large'"),
    ],
)
def test_a_wrong_base_or_weight_is_refused_with_its_path(
    parameters: dict[str, Any], message: str, program: Program
) -> None:
    example = program("residual_input_transform")
    wrong = KernelProgram("wrong", example.contract, example.source, {**example.parameters, **parameters})
    with pytest.raises(ProgramRefused, match=message):
        interpret(wrong, pool=NoPool())


@pytest.mark.parametrize(
    ("body", "state"),
    [("return [x[0] / 0.0 * 0.0]", "failed"), ("return [float('nan')]", "failed"), ("return x['a']", "failed")],
)
def test_a_program_that_gives_no_value_is_a_failure_with_a_state(body: str, state: str, pool: SandboxPool) -> None:
    kernel = interpret(KernelProgram("bad", "feature_map", f"def feature_point(x, parameters):\n    {body}"), pool=pool)
    for _ in range(2):
        with pytest.raises(SandboxFailure) as caught:
            gram(kernel, np.ones((3, 2)))
        assert caught.value.state == state


def test_closing_ends_the_children_and_the_next_call_starts_new_ones(program: Program, pool: SandboxPool) -> None:
    for contract in CONTRACTS:
        kernel = interpret(program(contract), pool=pool)
        X = np.random.default_rng(1).normal(size=(4, 2))
        X[:, 1] = [0.0, 2.0, 1.0, 2.0]
        before = gram(kernel, X)
        kernel.close()
        np.testing.assert_array_equal(gram(kernel, X), before)
