from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernaut.episodes.table import InputScale, Table, read_table, target_scale
from kernaut.errors import InputError


def write(tmp_path: Path, name: str, content: Any) -> Path:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_json_and_csv_hold_the_same_table(tmp_path: Path) -> None:
    rows = [[1.0, 20.0], [2.0, 40.0], [4.0, 10.0]]
    from_json = read_table(write(tmp_path, "t.json", {"x": rows, "y": [5.0, 6.0, 8.0]}))
    from_csv = read_table(write(tmp_path, "t.csv", "\ufeffa,out,b\n1,5,20\n2,6,40\n\n4,8,10\n"), "out")
    assert from_csv.columns == ("a", "b")
    assert (from_csv.target, from_json.target) == ("out", "y")
    assert np.array_equal(from_csv.inputs, from_json.inputs)
    assert np.array_equal(from_csv.targets, from_json.targets)
    assert from_csv.cleaning.lines() == []
    assert from_csv.digest() != from_json.digest()  # names differ


def test_inputs_go_to_the_unit_cube_and_targets_to_standard_ones() -> None:
    table = Table(np.array([[1.0, 7.0], [2.0, 7.0], [5.0, 7.0]]), np.array([2.0, 4.0, 9.0]), ("a", "b"))
    assert np.allclose(table.unit_inputs(), [[0.0, 0.0], [0.25, 0.0], [1.0, 0.0]])
    assert table.standardized_targets().mean() == pytest.approx(0.0)
    assert table.standardized_targets().std() == pytest.approx(1.0)
    assert np.allclose(InputScale.of(table.inputs).apply(np.array([[9.0, 8.0]])), [[2.0, 1.0]])
    assert target_scale(np.full(3, 4.0)) == (4.0, 1.0)
    assert target_scale(np.array([1e-12, 3e-12])) == pytest.approx((2e-12, 1e-12))


def test_rows_are_chosen_in_order() -> None:
    table = Table(np.array([[1.0], [2.0], [5.0], [9.0]]), np.array([2.0, 4.0, 9.0, 1.0]), ("a",), "out")
    chosen = table.rows([3, 0, 1])
    assert chosen.targets.tolist() == [1.0, 2.0, 4.0]
    assert (chosen.columns, chosen.target, len(chosen)) == (("a",), "out", 3)
    with pytest.raises(InputError, match="3 distinct rows"):
        table.rows([0, 0, 1])


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("t.csv", "a,y\n1,2\n3,high\n", ["row 2, column y", "'high'"]),
        ("t.csv", "a,y\n1,2\ninf,3\n4,5\n6,7", ["infinite value in row 2, column a"]),
        ("t.csv", "a,y\n1,2,3\n", ["2 values in row 1", "Got 3"]),
        ("t.csv", "a,b\n1,2\n", ["target column of a, b"]),
        ("t.csv", "a,a,y\n1,2,3\n", ["each column name once", "'a'"]),
        ("t.csv", "", ["(an empty file)"]),
        ("t.csv", "a,b,y\n1,1,2\n1,1,3\n1,2,4\n", ["3 distinct rows", "Got 2"]),
        ("t.csv", "a,y\n1,2\n2,2\n3,2\n", ["target that varies", "2 in every row of y"]),
        ("t.json", {"x": [[1]], "z": [1]}, ["keys x, y"]),
        ("t.json", {"x": [[1], [2]], "y": [1]}, ["2 rows and 1 entries"]),
        ("t.json", {"x": [[1], [2, 3]], "y": [1, 2]}, ["1 values in row 2"]),
        ("t.json", {"x": [[1], ["2a"]], "y": [1, 2]}, ["row 2, column x0"]),
        ("t.json", {"x": [[1], [2]], "y": [1, [2]]}, ["list in row 2, column y"]),
        ("t.json", "{", ["Expected JSON"]),
    ],
)
def test_what_is_wrong_is_named_by_row_and_column(tmp_path: Path, name: str, content: Any, parts: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        read_table(write(tmp_path, name, content), "y" if name.endswith("csv") else None)
    assert all(part in caught.value.message for part in parts), caught.value.message


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_table(tmp_path / "none.csv", "y")
    with pytest.raises(InputError, match="whose target is y"):
        read_table(write(tmp_path, "t.json", {"x": [[1], [2], [3]], "y": [1, 2, 3]}), "z")
    with pytest.raises(InputError, match=r"\.json, \.csv, \.parquet"):
        read_table(tmp_path / "t.xlsx", "y")
