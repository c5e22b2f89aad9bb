"""Current greenhouse-gas records from NOAA's Global Monitoring Laboratory, for users who have a network.

Global means of CO2, CH4, N2O and SF6 are comma-separated with ``#`` comments (year, month, decimal date, average, ...); the halocarbons' combined records are columns of text
whose names end in ``_YYYY``, ``_MM`` and ``Global_NAME``.  Months marked missing at the source (negative or nan) are left out; a gap is an error.
"""

from __future__ import annotations

import http.client
import math
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kernaut.episodes.records import MonthlyRecord, format_record, load_record, month_name, parse_record
from kernaut.errors import InputError

SERVER = "https://gml.noaa.gov"
TIMEOUT = 60.0
LARGEST = 5_000_000
"""Bytes of a source file that are read at most."""


@dataclass(frozen=True)
class Source:
    """Where a record comes from: path on the server, unit, and for halocarbons the name in the column headings."""

    path: str
    unit: str
    column: str | None = None


SOURCES: Mapping[str, Source] = {
    "co2": Source("/webdata/ccgg/trends/co2/co2_mm_gl.csv", "ppm"),
    "ch4": Source("/webdata/ccgg/trends/ch4/ch4_mm_gl.csv", "ppb"),
    "n2o": Source("/webdata/ccgg/trends/n2o/n2o_mm_gl.csv", "ppb"),
    "sf6": Source("/webdata/ccgg/trends/sf6/sf6_mm_gl.csv", "ppt"),
    "cfc12": Source("/aftp/data/hats/cfcs/cfc12/combined/HATS_global_F12.txt", "ppt", "F12"),
    "cfc11": Source("/aftp/data/hats/cfcs/cfc11/combined/HATS_global_F11.txt", "ppt", "F11"),
}


@dataclass(frozen=True)
class Change:
    """How a fetched record differs from the present one.

    Args:
        gas: the record.
        added: months that are new.
        removed: months that are gone.
        revised: months whose values differ.
        largest: largest absolute difference of a value, in the record's unit.
        last: last month of the fetched record.
    """

    gas: str
    added: int
    removed: int
    revised: int
    largest: float
    last: str

    @property
    def none(self) -> bool:
        """Whether nothing differs."""
        return self.added == self.removed == self.revised == 0

    def __str__(self) -> str:
        if self.none:
            return f"{self.gas}: unchanged, to {self.last}"
        return (
            f"{self.gas}: {self.added} months added, {self.removed} removed, {self.revised} revised "
            f"(by at most {self.largest:g}), to {self.last}"
        )


def fetch_records(server: str = SERVER) -> dict[str, tuple[str, bytes]]:
    """Unit and ``year,month,value`` bytes of every gas, from a server laid out like NOAA's.

    Raises:
        InputError: when a file cannot be had, or is not of the known form.
    """
    found = {}
    for gas, source in SOURCES.items():
        url = server.rstrip("/") + source.path
        if not url.startswith(("http://", "https://")):
            raise InputError(f"Expected a server address that begins with http:// or https://. Got {server!r}.")
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT) as reply:
                content = reply.read(LARGEST)
                if reply.length or len(content) == LARGEST:  # broken off: a record's last value could be half a number
                    raise http.client.IncompleteRead(content, reply.length)
                text = content.decode("utf-8", errors="replace")
        except (OSError, http.client.HTTPException, ValueError) as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()
            raise InputError(
                f"Expected {url} to answer. Got: {error}.", hint="The bundled records need no network."
            ) from error
        rows = _rows(text, source, url)
        record = format_record(rows)
        parse_record(record, gas, source.unit, url)
        found[gas] = (source.unit, record)
    return found


def changes(folder: Path, files: Mapping[str, tuple[str, bytes]]) -> list[Change]:
    """How fetched records differ from those of a folder.

    Raises:
        InputError: when the folder's records cannot be read.
    """
    return [
        _change(load_record(folder, gas), parse_record(content, gas, unit, gas))
        for gas, (unit, content) in files.items()
    ]


def _change(old: MonthlyRecord, new: MonthlyRecord) -> Change:
    before, after = ({r.month(i): float(v) for i, v in enumerate(r.values)} for r in (old, new))
    common = set(before) & set(after)
    differences = [abs(before[month] - after[month]) for month in common if before[month] != after[month]]
    return Change(
        new.name,
        len(set(after) - common),
        len(set(before) - common),
        len(differences),
        max(differences, default=0.0),
        new.month(len(new) - 1),
    )


def _rows(text: str, source: Source, url: str) -> list[tuple[int, int, str]]:
    """Year, month and value as written, of every month that is not missing."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    split = [line.split(",") if source.column is None else line.split() for line in lines]
    heads = split[0] if split else []
    if source.column is None:
        wanted = ("year", "month", "average")
        places = [heads.index(name) if name in heads else -1 for name in wanted]
    else:
        ends = ("_YYYY", "_MM", f"Global_{source.column}")
        places = [next((i for i, head in enumerate(heads) if head.endswith(end)), -1) for end in ends]
    if min(places, default=-1) < 0:
        raise InputError(f"Expected columns of year, month and global mean in {url}. Got {' '.join(heads)[:120]!r}.")
    found = []
    for cells in split[1:]:
        try:
            year, month, value = int(float(cells[places[0]])), int(float(cells[places[1]])), cells[places[2]].strip()
            number = float(value)
        except (ValueError, OverflowError, IndexError) as error:
            raise InputError(
                f"Expected a year, a month and a value in {url}. Got {' '.join(cells)[:120]!r}."
            ) from error
        if math.isfinite(number) and number > 0.0:
            found.append((year, month, value))
    if not found:
        raise InputError(f"Expected months with values in {url}. Got none after {month_name((0, 1), 0)}.")
    return found
