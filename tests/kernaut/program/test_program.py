"""Kernel programs: identity, checks, and candidate files that load unchanged."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import pickle
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernaut.errors import InputError, ProgramRefused
from kernaut.program.formulation import FORMULATION_FIELDS
from kernaut.program.parameters import ParameterSpec
from kernaut.program.program import KernelProgram, load_candidate, program_from_json, save_candidate

SOURCE = "def feature_point(x, parameters):\n    return [parameters['a'] * x[0]]\n"
RECORD: dict[str, Any] = {
    "name": "ramp",
    "contract": "feature_map",
    "source": SOURCE,
    "parameters": {"a": 0.5, "nested": {"b": [1, 2]}},
    "parents": ["0123456789abcdef"],
    "rationale": "A ramp.",
}
FORMULATION = {name: f"About {name}." for name in FORMULATION_FIELDS} | {
    "construction_niche": "open_ended",
    "feature_growth": "linear",
}


def program(**changes: Any) -> KernelProgram:
    return program_from_json(RECORD | changes)


def test_the_identifier_is_the_digest_of_five_fields_and_of_nothing_else() -> None:
    five = {key: RECORD[key] for key in ("name", "contract", "source", "parameters", "parents")}
    text = json.dumps(five, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert program().id == hashlib.sha256(text.encode()).hexdigest()[:16]
    space = {"a": {"type": "float", "lower": 0.0, "upper": 1.0}}
    assert program(rationale="Other.", parameter_space=space, **FORMULATION).id == program().id
    changed = [
        program(name="ramps"),
        program(contract="residual_feature_map"),
        program(source=SOURCE + "\n"),
        program(parameters={"a": 0.25, "nested": {"b": [1, 2]}}),
        program(parents=[]),
    ]
    assert len({program().id, *(other.id for other in changed)}) == 6


def test_the_identifier_does_not_depend_on_the_order_of_keys() -> None:
    assert program(parameters={"nested": {"b": [1, 2]}, "a": 0.5}).id == program().id


def test_programs_are_frozen_all_the_way_down_and_hashable() -> None:
    one = program()
    with pytest.raises(FrozenInstanceError):
        one.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        one.parameters["a"] = 1.0  # type: ignore[index]
    assert one.parameters["nested"]["b"] == (1, 2)
    assert len({one, program(), pickle.loads(pickle.dumps(one)), copy.deepcopy(one)}) == 1


def test_given_objects_are_copied() -> None:
    parameters = {"a": 0.5, "list": [1.0]}
    one = KernelProgram("ramp", "feature_map", SOURCE, parameters)
    parameters["list"].append(2.0)  # type: ignore[attr-defined]
    assert one.parameters["list"] == (1.0,)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "1st"}, "starts with a letter"),
        ({"name": "a" * 81}, "at most 80"),
        ({"name": "a b"}, "letters, digits"),
        ({"name": "ramp\n"}, "letters, digits"),
        ({"name": 3}, "starts with a letter"),
        ({"contract": "featuremap"}, "Expected a contract of feature_map"),
        ({"source": "  \n"}, "source text"),
        ({"source": "x" * 100_001}, "at most 100000 characters. Got 100001"),
        ({"source": "# \ud800"}, "UTF-8"),
        ({"parameters": []}, "parameters to be an object"),
        ({"parameters": {"a": math.nan}}, r"finite number for parameters\.a"),
        ({"parameters": {"a": {"b": [math.inf]}}}, r"parameters\.a\.b\[0\]"),
        ({"parents": "0123"}, "parents of candidate to be an array"),
        ({"parents": [1]}, "parents to be identifiers"),
        ({"colour": "red"}, "Expected only the keys .*Got colour"),
        ({"candidate_id": "0" * 16}, "Expected candidate_id [0-9a-f]{16} for this content"),
        (
            {"parameter_space": {"c": {"lower": 0.0, "upper": 1.0}}},
            "a value in parameters for the declared parameter 'c'",
        ),
        ({"parameter_space": {"a": {"lower": 0.6, "upper": 1.0}}}, r"declared range \[0\.6, 1\.0\]\. Got 0\.5"),
        ({"psd_argument": "Only this."}, "formulation fields"),
    ],
)
def test_candidates_that_break_a_rule_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ProgramRefused, match=message):
        program(**changes)


@pytest.mark.parametrize("key", ["name", "contract", "source"])
def test_missing_keys_are_named(key: str) -> None:
    with pytest.raises(ProgramRefused, match=f"Got none of: {key}"):
        program_from_json({name: value for name, value in RECORD.items() if name != key})


def test_a_candidate_of_the_three_required_keys_has_defaults() -> None:
    bare = program_from_json({key: RECORD[key] for key in ("name", "contract", "source")})
    assert (dict(bare.parameters), bare.parents, bare.rationale, bare.formulation, bare.space) == ({}, (), "", None, ())


@pytest.mark.parametrize("nested", [False, True])
def test_files_travel_both_ways(nested: bool, tmp_path: Path) -> None:
    stated: dict[str, Any] = {"formulation": FORMULATION} if nested else FORMULATION
    space = {"a": {"type": "float", "scale": "log", "lower": 0.1, "upper": 1.0}}
    one = program(parameter_space=space, **stated)
    save_candidate(one, tmp_path / "candidate.json")
    assert load_candidate(tmp_path / "candidate.json") == one
    assert one.to_json() == RECORD | FORMULATION | {"parameter_space": space}
    assert one.formulation is not None
    assert one.rules.entry_point == "feature_point"


def test_a_file_with_its_own_identifier_is_checked_against_it() -> None:
    assert program(candidate_id=program().id) == program()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "Expected JSON in .*candidate.json"),
        (b'{"name": NaN}', "finite number"),
        (b"[1]", "JSON object. Got list"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_unreadable_files_say_why(text: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "candidate.json"
    path.write_bytes(text)
    with pytest.raises(InputError, match=message):
        load_candidate(path)


def test_a_missing_file_and_a_folder_say_why(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(InputError, match="Expected a readable candidate file"):
            load_candidate(path)


def test_parameters_are_replaced_by_name() -> None:
    tuned = replace(program(), space=(ParameterSpec("a", lower=0.0, upper=1.0),))
    other = tuned.with_parameters({"a": 0.75})
    assert other.parameters["a"] == 0.75
    assert other.parameters["nested"] == tuned.parameters["nested"]
    assert other.id != tuned.id
    with pytest.raises(ProgramRefused, match=r"Expected parameters of a, nested. Got c"):
        tuned.with_parameters({"c": 1.0})
    with pytest.raises(ProgramRefused, match="declared range"):
        tuned.with_parameters({"a": 1.5})


@given(st.dictionaries(st.text(max_size=5), st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers())))
def test_any_finite_parameters_survive_a_file(parameters: dict[str, Any]) -> None:
    one = program(parameters=parameters)
    again = program_from_json(json.loads(json.dumps(one.to_json())))
    assert again == one
    assert again.id == one.id
