"""Closure programs: the tree they answer with, its gradients, and programs inside programs."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest
import torch

from kernaut.errors import InputError, ProgramRefused
from kernaut.kernels.adapters import gram
from kernaut.kernels.interpreter import MAX_NESTING, interpret
from kernaut.kernels.library import leaf
from kernaut.program.program import KernelProgram
from kernaut.sandbox.pool import SandboxPool

Program = Callable[[str], KernelProgram]

LEAF_SOURCE = """
import torch

def closure_tree(parameters):
    return {"op": "base", "kind": parameters["kind"], "lengthscale": parameters["length"]}
"""

EVERYTHING = '''
import torch

WARP = """
import torch
def transform_point(x, parameters):
    return parameters["stretch"] * torch.exp(-parameters["rate"] * x)
"""

ADDED = """
import torch
def feature_point(x, parameters):
    return torch.stack([x.sum() * parameters["slope"], torch.sin(x.sum())])
"""

def closure_tree(parameters):
    size = parameters["size"]
    warp = {"name": "warp", "contract": "input_transform", "source": WARP,
            "parameters": {"stretch": size, "rate": 0.4, "base_kernel": {"kind": "matern32", "lengthscale": size * 0.7}}}
    added = {"name": "added", "contract": "residual_feature_map", "source": ADDED,
             "parameters": {"slope": 0.9 / size, "residual_weight": parameters["weight"] * 0.5}}
    matrix = [[parameters["turn"], 0.3], [0.1, size]]
    children = [
        {"op": "scale", "weight": parameters["weight"] ** 2, "child": {"op": "program", "candidate": warp}},
        {"op": "pullback", "matrix": matrix, "child": {"op": "base", "kind": "ard_rbf", "lengthscales": [size, 1.3]}},
        {"op": "product", "children": [{"op": "program", "candidate": added}, {"op": "base", "kind": "rbf"}]},
    ]
    return {"op": "sum", "children": children}
'''

SWITCHING = """
def closure_tree(parameters):
    kind = "rbf" if parameters["length"] > 1 else "matern12"
    return {"op": "base", "kind": kind, "lengthscale": parameters["length"]}
"""

REFERRING = """
def closure_tree(parameters):
    inner = {"op": "program", "candidate": parameters["inner"]}
    return {"op": "scale", "weight": parameters["weight"], "child": inner}
"""


def referring(name: str, inner: object, weight: float = 0.5) -> KernelProgram:
    return KernelProgram(name, "closure", REFERRING, {"inner": inner, "weight": weight})


def points(n: int = 5, d: int = 2) -> np.ndarray:
    return np.random.default_rng(4).uniform(size=(n, d))


def test_a_tree_is_the_kernel_it_writes_out(program: Program, pool: SandboxPool) -> None:
    X = points()
    smooth = leaf("rbf", lengthscale=0.9, variance=0.7)
    wave = leaf("periodic", period=1.3, lengthscale=0.8 * 0.9)
    rough = leaf("rq", alpha=1.6, lengthscale=1.7)
    expected = 0.75**2 * gram(smooth, X) + gram(rough, X) * gram(wave, X)
    np.testing.assert_allclose(gram(interpret(program("closure"), pool=pool), X), expected, rtol=1e-12)


def test_a_tree_of_every_operation_is_the_kernel_it_writes_out(pool: SandboxPool) -> None:
    X = points()
    program = KernelProgram("everything", "closure", EVERYTHING, {"size": 1.2, "weight": 0.8, "turn": -0.6})
    warped = 1.2 * np.exp(-0.4 * X)
    total = X.sum(1, keepdims=True)
    phi = np.hstack([total * 0.9 / 1.2, np.sin(total)])
    added = gram(leaf("matern52", lengthscale=0.5), X) + (0.8 * 0.5) ** 2 * phi @ phi.T
    turned = X @ np.array([[-0.6, 0.3], [0.1, 1.2]])
    expected = (
        0.8**2 * gram(leaf("matern32", lengthscale=1.2 * 0.7), warped)
        + gram(leaf("ard_rbf", lengthscales=[1.2, 1.3]), turned)
        + added * gram(leaf("rbf"), X)
    )
    np.testing.assert_allclose(gram(interpret(program, pool=pool), X), expected, rtol=1e-12)


def test_gradients_reach_weights_matrices_leaves_and_programs_inside(pool: SandboxPool) -> None:
    program = KernelProgram("everything", "closure", EVERYTHING, {"size": 1.2, "weight": 0.8, "turn": -0.6})
    kernel = interpret(program, pool=pool)
    assert kernel.parameter_names == ("size", "weight", "turn")
    x = torch.from_numpy(points(3)).requires_grad_()
    theta = kernel.values.detach().clone().requires_grad_()

    def covariances(x: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        embedding = kernel.form.embed(x, theta)
        return kernel.form.cross(embedding, embedding, theta)

    assert torch.autograd.gradcheck(covariances, (x, theta))


def test_new_values_are_asked_for_anew(pool: SandboxPool) -> None:
    kernel = interpret(KernelProgram("one", "closure", LEAF_SOURCE, {"kind": "rq", "length": 0.4}), pool=pool)
    X = points()
    np.testing.assert_allclose(gram(kernel, X), gram(leaf("rq", lengthscale=0.4), X))
    kernel.values.data.fill_(1.9)
    np.testing.assert_allclose(gram(kernel, X), gram(leaf("rq", lengthscale=1.9), X))


def test_a_structure_may_change_with_the_values_but_not_within_a_batch(pool: SandboxPool) -> None:
    program = KernelProgram("switch", "closure", SWITCHING, {"length": 0.5})
    kernel = interpret(program, pool=pool, batch_shape=torch.Size([2]))
    X = points()
    np.testing.assert_allclose(gram(kernel, X)[1], gram(leaf("matern12", lengthscale=0.5), X))
    kernel.values.data.fill_(1.5)
    np.testing.assert_allclose(gram(kernel, X)[1], gram(leaf("rbf", lengthscale=1.5), X))
    kernel.values.data[0] = 0.5
    with pytest.raises(InputError, match="Expected one tree structure for all rows"):
        gram(kernel, X)


def test_each_row_of_a_batch_has_its_own_numbers(program: Program, pool: SandboxPool) -> None:
    kernel = interpret(program("closure"), pool=pool, batch_shape=torch.Size([3]))
    kernel.values.data[1] *= 1.5
    X = points()
    single = interpret(program("closure"), pool=pool)
    before = gram(single, X)
    single.values.data *= 1.5
    after = gram(single, X)
    np.testing.assert_allclose(gram(kernel, X), np.stack([before, after, before]), rtol=1e-12)


def test_a_plain_tree_has_no_gradient_and_says_so(program: Program, pool: SandboxPool) -> None:
    kernel = interpret(program("numpy_closure"), pool=pool)
    kernel.values.requires_grad_()
    x = torch.from_numpy(points())
    embedding = kernel.embed(x)
    total = kernel.cross(embedding, embedding).sum()
    with pytest.raises(InputError, match=r"Expected a differentiable closure tree\. Got plain_tree"):
        total.backward()


def test_a_number_lost_in_a_list_of_parameters_has_no_gradient_and_says_so(pool: SandboxPool) -> None:
    source = '''
import torch
INNER = """
import torch
def feature_point(x, parameters):
    return torch.stack([x[0] * parameters["slopes"][0]])
"""
def closure_tree(parameters):
    inner = {"name": "inner", "contract": "feature_map", "source": INNER, "parameters": {"slopes": [parameters["slope"]]}}
    return {"op": "program", "candidate": inner}
'''
    kernel = interpret(KernelProgram("lost", "closure", source, {"slope": 0.7}), pool=pool)
    X = points()
    np.testing.assert_allclose(gram(kernel, X), 0.49 * np.outer(X[:, 0], X[:, 0]))
    kernel.values.requires_grad_()
    total = kernel.features(torch.from_numpy(X)).sum()
    with pytest.raises(InputError, match="cannot be traced"):
        total.backward()


def test_programs_inside_are_found_by_identifier_and_travel_with_copies(program: Program, pool: SandboxPool) -> None:
    inner = program("input_transform")
    middle = referring("middle", inner.id, 0.5)
    outer = referring("outer", middle.id, 0.25)
    known = {one.id: one for one in (inner, middle)}
    kernel = interpret(outer, pool=pool, resolve=known.__getitem__)
    X = points()
    expected = 0.125 * gram(interpret(inner, pool=pool), X)
    np.testing.assert_allclose(gram(kernel, X), expected, rtol=1e-12)
    copy = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_allclose(gram(copy, X), expected, rtol=1e-12)
    copy.close()


def test_an_unknown_identifier_is_refused(pool: SandboxPool) -> None:
    outer = referring("outer", "0123456789abcdef")
    with pytest.raises(ProgramRefused, match=r"tree.child.candidate to be a known program's identifier"):
        interpret(outer, pool=pool, resolve={}.__getitem__)


def test_a_program_inside_itself_is_refused(pool: SandboxPool) -> None:
    known: dict[str, KernelProgram] = {}
    first, second = referring("first", "b"), referring("second", "a")
    known |= {"a": first, "b": second}
    with pytest.raises(ProgramRefused, match=f"Expected programs not to contain themselves. Got {first.id}"):
        interpret(first, pool=pool, resolve=known.__getitem__)


def test_programs_nested_too_deep_are_refused(program: Program, pool: SandboxPool) -> None:
    known = {"0": program("feature_map")}
    for depth in range(1, MAX_NESTING + 1):
        known[str(depth)] = referring(f"level{depth}", str(depth - 1))
    interpret(known[str(MAX_NESTING - 1)], pool=pool, resolve=known.__getitem__).close()
    with pytest.raises(ProgramRefused, match=f"at most {MAX_NESTING} programs inside each other"):
        interpret(known[str(MAX_NESTING)], pool=pool, resolve=known.__getitem__)


@pytest.mark.parametrize(
    ("kind", "length", "message"),
    [
        ("rbfs", 0.5, r"Expected tree\.kind of linear, rbf, .*Got 'rbfs'"),
        ("rbf", -0.5, r"Expected a number in \[1e-10, 1e\+10\] for tree\.lengthscale\. Got -0\.5"),
        ("rff", 0.5, r"Expected tree to give features and seed, or omega and bias"),
    ],
)
def test_a_wrong_tree_is_refused_when_interpreted(kind: str, length: float, message: str, pool: SandboxPool) -> None:
    program = KernelProgram("wrong", "closure", LEAF_SOURCE, {"kind": kind, "length": length})
    with pytest.raises(ProgramRefused, match=message):
        interpret(program, pool=pool)


def test_an_unverified_program_is_no_leaf(program: Program, pool: SandboxPool) -> None:
    outer = referring("outer", program("unverified").to_json())
    with pytest.raises(ProgramRefused, match=r"candidate to have a contract of feature_map, .*Got unverified"):
        interpret(outer, pool=pool)


def test_a_hostile_program_inside_is_refused(pool: SandboxPool) -> None:
    hostile = KernelProgram("bad", "feature_map", "import os\ndef feature_point(x, parameters):\n    return [1.0]")
    with pytest.raises(ProgramRefused, match="os"):
        interpret(referring("outer", hostile.to_json()), pool=pool)
