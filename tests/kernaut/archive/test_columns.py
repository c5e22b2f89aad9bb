import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, Integer, MetaData, Table, create_engine, insert, select
from sqlalchemy.exc import StatementError

from kernaut.archive.columns import CanonicalJSON, DecimalInteger, GuardedText, OrderedJSON
from kernaut.digest import thaw

TABLE = Table(
    "values",
    MetaData(),
    Column("key", Integer, primary_key=True),
    Column("canonical", CanonicalJSON),
    Column("ordered", OrderedJSON),
    Column("text", GuardedText),
    Column("seed", DecimalInteger(24)),
)


def round_trip(**values: object) -> dict[str, object]:
    engine = create_engine("sqlite://")
    TABLE.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(insert(TABLE), [{"key": 1, **values}])
        row = dict(connection.execute(select(TABLE)).mappings().one())
    engine.dispose()
    return row


finite = st.floats(allow_nan=False, allow_infinity=False)
leaves = st.none() | st.booleans() | st.integers() | finite | st.text(st.characters(codec="utf-8"))
json_values = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner), max_leaves=8)


@given(json_values)
def test_json_comes_back_equal(value: object) -> None:
    row = round_trip(canonical=value, ordered=value)
    assert thaw(row["canonical"]) == value
    assert thaw(row["ordered"]) == value


@given(finite)
def test_floats_come_back_bit_for_bit(value: float) -> None:
    back = round_trip(canonical=[value])["canonical"]
    assert struct.pack("<d", back[0]) == struct.pack("<d", value)  # type: ignore[index]


def test_only_ordered_json_keeps_the_order_of_keys() -> None:
    row = round_trip(canonical={"b": 1, "a": 2}, ordered={"b": 1, "a": 2})
    assert list(row["canonical"]) == ["a", "b"]  # type: ignore[call-overload]
    assert list(row["ordered"]) == ["b", "a"]  # type: ignore[call-overload]


@pytest.mark.parametrize("seed", [0, 2**63, 2**64 - 1, -3])
def test_seeds_beyond_sqlite_integers(seed: int) -> None:
    assert round_trip(seed=seed)["seed"] == seed


@pytest.mark.parametrize(
    "values",
    [
        {"canonical": math.nan},
        {"ordered": [math.inf]},
        {"canonical": {1, 2}},
        {"canonical": "\ud800"},
        {"text": "\ud800"},
    ],
)
def test_what_json_or_utf8_cannot_hold_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(StatementError, match="Expected"):
        round_trip(**values)


@pytest.mark.parametrize("column", ["canonical", "ordered", "text"])
def test_every_text_column_refuses_secrets(monkeypatch: pytest.MonkeyPatch, column: str) -> None:
    monkeypatch.setenv("LLM_API_KEY", "sk-0123456789")
    with pytest.raises(StatementError, match="LLM_API_KEY"):
        round_trip(**{column: "with sk-0123456789 inside"})
