"""Monthly records on disk: ``year,month,value`` files with a manifest that says what each is and what its bytes must be.

A folder holds ``NAME.csv`` for each record and ``manifest.json``, ``{"source", "records": {NAME: {unit, months, first, last, sha256}}}``.
Loading checks the digest, that months are consecutive, and that values are finite, so that a damaged or edited file never enters a score.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.digest import loads_finite
from kernaut.errors import InputError

Array = NDArray[np.float64]

MANIFEST = "manifest.json"
HEADER = ["year", "month", "value"]


@dataclass(frozen=True, eq=False)
class MonthlyRecord:
    """A monthly series without gaps.

    Args:
        name: of its file, without suffix.
        unit: of its values.
        start: year and month (1 to 12) of the first value.
        values: ``T`` values, one a month.
        sha256: of the file's bytes.
    """

    name: str
    unit: str
    start: tuple[int, int]
    values: Array
    sha256: str

    def __len__(self) -> int:
        return len(self.values)

    def month(self, place: int) -> str:
        """The month at a place, as ``2024-01``."""
        return month_name(self.start, place)


@dataclass(frozen=True)
class RecordFacts:
    """A record's line in the manifest: unit, number of months, first and last of them, and SHA-256 of the file."""

    unit: str
    months: int
    first: str
    last: str
    sha256: str


def month_name(start: tuple[int, int], place: int) -> str:
    """The month ``place`` months after ``start``, as ``2024-01``."""
    index = 12 * start[0] + start[1] - 1 + place
    return f"{index // 12:04d}-{index % 12 + 1:02d}"


def read_manifest(folder: Path) -> dict[str, RecordFacts]:
    """Facts of every record of a folder.

    Raises:
        InputError: when there is no manifest, or it is malformed.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(
            f"Expected {path}. Got no such file.",
            hint="Use the bundled records, or make some with: kernaut data refresh greenhouse",
        )
    record = loads_finite(path.read_bytes(), str(path))
    if not isinstance(record, dict):
        raise InputError(f"Expected a manifest of monthly records in {path}. Got a {type(record).__name__}.")
    try:
        return {name: RecordFacts(**facts) for name, facts in record["records"].items()}
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError(
            f"Expected a manifest of monthly records in {path}. Got one without a usable {error}."
        ) from error


def load_record(folder: Path, name: str) -> MonthlyRecord:
    """Read one record and check it against the folder's manifest.

    Raises:
        InputError: when it is missing, differs from what the manifest says, has a gap, or holds a value that is not finite.
    """
    facts = read_manifest(folder)
    if name not in facts:
        raise InputError(f"Expected a record of {', '.join(facts)} in {folder}. Got {name!r}.")
    path = folder / f"{name}.csv"
    if not path.is_file():
        raise InputError(f"Expected {path}. Got no such file.")
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != facts[name].sha256:
        raise InputError(
            f"Expected {path} with SHA-256 {facts[name].sha256}. Got {found}.",
            hint="The file was changed after its manifest was written; restore it, or make both anew with: kernaut data refresh greenhouse",
        )
    return parse_record(content, name, facts[name].unit, str(path))


def parse_record(content: bytes, name: str, unit: str, where: str) -> MonthlyRecord:
    """Read ``year,month,value`` lines.

    Raises:
        InputError: naming the line, for a missing column, a gap in the months, or a value that is not a finite number.
    """
    try:
        lines = list(csv.reader(content.decode("utf-8", errors="replace").splitlines()))
    except csv.Error as error:
        raise InputError(f"Expected lines of {','.join(HEADER)} in {where}. Got: {error}.") from error
    if not lines or [cell.strip() for cell in lines[0]] != HEADER:
        raise InputError(
            f"Expected the header {','.join(HEADER)} in {where}. Got {','.join(lines[0]) if lines else 'nothing'!r}."
        )
    months: list[int] = []
    values: list[float] = []
    for number, row in enumerate(lines[1:], start=2):
        year, month, value = _cells(row, f"line {number} of {where}")
        place = 12 * year + month - 1
        if months and place != months[-1] + 1:
            expected = month_name((0, 1), months[-1] + 1)
            raise InputError(
                f"Expected month {expected} in line {number} of {where}. Got {year:04d}-{month:02d}.",
                hint="Months must be consecutive: fill the gap or cut the record there.",
            )
        months.append(place)
        values.append(value)
    if not values:
        raise InputError(f"Expected at least one month in {where}. Got none.")
    start = (months[0] // 12, months[0] % 12 + 1)
    array = np.array(values)
    array.flags.writeable = False
    return MonthlyRecord(name, unit, start, array, hashlib.sha256(content).hexdigest())


def format_record(rows: Sequence[tuple[int, int, str]]) -> bytes:
    """``year,month,value`` lines of rows whose values are already written out."""
    return "".join([",".join(HEADER) + "\n", *(f"{y},{m},{v}\n" for y, m, v in rows)]).encode("utf-8")


def write_records(folder: Path, files: Mapping[str, tuple[str, bytes]], source: str) -> None:
    """Write records and their manifest into a folder that may not exist yet; files of other names stay.

    Args:
        folder: where to.
        files: unit and bytes of each record by name.
        source: where the values came from.

    Raises:
        InputError: when the bytes of a record are not a record, or the folder cannot be written to.
    """
    facts: dict[str, Any] = {}
    for name, (unit, content) in files.items():
        record = parse_record(content, name, unit, f"{name}.csv")
        facts[name] = asdict(
            RecordFacts(unit, len(record), record.month(0), record.month(len(record) - 1), record.sha256)
        )
    manifest = json.dumps({"records": facts, "source": source}, indent=2) + "\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, (_, content) in files.items():
            (folder / f"{name}.csv").write_bytes(content)
        (folder / MANIFEST).write_text(manifest, encoding="utf-8")
    except OSError as error:
        raise InputError(f"Expected a folder to write records to at {folder}. Got: {error.strerror}.") from error


def _cells(row: list[str], where: str) -> tuple[int, int, float]:
    """Year, month and value of one line."""
    try:
        year, month, value = int(row[0]), int(row[1]), float(row[2])
        if len(row) != len(HEADER) or not 1 <= month <= 12 or not math.isfinite(value):
            raise ValueError
    except (ValueError, IndexError) as error:
        raise InputError(
            f"Expected a year, a month of 1 to 12 and a finite value in {where}. Got {','.join(row)!r}."
        ) from error
    return year, month, value
