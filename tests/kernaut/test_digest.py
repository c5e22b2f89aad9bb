"""Canonical JSON: equal values have equal bytes, and nothing else does."""

from __future__ import annotations

import hashlib
import json
import math
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernaut.digest import FrozenMapping, canonical_json, content_id, freeze, loads_finite, require_json, thaw
from kernaut.errors import InputError

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


@settings(max_examples=50)
@given(values)
def test_freezing_and_thawing_change_nothing(value: Any) -> None:
    assert thaw(freeze(value)) == value
    assert canonical_json(freeze(value)) == canonical_json(value)
    assert json.loads(canonical_json(value)) == value
    require_json(value, "value")


@settings(max_examples=50)
@given(st.dictionaries(st.text(), values, max_size=4))
def test_frozen_mappings_are_mappings_and_hash_by_content(value: dict[str, Any]) -> None:
    frozen = FrozenMapping(value)
    turned = FrozenMapping(dict(reversed(value.items())))
    assert frozen == turned
    assert hash(frozen) == hash(turned)
    assert list(frozen) == list(value)
    assert pickle.loads(pickle.dumps(frozen)) == frozen
    assert freeze(frozen) is frozen


def test_canonical_json_is_sorted_compact_and_plain() -> None:
    assert canonical_json({"b": [1, 2.5, True, None], "a": {"ü": "ß\n"}}) == '{"a":{"ü":"ß\\n"},"b":[1,2.5,true,null]}'
    assert content_id({"b": 1, "a": 2}) == hashlib.sha256(b'{"a":2,"b":1}').hexdigest()[:16]
    assert content_id({"a": 1}) != content_id({"a": 1.5})


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused_everywhere(number: float) -> None:
    with pytest.raises(ValueError, match="Out of range"):
        canonical_json({"a": number})
    with pytest.raises(InputError, match=r"finite number for where\.a\[1\]"):
        require_json({"a": [0.0, number]}, "where")
    with pytest.raises(InputError, match="finite number for file"):
        loads_finite(json.dumps({"a": number}), "file")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({1: "a"}, "string keys in where. Got 1"),
        ({"a": {2, 3}}, r"a JSON value for where\.a. Got set"),
        ([b"x"], r"a JSON value for where\[0\]. Got bytes"),
        ([object()], "Got object"),
        ({"a": ["\ud800"]}, r"UTF-8 can hold for where\.a\[0\]. Got '\\ud800'"),
        ({"\ud800": 1}, "UTF-8 can hold for where"),
    ],
)
def test_values_that_are_no_json_are_refused_by_path(value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        require_json(value, "where")


@pytest.mark.parametrize("text", ["{", "", "{'a': 1}", b"\xff", "[" * 100_000])
def test_text_that_is_no_json_is_refused_with_its_place(text: str | bytes) -> None:
    with pytest.raises(InputError, match="Expected JSON in the file"):
        loads_finite(text, "the file")


def test_frozen_mappings_cannot_be_changed() -> None:
    frozen = FrozenMapping({"a": [1, {"b": 2}]})
    with pytest.raises(TypeError):
        frozen["a"] = 3  # type: ignore[index]
    with pytest.raises(TypeError):
        frozen["a"][1]["b"] = 3
    assert frozen["a"][0] == 1
