"""What the search archive and the held-out store share: an opened database that closes, and copies itself."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kernaut.archive.database import Database
from kernaut.archive.location import Location
from kernaut.archive.rows import rebuild


class OpenedDatabase:
    """An opened database; also a context manager that closes it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.location)!r}{', read_only=True' if self.read_only else ''})"

    def close(self) -> None:
        """Close the connections."""
        self._database.close()

    @property
    def location(self) -> Location:
        """Where it is."""
        return self._database.location

    @property
    def path(self) -> Path | None:
        """The SQLite file; None for another database."""
        return self.location.path

    @property
    def read_only(self) -> bool:
        """Whether writes are refused."""
        return self._database.read_only

    def _records(self, kind: type[Any], statement: Any) -> tuple[Any, ...]:
        with self._database.reading() as connection:
            return tuple(rebuild(kind, row) for row in connection.execute(statement).mappings())
