"""Coregionalized programs: a covariance of tasks times a kernel of the other columns."""

from __future__ import annotations

import math
from collections.abc import Callable

import gpytorch
import numpy as np
import pytest
import torch

from kernaut.errors import InputError, ProgramRefused
from kernaut.kernels.adapters import gram, variances
from kernaut.kernels.inspection import task_columns, with_tasks
from kernaut.kernels.interpreter import interpret
from kernaut.kernels.library import leaf
from kernaut.program.program import KernelProgram
from kernaut.sandbox.pool import SandboxPool

Program = Callable[[str], KernelProgram]

PLAIN = """
import torch

def coregionalization(parameters):
    smooth = {"op": "base", "kind": "matern32", "lengthscale": parameters["length"]}
    factor = [[1.2, 0.0], [parameters["alike"], 0.7], [-0.4, 0.3]]
    return {"factor": factor, "diagonal": [0.3, 0.0, 0.8], "kernel": smooth}
"""
WITHOUT = PLAIN.replace('"diagonal": [0.3, 0.0, 0.8], ', "")
FEATURES = """
import torch

INNER = '''
import torch
def feature_point(x, parameters):
    return torch.stack([torch.sin(x.sum()), parameters["slope"] * x[0]])
'''

def coregionalization(parameters):
    inner = {"name": "inner", "contract": "feature_map", "source": INNER, "parameters": {"slope": parameters["alike"]}}
    return {"factor": [[1.2, 0.0], [parameters["alike"], 0.7], [-0.4, 0.3]], "diagonal": [0.3, 0.0, 0.8],
            "kernel": {"op": "program", "candidate": inner}}
"""
CLOSURE = """
def closure_tree(parameters):
    inner = {"op": "program", "candidate": parameters["inner"]}
    return {"op": "sum", "children": [inner, {"op": "pullback", "matrix": parameters["matrix"], "child": inner}]}
"""
ONLY_PULLBACK = """
def closure_tree(parameters):
    inner = {"op": "program", "candidate": parameters["inner"]}
    return {"op": "pullback", "matrix": parameters["matrix"], "child": inner}
"""


def tasks(source: str = PLAIN, **parameters: object) -> KernelProgram:
    return KernelProgram("tasks", "coregionalized", source, {"length": 0.9, "alike": 0.6, **parameters})


def points(n: int = 7, d: int = 3, *, column: int = -1, values: tuple[float, ...] = (0.0, 1.0, 2.0)) -> np.ndarray:
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(n, d))
    X[:, column] = np.array(values)[rng.integers(0, len(values), n)]
    return X


def covariance_of_tasks(alike: float = 0.6, diagonal: tuple[float, ...] = (0.3, 0.0, 0.8)) -> np.ndarray:
    factor = np.array([[1.2, 0.0], [alike, 0.7], [-0.4, 0.3]])
    return factor @ factor.T + np.diag(diagonal)


@pytest.mark.parametrize(("source", "diagonal"), [(PLAIN, (0.3, 0.0, 0.8)), (WITHOUT, (0.0, 0.0, 0.0))])
def test_a_program_is_its_matrix_of_tasks_times_its_kernel(
    source: str, diagonal: tuple[float, ...], pool: SandboxPool
) -> None:
    X, Z = points(), points(5)[::-1].copy()
    kernel = interpret(tasks(source), pool=pool)
    W, alone = covariance_of_tasks(diagonal=diagonal), leaf("matern32", lengthscale=0.9)
    expected = [[W[int(x[2]), int(z[2])] * gram(alone, x[None, :2], z[None, :2])[0, 0] for z in Z] for x in X]
    np.testing.assert_allclose(gram(kernel, X, Z), expected, rtol=1e-12)
    np.testing.assert_allclose(variances(kernel, X), gram(kernel, X).diagonal(), rtol=1e-12)
    assert not kernel.stationary
    assert not kernel.low_rank


def test_it_is_gpytorchs_index_kernel_times_a_kernel(pool: SandboxPool) -> None:
    X = torch.from_numpy(points())
    theirs = gpytorch.kernels.IndexKernel(num_tasks=3, rank=2).double()
    theirs.covar_factor.data = torch.tensor([[1.2, 0.0], [0.6, 0.7], [-0.4, 0.3]], dtype=torch.float64)
    theirs.var = torch.tensor([0.3, 1e-12, 0.8], dtype=torch.float64)
    smooth = gpytorch.kernels.MaternKernel(1.5, active_dims=[0, 1]).double()
    smooth.lengthscale = 0.9
    task = X[:, 2].long()
    expected = theirs.covar_matrix.to_dense()[task][:, task] * smooth(X).to_dense()
    ours = interpret(tasks(), pool=pool)
    torch.testing.assert_close(ours(X).to_dense(), expected, rtol=1e-6, atol=1e-7)


def test_the_task_column_and_its_values_are_the_programs_to_name(pool: SandboxPool) -> None:
    X = points()
    expected = gram(tasks(), X)
    moved = np.column_stack([X[:, 0], np.array([0.25, 1.0, 0.5])[X[:, 2].astype(int)], X[:, 1]])
    for column in (1, -2):
        program = tasks(task_column=column, task_values=[0.25, 1.0, 0.5])
        np.testing.assert_array_equal(gram(interpret(program, pool=pool), moved), expected)


def test_without_other_columns_it_is_the_covariance_of_tasks(pool: SandboxPool) -> None:
    X = np.array([[0.0], [2.0], [1.0], [2.0]])
    order = X[:, 0].astype(int)
    np.testing.assert_allclose(gram(interpret(tasks(), pool=pool), X), covariance_of_tasks()[np.ix_(order, order)])


@pytest.mark.parametrize("wrong", [0.5, 3.0, -1.0, math.nan, 1.001])
def test_a_number_that_names_no_task_is_an_error(wrong: float, pool: SandboxPool) -> None:
    kernel = interpret(tasks(), pool=pool)
    X = torch.from_numpy(points())
    X[3, 2] = wrong
    with pytest.raises(InputError, match=r"Expected column 2 to name one of 3 tasks: 0, 1, 2\. Got .*task_values"):
        kernel.embed(X)
    X[3, 2] = 2.0 + 1e-8
    kernel.embed(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"task_column": "last"}, r"parameters\.task_column to be a column's number"),
        ({"task_values": [0.0, 1.0]}, "Expected 3 task_values, one a row of factor. Got 2"),
        ({"task_values": [0.0, 1.0, 1.0]}, "task_values to differ"),
        ({"task_values": []}, "to be a list of numbers"),
        ({"task_values": [0.0, 1.0, "b"]}, r"task_values\[2\]\. Got 'b'"),
    ],
)
def test_wrong_names_of_tasks_are_refused(parameters: dict[str, object], message: str, pool: SandboxPool) -> None:
    with pytest.raises(ProgramRefused, match=message):
        interpret(tasks(**parameters), pool=pool)


def test_points_without_the_task_column_are_an_error(pool: SandboxPool) -> None:
    kernel = interpret(tasks(task_column=2), pool=pool)
    with pytest.raises(InputError, match=r"Expected points with the task column 2\. Got 2 columns"):
        gram(kernel, points(d=2))


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("[1.0]", r"Expected coregionalization to return an object of factor, kernel"),
        ("{'factor': [1.0]}", "Got factor"),
        ("{'factor': [1.0], 'kernel': smooth, 'extra': 1}", "Got .*extra"),
        ("{'factor': [[1.0], [1.0, 2.0]], 'kernel': smooth}", "lists of equal length for factor"),
        ("{'factor': [1.0] * 257, 'kernel': smooth}", "at most 256 tasks. Got factor of 257"),
        ("{'factor': [1.0, 2.0], 'diagonal': [0.1], 'kernel': smooth}", "Expected 2 entries of diagonal. Got 1"),
        ("{'factor': [1.0, 2.0], 'diagonal': [0.1, -0.1], 'kernel': smooth}", r"diagonal\[1\]\. Got -0\.1"),
        ("{'factor': [1.0, 2.0], 'kernel': {'op': 'base', 'kind': 'rbfs'}}", r"kernel\.kind of linear, .*Got 'rbfs'"),
        ("{'factor': [0.0, 0.0], 'diagonal': [0.0, 0.0], 'kernel': smooth}", "not all 0"),
        ("{'factor': [1.0, 2.0], 'kernel': {'op': 'sum', 'children': [smooth]}}", r"kernel\.children"),
    ],
)
def test_a_wrong_answer_is_refused_when_interpreted(returned: str, message: str, pool: SandboxPool) -> None:
    source = (
        f"def coregionalization(parameters):\n    smooth = {{'op': 'base', 'kind': 'rbf'}}\n    return {returned}\n"
    )
    with pytest.raises(ProgramRefused, match=message):
        interpret(KernelProgram("wrong", "coregionalized", source), pool=pool)


@pytest.mark.parametrize("source", [PLAIN, FEATURES])
def test_gradients_are_those_of_finite_differences(source: str, pool: SandboxPool) -> None:
    kernel = interpret(tasks(source), pool=pool)
    fixed = torch.from_numpy(points(4)[:, 2:])
    x = torch.from_numpy(points(4)[:, :2].copy()).requires_grad_()
    theta = kernel.values.detach().clone().requires_grad_()

    def covariances(x: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        embedding = kernel.form.embed(torch.cat([x, fixed], dim=-1), theta)
        return kernel.form.cross(embedding, embedding, theta) + kernel.form.diagonal(embedding, theta)

    assert torch.autograd.gradcheck(covariances, (x, theta))


def test_features_inside_keep_the_low_rank(pool: SandboxPool) -> None:
    kernel = interpret(tasks(FEATURES), pool=pool, batch_shape=torch.Size([2]))
    kernel.values.data[1] *= 1.3
    assert kernel.low_rank
    X = torch.from_numpy(points())
    features = kernel.features(X)
    assert features.shape == (2, 7, (2 + 3) * 2)
    embedding = kernel.embed(X)
    torch.testing.assert_close(features @ features.mT, kernel.cross(embedding, embedding))


def test_tasks_are_found_through_closures_and_their_columns(pool: SandboxPool) -> None:
    inner = tasks(task_column=1).to_json()
    matrix = [[0.0, 0.0, 0.3], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    outer = interpret(KernelProgram("outer", "closure", CLOSURE, {"inner": inner, "matrix": matrix}), pool=pool)
    assert task_columns(outer, 3) == {1: (0.0, 1.0, 2.0)}
    chosen = interpret(tasks(), pool=pool, active_dims=[3, 0])
    assert task_columns(chosen, 4) == {0: (0.0, 1.0, 2.0)}
    placed = with_tasks(outer, torch.tensor([[0.1, 0.34, 0.2], [0.5, 1.0, 0.6], [0.7, 0.0, 0.9]], dtype=torch.float64))
    assert placed[:, 1].tolist() == [1.0, 2.0, 0.0]
    assert placed[:, 0].tolist() == [0.1, 0.5, 0.7]
    through = {"inner": tasks().to_json(), "matrix": [[0.0, 1.0], [0.5, 0.0], [0.7, 0.0]]}
    only = KernelProgram("only", "closure", ONLY_PULLBACK, through)
    assert task_columns(interpret(only, pool=pool), 3) == {0: (0.0, 1.0, 2.0)}
    turned = [[0.0, 0.6, 0.3], [0.0, 0.8, 0.0], [1.0, 0.0, 0.0]]
    mixed = KernelProgram("mixed", "closure", CLOSURE, {"inner": inner, "matrix": turned})
    with pytest.raises(InputError, match="to name one of 3 tasks"):
        gram(interpret(mixed, pool=pool), points(column=1))


def test_tasks_inside_tasks_have_columns_of_their_own(pool: SandboxPool) -> None:
    source = """
def coregionalization(parameters):
    return {"factor": [1.0, 0.5], "diagonal": [0.0, 0.2], "kernel": {"op": "program", "candidate": parameters["inner"]}}
"""
    outer = KernelProgram("outer", "coregionalized", source, {"inner": tasks().to_json(), "task_column": 0})
    kernel = interpret(outer, pool=pool)
    assert task_columns(kernel, 3) == {0: (0.0, 1.0), 2: (0.0, 1.0, 2.0)}
    X = points()
    X[:, 0] = [0, 1, 1, 0, 1, 0, 0]
    places = X[:, 0].astype(int)
    W = np.array([[1.0, 0.5], [0.5, 0.45]])[np.ix_(places, places)]
    np.testing.assert_allclose(gram(kernel, X), W * gram(tasks(), X[:, 1:]), rtol=1e-12)


def test_a_numpy_program_has_no_gradient_and_says_so(program: Program, pool: SandboxPool) -> None:
    kernel = interpret(program("numpy_coregionalized"), pool=pool)
    kernel.values.requires_grad_()
    x = torch.tensor([[0.25, 0.3], [0.75, 0.4]], dtype=torch.float64)
    total = kernel(x).to_dense().sum()
    with pytest.raises(InputError, match=r"Expected a differentiable coregionalization\. Got two_tasks"):
        total.backward()
