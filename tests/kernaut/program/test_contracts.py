"""The published contracts: names, entry points and arguments do not change, since candidate files carry them."""

from __future__ import annotations

import pytest

from kernaut.errors import ProgramRefused
from kernaut.program.contracts import CONTRACTS, contract_named

PUBLISHED = {
    "feature_map": ("feature_point", ("x", "parameters"), "point", False, True),
    "additive_feature_map": ("coordinate_feature", ("value", "parameters"), "coordinate", False, True),
    "spectral": ("spectral_components", ("input_dimension", "parameters"), "dimension", False, True),
    "input_transform": ("transform_point", ("x", "parameters"), "point", False, True),
    "residual_feature_map": ("feature_point", ("x", "parameters"), "point", True, True),
    "residual_input_transform": ("transform_point", ("x", "parameters"), "point", True, True),
    "closure": ("closure_tree", ("parameters",), "tree", False, True),
    "state_space": ("state_space_matrices", ("parameters",), "tree", False, True),
    "coregionalized": ("coregionalization", ("parameters",), "tree", False, True),
    "unverified": ("kernel_matrix", ("x", "parameters"), "matrix", False, False),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_contracts_are_there_unchanged(name: str) -> None:
    rules = contract_named(name)
    assert (rules.entry_point, rules.arguments, rules.calling, rules.residual, rules.acceptable) == PUBLISHED[name]
    assert rules.name == name
    assert rules.meaning.endswith(".")


def test_contracts_are_filed_under_their_names() -> None:
    assert all(contract.name == name for name, contract in CONTRACTS.items())


@pytest.mark.parametrize("name", ["feature-map", "", None, 3, ["spectral"]])
def test_an_unknown_contract_is_refused_with_the_legal_names(name: object) -> None:
    with pytest.raises(ProgramRefused, match=r"Expected a contract of feature_map, .*unverified.*Got"):
        contract_named(name)
