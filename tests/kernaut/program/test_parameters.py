"""Declared ranges: to the unit interval and back, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernaut.errors import InputError
from kernaut.program.parameters import MAX_TUNABLE, ParameterSpec, parameter_space

units = st.floats(0, 1)


@given(u=units)
def test_linear_and_log_ranges_decode_as_defined(u: float) -> None:
    linear = ParameterSpec("a", "float", "linear", -1.5, 2.0)
    assert linear.decode(u) == pytest.approx(-1.5 + 3.5 * u, abs=1e-12)
    log = ParameterSpec("a", "float", "log", 0.01, 100.0)
    assert log.decode(u) == pytest.approx(0.01 * 10_000**u, rel=1e-12)
    assert 0.01 <= log.decode(u) <= 100.0


@given(u=units)
def test_encode_undoes_decode(u: float) -> None:
    for spec in (ParameterSpec("a", lower=-1.5, upper=2.0), ParameterSpec("a", "float", "log", 1e-3, 1e2)):
        assert spec.encode(spec.decode(u)) == pytest.approx(u, abs=1e-9)
    whole = ParameterSpec("n", "int", lower=1, upper=9)
    assert abs(whole.encode(whole.decode(u)) - u) <= 0.5 / 8 + 1e-12
    assert isinstance(whole.decode(u), int)


@given(u=units)
def test_a_choice_is_the_floor_of_its_position(u: float) -> None:
    spec = ParameterSpec("kind", "categorical", choices=("rbf", "rq", "linear"))
    assert spec.decode(u) == spec.choices[min(math.floor(3 * u), 2)]
    assert spec.decode(spec.encode(spec.decode(u))) == spec.decode(u)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"type": "number"}, "type of float, int, categorical"),
        ({"scale": "sqrt", "lower": 0.0, "upper": 1.0}, "scale of linear, log"),
        ({"lower": 1.0, "upper": 1.0}, "lower below .upper"),
        ({"lower": 0.0}, "finite .*lower and .upper. Got 0.0, None"),
        ({"lower": 0.0, "upper": math.inf}, "finite"),
        ({"lower": True, "upper": 2.0}, "finite"),
        ({"scale": "log", "lower": 0.0, "upper": 1.0}, "above 0 on a log scale"),
        ({"type": "int", "lower": 0.5, "upper": 3}, "whole .*bounds"),
        ({"type": "categorical", "choices": ("one",)}, "at least two"),
    ],
)
def test_declarations_that_contradict_themselves_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ParameterSpec("a", **arguments)


@pytest.mark.parametrize(
    ("spec", "value", "message"),
    [
        (ParameterSpec("a", lower=0.0, upper=1.0), 1.5, r"within its declared range \[0.0, 1.0\]. Got 1.5"),
        (ParameterSpec("a", lower=0.0, upper=1.0), math.nan, "finite number for parameter a"),
        (ParameterSpec("a", lower=0.0, upper=1.0), True, "finite number"),
        (ParameterSpec("a", lower=0.0, upper=1.0), "0.5", "finite number"),
        (ParameterSpec("n", "int", lower=0, upper=4), 1.5, "whole number"),
        (ParameterSpec("k", "categorical", choices=("x", "y")), "z", r"Expected k of \['x', 'y'\]"),
    ],
)
def test_values_outside_their_declaration_are_refused(spec: ParameterSpec, value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        spec.require(value)


def test_a_space_travels_through_json() -> None:
    declared = {
        "rate": {"type": "float", "scale": "log", "lower": 0.1, "upper": 2.0},
        "count": {"type": "int", "scale": "linear", "lower": 1, "upper": 5},
        "kind": {"type": "categorical", "choices": ["rbf", "rq"]},
    }
    space = parameter_space(declared)
    assert [spec.name for spec in space] == ["rate", "count", "kind"]
    assert {spec.name: spec.to_json() for spec in space} == declared


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ([], "an object. Got list"),
        ({"a": 3}, "parameter_space.a to be an object"),
        ({"a": {"min": 0}}, "keys type, scale, lower, upper, choices in parameter_space.a. Got min"),
        ({"a": {"type": "categorical", "choices": "xyz"}}, "choices to be an array"),
        (
            {f"p{i}": {"lower": 0.0, "upper": 1.0} for i in range(MAX_TUNABLE + 1)},
            "at most 12 tunable parameters. Got 13",
        ),
    ],
)
def test_spaces_of_the_wrong_form_are_refused(declared: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parameter_space(declared)
