"""Closure trees: structure as text, float-dependent numbers apart."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kernaut.errors import SandboxFailure
from tests.kernaut.sandbox.conftest import Load

TORCH = """
import numpy as np
import torch

def closure_tree(parameters):
    scales = torch.stack([parameters["a"], 2 * parameters["a"]])
    leaf = {"op": "base", "kind": "ard_rbf", "lengthscales": scales, "variance": 1.5, "n": torch.tensor(3)}
    matrix = np.array([[1.0, 0.5]])
    return {"op": "sum", "children": [leaf, {"op": "pullback", "matrix": matrix, "child": {"op": "base", "kind": parameters["kind"]}},
            {"op": "scale", "weight": parameters["b"], "child": {"op": "base", "kind": "rbf", "lengthscale": 0.5}}]}
"""


def test_numbers_that_depend_on_floats_become_references(load: Load) -> None:
    text, values = load(TORCH, "tree").tree({"a": 0.25, "kind": "matern52", "b": 3.0})
    tree = json.loads(text)
    np.testing.assert_array_equal(values, [0.25, 0.5, 3.0])
    first, second, third = tree["children"]
    assert first == {
        "op": "base",
        "kind": "ard_rbf",
        "lengthscales": [{"$": 0}, {"$": 1}],
        "variance": 1.5,
        "n": 3,
    }
    assert second == {"op": "pullback", "matrix": [[1.0, 0.5]], "child": {"op": "base", "kind": "matern52"}}
    assert third["weight"] == {"$": 2}


def test_a_numpy_tree_is_plain(load: Load) -> None:
    source = (
        "def closure_tree(parameters):\n    return {'op': 'base', 'kind': 'rbf', 'lengthscale': parameters['a'] ** 2}\n"
    )
    text, values = load(source, "tree").tree({"a": 0.5})
    assert json.loads(text) == {"op": "base", "kind": "rbf", "lengthscale": 0.25}
    assert values.shape == (0,)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("{1, 2}", "got set at tree"),
        ("{'a': [1, lambda: 2]}", r"got function at tree\.a\[1\]"),
        ("{3: 1}", "string keys"),
        ("{'$': 0}", "string keys"),
        ("{'a': 1e400}", "finite numbers"),
        ("[[1.0] * 200] * 200", "at most 64 levels and 20000 values"),
        ("'x' * 5000000", "characters"),
        ("{'a': 1j}", "got complex"),
    ],
)
def test_what_is_no_json_is_named_with_its_path(expression: str, reason: str, load: Load) -> None:
    child = load(f"def closure_tree(parameters):\n    return {expression}\n", "tree")
    with pytest.raises(SandboxFailure, match=reason) as failure:
        child.tree({})
    assert failure.value.state == "failed"


def test_a_tree_that_holds_itself_ends(load: Load) -> None:
    child = load("def closure_tree(parameters):\n    tree = []\n    tree.append(tree)\n    return tree\n", "tree")
    with pytest.raises(SandboxFailure, match="64 levels"):
        child.tree({})


def test_a_tensor_that_is_not_finite_is_named(load: Load) -> None:
    child = load("import torch\ndef closure_tree(parameters):\n    return {'a': 1 / (parameters['a'] - 1)}\n", "tree")
    with pytest.raises(SandboxFailure, match="component 0 is inf"):
        child.tree({"a": 1.0})
