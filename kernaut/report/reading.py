"""What views read: archives, without waiting half a minute for whoever holds one locked, looks counted there, options that somebody types."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from kernaut.archive.location import locate
from kernaut.archive.store import Archive
from kernaut.digest import loads_finite
from kernaut.errors import ArchiveError, InputError

PATIENCE = 0.5
"""Seconds that a reader waits for a lock."""


@contextmanager
def reading(where: str | Path) -> Iterator[Archive]:
    """An archive, opened read-only for a short look.

    Raises:
        ArchiveError: when it is missing, no archive, damaged, or held locked by another process.
    """
    location = locate(where)
    if location.path is not None and location.path.exists():
        _require_unlocked(location.path)
    with Archive.open(where, read_only=True) as archive:
        yield archive


def stamp(where: str | Path) -> Any:
    """What changes whenever a file's archive is written, without opening it; none where that cannot be said.

    Args:
        where: the archive.
    """
    path = locate(where).path
    if path is None:
        return None
    found = []
    for place in (path, path.with_name(path.name + "-wal")):
        with suppress(OSError):
            seen = place.stat()
            if seen.st_size:  # a reader leaves an empty one
                found.append((seen.st_ino, seen.st_mtime_ns, seen.st_size))
    return tuple(found)


def count_look(where: str | Path, benchmark: str, split: str, purpose: str) -> int:
    """Count in an archive, before it happens, that somebody looks at a held-out split; how often it was opened by now.

    Args:
        where: the archive.
        benchmark: the benchmark.
        split: ``validation`` or ``test``.
        purpose: who looks.

    Raises:
        ArchiveError: when the archive is missing, no archive, damaged, or held by another process; then nothing must be shown.
    """
    location = locate(where)
    if location.path is not None and location.path.exists():
        _require_unlocked(location.path, writing=True)
    with Archive.open(where) as archive:
        return archive.record_look(benchmark, split, purpose)[split]


def typed_options(text: str) -> dict[str, Any]:
    """Options that somebody typed as a JSON object; none for an empty text.

    Raises:
        InputError: for anything else.
    """
    found = loads_finite(text, "the options") if text.strip() else {}
    if not isinstance(found, dict):
        raise InputError(f"Expected options as a JSON object. Got {text!r}.", hint='Such as {"difficulty": "hard"}.')
    return found


def _require_unlocked(path: Path, *, writing: bool = False) -> None:
    mode = "rw" if writing else "ro"
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=PATIENCE)
        ) as connection:
            if writing:
                connection.execute("BEGIN IMMEDIATE")
                connection.rollback()
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            return  # opening it properly says what is wrong
        raise ArchiveError(
            f"Expected {path} free to be {'written' if writing else 'read'}. Got it locked by another process.",
            hint="Wait until that process is done, or end it, and try again.",
        ) from error
    except sqlite3.DatabaseError:
        return
