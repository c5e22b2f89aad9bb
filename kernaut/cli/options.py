"""Options that several commands share, and their defaults."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from kernaut.cli import ranges

DEFAULT_ARCHIVE = "kernaut.sqlite"
MOST_WORKERS = 4

ArchiveOption = Annotated[str, typer.Option("--archive", metavar="PATH", help="The archive: a SQLite file, or a URL.")]
BenchmarkOption = Annotated[str, typer.Option("--benchmark", metavar="NAME", help="The benchmark.")]
OutOption = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Write the JSON report there, not to standard output.")
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        help="Processes; no number depends on it. [default: the cores, at most 4]",
        callback=ranges.workers,
    ),
]
DataOption = Annotated[
    Path,
    typer.Option(
        "--data", metavar="FILE", help='CSV with a header row, Parquet, or JSON {"x": [[...], ...], "y": [...]}.'
    ),
]
TargetOption = Annotated[
    str | None, typer.Option("--target", metavar="COLUMN", help="The target column of a CSV or Parquet file.")
]
DropOption = Annotated[
    list[str] | None, typer.Option("--drop", metavar="COLUMN", help="A column to leave out; repeatable.")
]
DimensionsOption = Annotated[
    list[str] | None,
    typer.Option("--dimensions", metavar="D[,D...]", help="Input dimensions that the program must work in."),
]


def worker_count(given: int | None) -> int:
    """The number of processes asked for, or the cores that this process may use, at most 4."""
    if given is not None:
        return given
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST_WORKERS, available)


def dimension_list(given: list[str] | None, default: tuple[int, ...]) -> tuple[int, ...]:
    """Input dimensions of ``--dimensions 2,5 --dimensions 8``, or the default.

    Raises:
        InputError: for anything but whole numbers of at least 1.
    """
    from kernaut.errors import InputError
    from kernaut.verification.verify import require_dimensions

    if not given:
        return default
    texts = [part.strip() for text in given for part in text.split(",")]
    if not all(text.isdecimal() for text in texts):
        raise InputError(f"Expected --dimensions as whole numbers such as 2,5,8. Got {','.join(texts)!r}.")
    return require_dimensions([int(text) for text in texts])
