"""Closure trees: read in full or refused with the path of the first wrong node."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernaut.errors import ProgramRefused
from kernaut.program.base_node import Base, NumberReader
from kernaut.program.closure import (
    MAX_DEPTH,
    MAX_NODES,
    Node,
    Product,
    ProgramLeaf,
    Pullback,
    Scale,
    Sum,
    closure_node,
    float_names,
    program_leaf,
)
from kernaut.program.parameters import ParameterSpec
from kernaut.program.program import KernelProgram

RBF = {"op": "base", "kind": "rbf"}
SOURCE = "def feature_point(x, parameters):\n    return [x[0]]"
TRANSFORM = "def transform_point(x, parameters):\n    return x"
CANDIDATE = {"name": "inner", "contract": "residual_feature_map", "source": SOURCE, "parameters": {"a": 0.5, "n": 2}}


def node(record: Any, values: tuple[float, ...] = ()) -> tuple[Node, list[int]]:
    reader = NumberReader(values)
    return closure_node(record, reader=reader), reader.references


def test_a_tree_of_every_operation() -> None:
    record = {
        "op": "sum",
        "children": [
            {"op": "scale", "weight": 2, "child": RBF},
            {"op": "product", "children": [RBF, {"op": "base", "kind": "rq", "alpha": 0.5}]},
            {"op": "pullback", "matrix": [[1, 2, 3], [4, 5, 6]], "child": RBF},
            {"op": "program", "candidate": CANDIDATE},
        ],
    }
    tree, references = node(record)
    assert isinstance(tree, Sum)
    scale, product, pullback, leaf = tree.children
    assert isinstance(scale, Scale)
    assert scale.numbers() == (2.0, 1.0, 1.0)
    assert isinstance(product, Product)
    assert product.numbers() == (1.0, 1.0, 1.0, 1.0, 0.5)
    assert isinstance(pullback, Pullback)
    assert pullback.matrix.shape == (2, 3)
    assert pullback.numbers() == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0, 1.0)
    assert isinstance(leaf, ProgramLeaf)
    assert leaf.floats == ("a",)
    assert leaf.base is not None
    assert leaf.base.kind == "matern52"
    assert leaf.numbers() == (0.5, 1.0, 0.5)
    assert references == [-1] * len(tree.numbers())


CASES: list[tuple[Any, str]] = [
    (None, "Expected tree to be a node with op of sum, product, scale, pullback, program, base. Got None"),
    ({"op": "difference"}, "tree to be a node with op of sum"),
    ({"kind": "rbf"}, "tree to be a node with op"),
    ({"op": ["sum"]}, "tree to be a node with op"),
    ({"op": "sum", "children": [RBF]}, "tree.children to be a list of two or more nodes"),
    ({"op": "sum", "children": {"a": RBF, "b": RBF}}, "tree.children to be a list"),
    ({"op": "sum", "children": [RBF, RBF], "weight": 1}, "exactly the keys op, children in tree"),
    ({"op": "product"}, "exactly the keys op, children in tree"),
    ({"op": "sum", "children": [RBF, {"op": "base", "kind": "x"}]}, r"tree\.children\[1\]\.kind of linear"),
    ({"op": "scale", "weight": -1, "child": RBF}, r"a number in \[0, 1e\+10\] for tree\.weight\. Got -1"),
    ({"op": "scale", "weight": 1}, "exactly the keys op, weight, child"),
    ({"op": "scale", "weight": 1, "child": RBF | {"lengthscale": 0}}, "tree.child.lengthscale"),
    ({"op": "pullback", "matrix": [1, 2], "child": RBF}, "a list of lists of numbers for tree.matrix"),
    ({"op": "pullback", "matrix": [[1, 2], [3]], "child": RBF}, "lists of equal length for tree.matrix"),
    ({"op": "pullback", "matrix": [[1, "2"]], "child": RBF}, r"tree\.matrix\[0\]\[1\]\. Got '2'"),
    ({"op": "program", "candidate": 3}, "tree.candidate to be a candidate object or an identifier"),
    ({"op": "program", "candidate": "abc"}, "no archive is at hand. Got the identifier 'abc'"),
    ({"op": "program", "candidate": {"name": "x"}}, "in tree.candidate. Got none of: contract, source"),
    (
        {"op": "program", "candidate": CANDIDATE | {"contract": "unverified"}},
        "tree.candidate to have a contract of feature_map",
    ),
    (
        {"op": "program", "candidate": CANDIDATE | {"parameters": {"base_kernel": {"kind": "x"}}}},
        r"tree\.candidate\.parameters\.base_kernel\.kind of linear",
    ),
    (
        {"op": "program", "candidate": CANDIDATE | {"parameters": {"residual_weight": None}}},
        r"tree\.candidate\.parameters\.residual_weight\. Got None",
    ),
]


@pytest.mark.parametrize(("record", "message"), CASES)
def test_a_wrong_tree_is_refused_with_its_path(record: Any, message: str) -> None:
    with pytest.raises(ProgramRefused, match=message):
        node(record)


def test_references_reach_weights_matrices_leaves_and_candidates() -> None:
    candidate = {
        "name": "inner",
        "contract": "residual_input_transform",
        "source": TRANSFORM,
        "parameters": {
            "n": 2,
            "rate": {"$": 3},
            "base_kernel": {"kind": "rbf", "lengthscale": {"$": 4}},
            "residual_base_kernel": {"kind": "rq", "alpha": {"$": 0}},
            "residual_weight": {"$": 1},
        },
    }
    record = {
        "op": "sum",
        "children": [
            {"op": "scale", "weight": {"$": 0}, "child": {"op": "base", "kind": "rbf", "lengthscale": {"$": 2}}},
            {"op": "pullback", "matrix": [[{"$": 1}, 7]], "child": RBF},
            {"op": "program", "candidate": candidate},
        ],
    }
    values = (0.1, 0.2, 0.3, 0.4, 0.5)
    tree, references = node(record, values)
    leaf = tree.children[2]  # type: ignore[union-attr]
    assert isinstance(leaf, ProgramLeaf)
    assert leaf.floats == ("rate", "residual_weight")
    assert leaf.program.parameters["rate"] == 0.4
    assert references == [0, -1, 2, 1, -1, -1, -1, 3, 1, -1, 4, -1, -1, 0]
    numbers = tree.numbers()
    assert len(numbers) == len(references)
    assert all(numbers[i] == values[r] for i, r in enumerate(references) if r >= 0)


def test_a_reference_in_a_place_without_gradient_is_noticed() -> None:
    reader = NumberReader([0.5])
    candidate = CANDIDATE | {"parameters": {"slopes": [{"$": 0}], "a": {"$": 0}}}
    tree = closure_node({"op": "program", "candidate": candidate}, reader=reader)
    assert isinstance(tree, ProgramLeaf)
    assert tree.program.parameters["slopes"] == (0.5,)
    assert reader.detached


def test_identifiers_are_resolved() -> None:
    known = KernelProgram("known", "feature_map", SOURCE, {"a": 0.5})
    tree = closure_node({"op": "program", "candidate": known.id}, resolve={known.id: known}.__getitem__)
    assert isinstance(tree, ProgramLeaf)
    assert tree.program == known
    own = KernelProgram("own", "unverified", SOURCE)
    for identifier, message in (("other", "known program's identifier. Got 'other'"), ("own", "to have a contract of")):
        with pytest.raises(ProgramRefused, match=message):
            closure_node({"op": "program", "candidate": identifier}, resolve={"own": own}.__getitem__)


def test_depth_and_size_are_limited() -> None:
    deep: dict[str, Any] = RBF
    for _ in range(MAX_DEPTH):
        deep = {"op": "scale", "weight": 1, "child": deep}
    closure_node(deep)
    with pytest.raises(ProgramRefused, match="depth 16 and 256 nodes at most"):
        closure_node({"op": "scale", "weight": 1, "child": deep})
    closure_node({"op": "sum", "children": [RBF] * (MAX_NODES - 1)})
    with pytest.raises(ProgramRefused, match=r"Got more at tree\.children\[255\]"):
        closure_node({"op": "sum", "children": [RBF] * MAX_NODES})


def test_float_parameters_are_the_declared_ones_or_all_floats() -> None:
    parameters = {"a": 0.5, "n": 2, "on": True, "kind": "x", "list": [0.5], "b": 1.0}
    assert float_names(KernelProgram("p", "feature_map", SOURCE, parameters)) == ("a", "b")
    space = (ParameterSpec("n", "float", lower=0.0, upper=4.0), ParameterSpec("b", "int", lower=0, upper=2))
    assert float_names(KernelProgram("p", "feature_map", SOURCE, parameters, space=space)) == ("n",)


@pytest.mark.parametrize(
    ("contract", "bases"),
    [
        ("feature_map", 0),
        ("additive_feature_map", 0),
        ("spectral", 0),
        ("closure", 0),
        ("unverified", 0),
        ("input_transform", 1),
        ("residual_feature_map", 1),
        ("residual_input_transform", 2),
    ],
)
def test_contracts_have_the_bases_they_use(contract: str, bases: int) -> None:
    parameters = {
        "a": 0.5,
        "base_kernel": {"kind": "rq", "alpha": 3},
        "residual_base_kernel": {"kind": "linear", "variance": 2},
        "residual_weight": 4,
    }
    leaf = program_leaf(KernelProgram("p", contract, SOURCE, parameters))
    found = [base for base in (leaf.base, leaf.residual_base) if base is not None]
    assert [base.kind for base in found] == ["rq", "linear"][:bases]
    assert leaf.numbers() == (0.5, 1.0, 1.0, 3.0, 2.0, 1.0)[: (1, 4, 6)[bases]]
    assert leaf.residual_weight == (4.0 if contract.startswith("residual") else 1.0)


numbers = st.floats(0.1, 5.0)
leaves = st.builds(
    lambda kind, a, b: {"op": "base", "kind": kind, "variance": a, "lengthscale": b},
    st.sampled_from(["rbf", "rq", "linear", "periodic", "ard_rbf"]),
    numbers,
    numbers,
)
trees = st.recursive(
    leaves,
    lambda child: st.one_of(
        st.builds(
            lambda op, cs: {"op": op, "children": cs},
            st.sampled_from(["sum", "product"]),
            st.lists(child, min_size=2, max_size=3),
        ),
        st.builds(lambda w, c: {"op": "scale", "weight": w, "child": c}, numbers, child),
        st.builds(lambda a, b, c: {"op": "pullback", "matrix": [[a, b]], "child": c}, numbers, numbers, child),
    ),
    max_leaves=6,
)


@given(trees)
def test_numbers_and_references_are_read_in_one_order(record: Any) -> None:
    """Replace every number by a reference to itself: the same tree, and each number knows its place."""
    plain = closure_node(record)
    values: list[float] = []

    def refer(value: Any) -> Any:
        if isinstance(value, float):
            values.append(value)
            return {"$": len(values) - 1}
        if isinstance(value, dict):
            return {key: refer(item) for key, item in value.items()}
        return [refer(item) for item in value] if isinstance(value, list) else value

    referring = refer(record)
    reader = NumberReader(values)
    tree = closure_node(referring, reader=reader)
    assert tree == plain
    assert tree.skeleton() == plain.skeleton()
    assert len(reader.references) == len(tree.numbers())
    assert [n for n, r in zip(tree.numbers(), reader.references, strict=True) if r >= 0] == [
        values[r] for r in reader.references if r >= 0
    ]
    assert sorted(r for r in reader.references if r >= 0) == list(range(len(values)))
    assert isinstance(plain, (Base, Sum, Product, Scale, Pullback))
