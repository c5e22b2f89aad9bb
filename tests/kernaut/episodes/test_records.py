from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kernaut.episodes.records import (
    format_record,
    load_record,
    month_name,
    parse_record,
    read_manifest,
    write_records,
)
from kernaut.errors import InputError
from kernaut.plugins import bundled

ROWS = [(1999, 11, "3.50"), (1999, 12, "4.25"), (2000, 1, "-1.0")]


def folder(tmp_path: Path) -> Path:
    write_records(tmp_path, {"gas": ("ppt", format_record(ROWS))}, "made up")
    return tmp_path


def test_a_record_is_written_and_read_back(tmp_path: Path) -> None:
    record = load_record(folder(tmp_path), "gas")
    assert (record.unit, record.start, record.month(0), record.month(2)) == ("ppt", (1999, 11), "1999-11", "2000-01")
    np.testing.assert_array_equal(record.values, [3.5, 4.25, -1.0])
    facts = read_manifest(tmp_path)["gas"]
    assert (facts.months, facts.first, facts.last) == (3, "1999-11", "2000-01")


def test_month_names_cross_years() -> None:
    assert [month_name((2024, 11), i) for i in range(4)] == ["2024-11", "2024-12", "2025-01", "2025-02"]


def test_bundled_records_are_what_the_manifest_says() -> None:
    for name, facts in read_manifest(bundled("data", "greenhouse")).items():
        record = load_record(bundled("data", "greenhouse"), name)
        assert (len(record), record.month(0), record.month(len(record) - 1)) == (facts.months, facts.first, facts.last)


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    path = folder(tmp_path) / "gas.csv"
    path.write_text(path.read_text().replace("4.25", "4.26"))
    with pytest.raises(InputError, match=r"with SHA-256 .* Got .*restore it"):
        load_record(tmp_path, "gas")


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"manifest.json. Got no such file"):
        load_record(tmp_path, "gas")
    folder(tmp_path)
    with pytest.raises(InputError, match=r"Expected a record of gas in .* Got 'co2'"):
        load_record(tmp_path, "co2")
    (tmp_path / "gas.csv").unlink()
    with pytest.raises(InputError, match=r"gas.csv. Got no such file"):
        load_record(tmp_path, "gas")
    (tmp_path / "manifest.json").write_text(json.dumps({"records": {"gas": {"unit": "ppt"}}}))
    with pytest.raises(InputError, match="Expected a manifest of monthly records"):
        load_record(tmp_path, "gas")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("year,month,value\n2000,1,5\n2000,3,6\n", r"Expected month 2000-02 in line 3 of x. Got 2000-03"),
        ("year,month,value\n2000,1,5\n2000,1,6\n", r"Expected month 2000-02 in line 3 of x. Got 2000-01"),
        ("year,month,value\n2000,13,5\n", r"a month of 1 to 12 and a finite value in line 2 of x. Got '2000,13,5'"),
        ("year,month,value\n2000,1,nan\n", r"finite value in line 2 of x"),
        ("year,month,value\n2000,1\n", r"in line 2 of x"),
        ("year,month,value\n", r"at least one month in x"),
        ("year;month;value\n", r"Expected the header year,month,value in x"),
        ("", r"Expected the header"),
    ],
)
def test_malformed_records_name_the_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_record(text.encode(), "gas", "ppt", "x")


def test_a_field_beyond_all_bounds_is_refused() -> None:
    with pytest.raises(InputError, match=r"Expected lines of year,month,value in x\.csv"):
        parse_record(b"year,month,value\n2000,1," + b"9" * 200_000, "x", "ppm", "x.csv")


def test_a_manifest_of_another_kind_is_named(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("[]", encoding="utf-8")
    with pytest.raises(InputError, match=r"Expected a manifest of monthly records in .*manifest\.json\. Got a list\."):
        read_manifest(tmp_path)
