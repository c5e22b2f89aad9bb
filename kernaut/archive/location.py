"""Where an archive is: a path, or any SQLAlchemy URL; and where its held-out sibling is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from kernaut.errors import ArchiveError


@dataclass(frozen=True)
class Location:
    """One database: a SQLite file at ``path``, or another database at ``url``; exactly one of the two is given."""

    path: Path | None = None
    url: str | None = None

    def __str__(self) -> str:
        return (
            str(self.path) if self.path is not None else make_url(self.url or "").render_as_string(hide_password=True)
        )

    @property
    def held_out(self) -> Location:
        """The sibling for validation and test outcomes: ``<stem>.heldout.sqlite``, or the database named ``<name>_heldout``."""
        if self.path is not None:
            return Location(path=self.path.with_name(f"{self.path.stem}.heldout.sqlite"))
        url = make_url(self.url or "")
        return Location(url=url.set(database=f"{url.database}_heldout").render_as_string(hide_password=False))


def locate(where: str | Path | Location) -> Location:
    """Read a path, a ``sqlite:///`` URL or another SQLAlchemy URL. Paths become absolute, so that workers may change directory.

    Raises:
        ArchiveError: for a URL that SQLAlchemy cannot read, or one without a database.
    """
    if isinstance(where, Location):
        return where
    if isinstance(where, Path) or "://" not in where:
        if not str(where).strip() or str(where) == ":memory:":
            raise ArchiveError(f"Expected the path of an archive file. Got {str(where)!r}.")
        return Location(path=Path(where).expanduser().absolute())
    try:
        url = make_url(where)
    except ArgumentError as error:
        raise ArchiveError(f"Expected a path or a SQLAlchemy URL. Got {where!r}.") from error
    if not url.database or url.database == ":memory:":
        raise ArchiveError(f"Expected a URL that names a database. Got {url.render_as_string(hide_password=True)!r}.")
    if url.get_backend_name() == "sqlite":
        return Location(path=Path(url.database).expanduser().absolute())
    return Location(url=url.render_as_string(hide_password=False))
