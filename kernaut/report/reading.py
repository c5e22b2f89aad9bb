"""Open an archive to look at it, without waiting half a minute for whoever holds it locked."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from kernaut.archive.location import locate
from kernaut.archive.store import Archive
from kernaut.errors import ArchiveError

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


def _require_unlocked(path: Path) -> None:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=PATIENCE)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            return  # opening it properly says what is wrong
        raise ArchiveError(
            f"Expected {path} free to be read. Got it locked by another process.",
            hint="Wait until that process is done, or end it, and try again.",
        ) from error
    except sqlite3.DatabaseError:
        return
