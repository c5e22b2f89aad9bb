"""Base nodes: read in full or refused with path and legal values."""

from __future__ import annotations

import math
from typing import Any

import pytest

from kernaut.errors import ProgramRefused
from kernaut.program.base_node import Array, NumberReader, base_node
from kernaut.program.leaves import LEAF_KINDS

REQUIRED: dict[str, dict[str, Any]] = {
    "spectral_mixture": {"weights": [0.5, 1], "means": [0.1, 0.2], "scales": [0.3, 0.4]},
    "rff": {"features": 8, "seed": 3},
}


@pytest.mark.parametrize("kind", LEAF_KINDS)
def test_every_kind_reads_with_what_it_requires(kind: str) -> None:
    node = base_node({"kind": kind, **REQUIRED.get(kind, {})})
    assert node.kind == kind
    assert node == base_node({"op": "base", "kind": kind, **REQUIRED.get(kind, {})})
    names = [array.name for array in node.arrays]
    assert names[0] == "variance"
    assert node.numbers()[0] == 1.0
    assert ("lengthscale" in names) != LEAF_KINDS[kind].ard


def test_numbers_come_in_declared_order_whatever_the_order_of_keys() -> None:
    node = base_node({"alpha": 0.25, "lengthscale": 2, "kind": "rq", "variance": 3})
    assert node.arrays == (Array("variance", (), (3.0,)), Array("lengthscale", (), (2.0,)), Array("alpha", (), (0.25,)))
    assert node.numbers() == (3.0, 2.0, 0.25)
    assert all(type(number) is float for number in node.numbers())


def test_lengthscales_are_a_list_a_number_or_a_ramp() -> None:
    assert base_node({"kind": "ard_rbf", "lengthscales": [0.5, 2]}).arrays[1] == Array("lengthscales", (2,), (0.5, 2.0))
    assert base_node({"kind": "ard_rbf", "lengthscales": 0.5}).arrays[1] == Array("lengthscales", (), (0.5,))
    assert base_node({"kind": "ard_rbf", "lengthscale": 0.5}).arrays[1] == Array("lengthscales", (), (0.5,))
    ramp = base_node({"kind": "ard_rbf", "lengthscales": {"mode": "geometric_ramp", "min": 4, "max": 0.25}})
    assert ramp.arrays[1:] == (Array("min", (), (4.0,)), Array("max", (), (0.25,)))
    assert ramp.options == (("ramp", 1),)
    assert ramp.skeleton() != base_node({"kind": "ard_rbf", "lengthscales": [4, 0.25]}).skeleton()


def test_skeletons_leave_the_numbers_out() -> None:
    assert base_node({"kind": "rbf"}).skeleton() == base_node({"kind": "rbf", "lengthscale": 0.5}).skeleton()
    assert base_node({"kind": "rbf"}).skeleton() != base_node({"kind": "matern12"}).skeleton()
    q1, q2 = (base_node({"kind": "piecewise_polynomial", "q": q}).skeleton() for q in (1, 2))
    assert q1 != q2


MIXTURE = {"kind": "spectral_mixture", "weights": [1, 2], "means": [0.1, 0.2], "scales": [0.3, 0.4]}
STORED = {"kind": "rff", "omega": [[1, 2], [3, 4]], "bias": [0.1, 0.2]}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (None, "node to be a base node such as .*Got None"),
        ({}, "node.kind of linear, rbf, matern12"),
        ({"kind": "RBF"}, "node.kind of linear, .*Got 'RBF'"),
        ({"kind": ["rbf"]}, "node.kind of linear"),
        ({"kind": "rbf", "op": "sum"}, "node.op to be base or absent. Got 'sum'"),
        ({"kind": "rbf", "lengthscales": [1]}, "Expected only the keys op, kind, variance, lengthscale in node"),
        ({"kind": "rbf", "lengthscale": math.nan}, r"a number in \[1e-10, 1e\+10\] for node\.lengthscale\. Got nan"),
        ({"kind": "rbf", "lengthscale": math.inf}, "node.lengthscale. Got inf"),
        ({"kind": "rbf", "lengthscale": 0}, "node.lengthscale. Got 0"),
        ({"kind": "rbf", "lengthscale": 10**400}, "node.lengthscale. Got 1000"),
        ({"kind": "rbf", "lengthscale": True}, "node.lengthscale. Got True"),
        ({"kind": "rbf", "lengthscale": "1"}, "node.lengthscale. Got '1'"),
        ({"kind": "rbf", "lengthscale": [1.0]}, "a number for node.lengthscale"),
        ({"kind": "rbf", "variance": -0.1}, r"a number in \[0, 1e\+10\] for node\.variance"),
        ({"kind": "rq", "alpha": 0}, "node.alpha"),
        ({"kind": "periodic", "period": -1}, "node.period"),
        ({"kind": "polynomial", "power": 0}, r"a whole number in \[1, 10\] for node\.power\. Got 0"),
        ({"kind": "polynomial", "power": 1.5}, "node.power. Got 1.5"),
        ({"kind": "polynomial", "power": True}, "node.power. Got True"),
        ({"kind": "polynomial", "offset": -1}, "node.offset"),
        ({"kind": "piecewise_polynomial", "q": 4}, r"in \[0, 3\] for node\.q"),
        ({"kind": "spectral_mixture"}, "node.weights for kind spectral_mixture. Got nothing"),
        (MIXTURE | {"weights": 1}, "a list of numbers for node.weights"),
        (MIXTURE | {"weights": [1, -2]}, r"node\.weights\[1\]\. Got -2"),
        (MIXTURE | {"means": [0.1]}, "Expected 2 node.means, one a weight. Got 1"),
        (MIXTURE | {"means": [[0.1, 0.2], [0.3]]}, "lists of equal length for node.means"),
        (MIXTURE | {"means": [[0.1], 0.2]}, "lists of equal length for node.means"),
        (MIXTURE | {"means": [[], []]}, "a list of numbers or a list of lists of numbers for node.means"),
        (MIXTURE | {"scales": [0.3, None]}, r"node\.scales\[1\]\. Got None"),
        ({"kind": "rff"}, "node to give features and seed, or omega and bias"),
        ({"kind": "rff", "seed": 3}, "features and seed, or omega and bias"),
        ({"kind": "rff", "features": 0, "seed": 3}, r"\[1, 8192\] for node\.features"),
        (STORED | {"features": 2}, "features and seed, or omega and bias"),
        ({"kind": "rff", "omega": [[1.0]]}, "features and seed, or omega and bias"),
        (STORED | {"bias": [0.1]}, "Expected 2 entries of node.bias, one a frequency. Got 1"),
        ({"kind": "ard_rbf", "lengthscales": []}, "a number or a list of numbers for node.lengthscales"),
        ({"kind": "ard_rbf", "lengthscales": [1, 0]}, r"node\.lengthscales\[1\]"),
        ({"kind": "ard_rbf", "lengthscales": 1, "lengthscale": 1}, "lengthscales or lengthscale in node. Got both"),
        ({"kind": "ard_rbf", "lengthscales": {"mode": "ramp", "min": 1, "max": 2}}, "'geometric_ramp', 'min', 'max'"),
        ({"kind": "ard_rbf", "lengthscales": {"mode": "geometric_ramp", "min": 1}}, "'geometric_ramp', 'min', 'max'"),
        (
            {"kind": "ard_rbf", "lengthscales": {"mode": "geometric_ramp", "min": 0, "max": 2}},
            "node.lengthscales.min. Got 0",
        ),
    ],
)
def test_a_wrong_node_is_refused_with_path_and_legal_values(record: Any, message: str) -> None:
    with pytest.raises(ProgramRefused, match=message):
        base_node(record, "node")


def test_references_are_followed_and_remembered() -> None:
    reader = NumberReader([0.5, 2.0, 0.25])
    node = base_node({"kind": "ard_rbf", "variance": {"$": 2}, "lengthscales": [1.5, {"$": 0}, {"$": 1}]}, "n", reader)
    assert node.numbers() == (0.25, 1.5, 0.5, 2.0)
    assert reader.references == [2, -1, 0, 1]
    assert not reader.detached


@pytest.mark.parametrize("index", [3, -1, 0.0, True, None])
def test_references_to_nothing_are_refused(index: Any) -> None:
    with pytest.raises(ProgramRefused, match=r"Expected n.variance to refer to one of 3 values"):
        base_node({"kind": "rbf", "variance": {"$": index}}, "n", NumberReader([1.0, 2.0, 3.0]))


def test_options_cannot_depend_on_float_parameters() -> None:
    with pytest.raises(ProgramRefused, match=r"Expected a plain whole number for n.power. Got a float parameter"):
        base_node({"kind": "polynomial", "power": {"$": 0}}, "n", NumberReader([2.0]))
