from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernaut.episodes.table_file import read_cells, read_inputs
from kernaut.errors import InputError


def test_new_inputs_come_in_every_format(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    (tmp_path / "x.json").write_text(json.dumps({"x": [[1, 2]]}), encoding="utf-8")
    (tmp_path / "xy.json").write_text(json.dumps({"x": [[1, 2]], "y": [5]}), encoding="utf-8")
    assert read_inputs(tmp_path / "n.csv") == {"a": ["1"], "b": ["2"]}
    assert read_inputs(tmp_path / "x.json") == read_inputs(tmp_path / "xy.json") == {"x0": [1], "x1": [2]}
    with pytest.raises(InputError, match=r"\.parquet"):
        read_inputs(tmp_path / "n.txt")


def test_cells_stay_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text('a,y\n" 1 ",two\n,\n3,4\n', encoding="utf-8")
    cells, target = read_cells(tmp_path / "n.csv", "y")
    assert (cells, target) == ({"a": ["1", "3"], "y": ["two", "4"]}, "y")
    (tmp_path / "q.csv").write_text('a,y\n"1,2\n', encoding="utf-8")
    with pytest.raises(InputError, match="Expected CSV"):
        read_cells(tmp_path / "q.csv", "y")
