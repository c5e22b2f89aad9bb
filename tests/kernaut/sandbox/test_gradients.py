"""Pullbacks against finite differences for every calling, and the programs that drop a gradient."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from kernaut.errors import InputError, SandboxFailure
from kernaut.sandbox.child import Child
from kernaut.sandbox.records import Calling
from tests.kernaut.sandbox.conftest import Load

Array = np.ndarray[Any, Any]

POINT = """
import torch

def feature_point(x, parameters):
    warp = (1 - torch.exp(-parameters["a"] * x)) / (1 - torch.exp(-parameters["a"]))
    waves = torch.stack([torch.sin(parameters["b"] * k * x.sum()) for k in range(1, parameters["count"] + 1)])
    return torch.cat([warp, waves, parameters["list"][0] * x[:1] ** 2])
"""

SLOW_POINT = """
import torch

def feature_point(x, parameters):
    if x[0] > 0:
        return [x[0] * parameters["a"], x[1] ** 2]
    return [torch.sin(parameters["b"] * x[1]), x[0] * x[1]]
"""

COORDINATE = """
import torch

def coordinate_feature(value, parameters):
    return torch.stack([torch.sin(parameters["a"] * value), value ** 2 * parameters["b"]])
"""

DIMENSION = """
import torch

def spectral_components(input_dimension, parameters):
    rows = torch.arange(1.0, 4.0)
    return rows[:, None] * parameters["a"] + torch.arange(float(input_dimension)), torch.exp(parameters["b"] * rows)
"""

TREE = """
import torch

def closure_tree(parameters):
    leaf = {"op": "base", "kind": "rbf", "lengthscale": torch.exp(parameters["a"])}
    return {"op": "sum", "children": [leaf, {"op": "scale", "weight": parameters["a"] * parameters["b"], "child": leaf}]}
"""

MATRIX = """
import torch

def kernel_matrix(x, parameters):
    return parameters["a"] * x @ x.T + parameters["b"]
"""

PARAMETERS = {"a": 0.7, "count": 2, "b": 1.3, "list": [0.4], "unused": 5.0}
POINTS = np.random.default_rng(11).normal(size=(6, 3))

CASES: list[tuple[str, Calling, Array | None]] = [
    (POINT, "point", POINTS),
    (SLOW_POINT, "point", POINTS),
    (COORDINATE, "coordinate", POINTS[:, 0]),
    (DIMENSION, "dimension", None),
    (TREE, "tree", None),
    (MATRIX, "matrix", POINTS),
]


def values_of(child: Child, points: Array | None, parameters: dict[str, Any]) -> tuple[Array, ...]:
    if child.program.calling == "tree":
        return (child.tree(parameters)[1],)
    return child.evaluate(points, parameters, input_dimension=2 if points is None else None)


@pytest.mark.parametrize(("source", "calling", "points"), CASES)
def test_a_pullback_agrees_with_finite_differences(
    source: str, calling: Calling, points: Array | None, load: Load
) -> None:
    child = load(source, calling)
    values = values_of(child, points, PARAMETERS)
    random = np.random.default_rng(3)
    cotangents = tuple(random.normal(size=value.shape) for value in values)
    dimension = 2 if calling == "dimension" else None
    answer = child.pullback(points, PARAMETERS, cotangents, input_dimension=dimension)
    for got, expected in zip(answer.values, values, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-14)

    def total(at: Array | None, parameters: dict[str, Any]) -> float:
        results = values_of(child, at, parameters)
        return sum(float((value * weight).sum()) for value, weight in zip(results, cotangents, strict=True))

    step = 1e-6
    assert list(answer.parameters) == ["a", "b", "unused"]
    for name, slope in answer.parameters.items():
        ahead = total(points, {**PARAMETERS, name: PARAMETERS[name] + step})  # type: ignore[operator]
        behind = total(points, {**PARAMETERS, name: PARAMETERS[name] - step})  # type: ignore[operator]
        assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-7, abs=1e-7)
    if points is None:
        assert answer.points is None
        return
    assert answer.points is not None and answer.points.shape == points.shape
    for index in itertools.product(*map(range, points.shape)):
        moved = [points.copy(), points.copy()]
        moved[0][index] += step
        moved[1][index] -= step
        expected = (total(moved[0], PARAMETERS) - total(moved[1], PARAMETERS)) / (2 * step)
        assert answer.points[index] == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_a_slow_path_says_so_in_a_pullback(load: Load) -> None:
    child = load(SLOW_POINT)
    child.pullback(POINTS, PARAMETERS, (np.ones((6, 2)),))
    assert child.slow_path and child.differentiable


def test_the_gradient_in_the_points_may_be_left_out(load: Load) -> None:
    child = load(POINT)
    weights = (np.ones((6, 6)),)
    full = child.pullback(POINTS, PARAMETERS, weights)
    lean = child.pullback(POINTS, PARAMETERS, weights, want_points=False)
    assert lean.points is None
    assert lean.parameters == pytest.approx(full.parameters, rel=1e-14)


def test_no_points_pull_back_nothing(load: Load) -> None:
    answer = load(POINT).pullback(np.zeros((0, 3)), PARAMETERS, (np.zeros((0, 6)),))
    assert answer.parameters == {"a": 0.0, "b": 0.0, "unused": 0.0}
    assert answer.points is not None and answer.points.shape == (0, 3)


LOST = {
    "math.sin(a)": "return x * math.sin(a)",
    "float(a)": "return x * float(a)",
    "item": "return x * a.item()",
    "detach": "return x * a.detach()",
    "half lost": "return x * a + float(a)",
    "torch.tensor": "return x * torch.tensor([a])",
    "numpy": "return x * torch.as_tensor(np.sin(a.numpy()))",
    "new_tensor": "return x * x.new_tensor([float(a)])",
}


@pytest.mark.parametrize("body", LOST.values(), ids=LOST.keys())
def test_a_lost_gradient_is_not_differentiable(body: str, load: Load) -> None:
    source = f"import math\nimport numpy as np\nimport torch\ndef feature_point(x, parameters):\n    a, b = parameters['a'], parameters['b']\n    {body} + b * x\n"
    child = load(source)
    assert child.differentiable
    (values,) = child.evaluate(POINTS, {"a": 0.7, "b": 0.2, "unused": 1.0})
    assert np.isfinite(values).all()
    for _ in range(2):
        with pytest.raises(SandboxFailure, match="not differentiable") as failure:
            child.pullback(POINTS, {"a": 0.7, "b": 0.2, "unused": 1.0}, (np.ones((6, 3)),))
        assert failure.value.state == "failed"
    assert not child.differentiable
    if "numpy" not in body:
        assert "parameter a:" in str(failure.value)


def test_a_gradient_lost_in_the_points_is_not_differentiable(load: Load) -> None:
    source = "import math\nimport torch\ndef feature_point(x, parameters):\n    return [math.sin(x[0]), x[1] * parameters['a']]\n"
    child = load(source)
    with pytest.raises(SandboxFailure, match="in the points"):
        child.pullback(POINTS, {"a": 0.7}, (np.ones((6, 2)),))


KEPT = {
    "a step in x": "return torch.floor(3 * x) * a",
    "kinks in x": "return torch.relu(x - 0.1) + (x * a).abs()",
    "a clamp at its bound": "return x * torch.clamp(a, 0.0, 0.7)",
    "an integer of a": "return torch.cat([x * a] * int(10 * a + 0.5))",
    "a branch on a": "return x * a if a > 0.5 else x",
    "a at a kink": "return x * (a - 0.7).abs() + x",
    "in place": "x *= a\n    return x",
    "parameters in place": "a *= 2\n    return x * a",
    "constant": "return torch.ones(2)",
    "a maximum taken out": "m = (x * a).max().detach()\n    return torch.exp(x * a - m) / torch.exp(x * a - m).sum()",
}


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT.keys())
def test_kinks_steps_and_branches_are_differentiable(body: str, load: Load) -> None:
    child = load(f"import torch\ndef feature_point(x, parameters):\n    a = parameters['a']\n    {body}\n")
    (values,) = child.evaluate(POINTS, {"a": 0.7})
    child.pullback(POINTS, {"a": 0.7}, (np.random.default_rng(2).normal(size=values.shape),))
    assert child.differentiable


def test_a_gradient_that_is_not_finite_is_named(load: Load) -> None:
    child = load("import torch\ndef feature_point(x, parameters):\n    return torch.sqrt(x * parameters['a'])\n")
    with pytest.raises(SandboxFailure, match="parameter a is nan"):
        child.pullback(np.array([[0.0], [1.0]]), {"a": 0.7}, (np.ones((2, 1)),))
    root = load("import torch\ndef feature_point(x, parameters):\n    return torch.sqrt(x) + parameters['a']\n")
    with pytest.raises(SandboxFailure, match="gradient at point 1 is inf"):
        root.pullback(np.array([[1.0], [0.0]]), {"a": 0.7}, (np.ones((2, 1)),))


def test_numpy_programs_have_no_pullback(load: Load) -> None:
    child = load("def feature_point(x, parameters):\n    return x\n")
    assert not child.differentiable
    with pytest.raises(SandboxFailure, match="not differentiable") as failure:
        child.pullback(POINTS, {"a": 0.7}, (np.ones((6, 3)),))
    assert failure.value.state == "failed"


def test_cotangents_must_fit(load: Load) -> None:
    child = load(POINT)
    with pytest.raises(SandboxFailure, match="cotangents"):
        child.pullback(POINTS, PARAMETERS, (np.ones((6, 5)),))
    with pytest.raises(InputError, match="cotangents"):
        child.pullback(POINTS, PARAMETERS, ())
