from __future__ import annotations

import csv
import math
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from kernaut.episodes.table import read_table
from kernaut.episodes.table_cleaning import input_matrix, number_of
from kernaut.errors import InputError

ROWS = 430


def messy(path: Path) -> Path:
    """A table such as people have: 8 columns and a target, 430 rows, with gaps, repeats, a constant, an empty column, names and dates."""
    rng = np.random.default_rng(3)
    rows = []
    for index in range(ROWS):
        area, age, rooms, distance = rng.uniform(20, 200), rng.integers(0, 90), rng.integers(1, 7), rng.exponential(4.0)
        price = 2.1 * area - 0.4 * age + 8.0 * rooms - 3.0 * distance + rng.normal(0.0, 9.0)
        day = f"2024-{1 + index % 12:02d}-{1 + index % 28:02d}"
        rows.append(
            [f"{area:.1f}", age, rooms, f"{distance:.3f}", "NL", 1, day, "" if index % 3 else "5", f"{price:.2f}"]
        )
    for index in (4, 77, 200):
        rows[index][0] = "NA"
    rows[77][1] = ""
    rows[301][8] = "nan"
    rows[410] = list(rows[12])
    rows[411] = list(rows[12])
    header = ["area", "age", "rooms", "distance", "country", "floor", "sold", "note", "price"]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def test_a_messy_table_is_refused_by_row_and_column_and_then_cleaned(tmp_path: Path) -> None:
    path = messy(tmp_path / "homes.csv")
    with pytest.raises(InputError) as caught:
        read_table(path, "price")
    assert "text in row 1, column country: 'NL' (and 429 more of its rows)" in caught.value.message
    assert "a date in row 1, column sold: '2024-01-01'" in caught.value.message
    assert caught.value.hint is not None
    assert "--drop country --drop sold" in caught.value.hint
    table = read_table(path, "price", drop=("country", "sold"))
    cleaning = table.cleaning
    assert table.columns == ("area", "age", "rooms", "distance")
    assert (cleaning.rows_read, cleaning.rows_missing, cleaning.rows_repeated) == (ROWS, 4, 2)
    assert cleaning.rows_kept == len(table) == ROWS - 6
    assert dict(cleaning.missing) == {"area": 3, "age": 1, "price": 1}
    assert cleaning.columns_missing == ("note",)
    assert cleaning.columns_constant == ("floor",)
    text = " ".join(cleaning.lines())
    assert all(part in text for part in ("note", "4 of 430 rows", "area 3", "floor", "2 rows that repeat"))
    assert cleaning.to_json()["columns_named"] == ["country", "sold"]


def test_parquet_gives_the_same_rows(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    columns = {"a": [1.5, None, 3.0, 4.0], "when": [date(2024, 1, day) for day in (1, 2, 3, 4)], "y": [1, 2, 3, 5]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="a date in row 1, column when"):
        read_table(tmp_path / "t.parquet", "y")
    table = read_table(tmp_path / "t.parquet", "y", drop=["when"])
    assert table.inputs.tolist() == [[1.5], [3.0], [4.0]]
    assert table.targets.tolist() == [1.0, 3.0, 5.0]
    (tmp_path / "bad.parquet").write_text("no", encoding="utf-8")
    with pytest.raises(InputError, match="Parquet"):
        read_table(tmp_path / "bad.parquet", "y")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("-1.5e3", -1500.0),
        (Decimal("2.5"), 2.5),
        (7, 7.0),
        ("1_000", "text"),
        ("1,5", "text"),
        ("2024-05-01 10:00", "a date"),
        ("3/4/2020", "a date"),
        ("-inf", "an infinite value"),
        (math.inf, "an infinite value"),
        (1e200, "a value beyond 1e+150"),
        (10**400, "a value beyond 1e+150"),
        ([1], "a list"),
        (True, 1.0),
        (b"x", "a bytes"),
    ],
)
def test_numbers_and_what_else_a_cell_may_be(value: object, expected: object) -> None:
    assert number_of(value) == expected


@pytest.mark.parametrize("value", [None, "", "NA", "n/a", "NaN", "null", "?", float("nan")])
def test_missing_values(value: object) -> None:
    found = number_of(value)
    assert isinstance(found, float)
    assert math.isnan(found)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators_are_named(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(separator.join("ay") + "\n1" + separator + "2\n", encoding="utf-8")
    with pytest.raises(InputError, match="separated by commas"):
        read_table(path, "y")


def test_columns_to_leave_out_must_be_there(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n1,2,3\n2,3,4\n5,6,9\n", encoding="utf-8")
    with pytest.raises(InputError, match="leave out of a, b"):
        read_table(path, "y", drop=("c",))
    with pytest.raises(InputError, match="Got y"):
        read_table(path, "y", drop=("y",))
    with pytest.raises(InputError, match="at least one column"):
        read_table(path, "y", drop=("a", "b"))


def test_new_inputs_follow_the_fitted_columns() -> None:
    cells = {"b": ["3", "4"], "extra": ["x", "y"], "a": ["1", "2"]}
    assert input_matrix(cells, ("a", "b"), "new.csv").tolist() == [[1.0, 3.0], [2.0, 4.0]]
    with pytest.raises(InputError, match="none called c"):
        input_matrix(cells, ("a", "c"), "new.csv")
    with pytest.raises(InputError, match=r"row 2, column a of new\.csv"):
        input_matrix({"a": ["1", ""], "b": [1, 2]}, ("a", "b"), "new.csv")
    with pytest.raises(InputError, match="text in row 1, column extra"):
        input_matrix(cells, ("extra",), "new.csv")
