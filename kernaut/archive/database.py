"""One database file and its transactions.

A SQLite file is built beside its place and linked into it, WAL set once, so that nobody meets a half-made one.  Writers take the
write lock first (``BEGIN IMMEDIATE``), wait for it at most 30 s and hold it for one short transaction; readers see one snapshot.
Other databases (any SQLAlchemy URL) get the same order of writers from a row lock on ``identity``.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, MetaData, Table, create_engine, event, insert, inspect, select, update
from sqlalchemy.exc import DBAPIError, NoSuchModuleError, StatementError
from sqlalchemy.pool import QueuePool

from kernaut.archive.location import Location
from kernaut.errors import ArchiveError, KernautError

BUSY_SECONDS = 30.0
SQLITE_HEADER = b"SQLite format 3\x00"


@dataclass(frozen=True)
class Layout:
    """What a database of one kind looks like.

    Args:
        kind: its name in messages, also stored in ``identity``.
        application_id: SQLite's ``PRAGMA application_id``.
        metadata: its tables.
        version: the schema version this code writes.
        migrations: ``migrations[v]`` takes a database from version v to v + 1.
    """

    kind: str
    application_id: int
    metadata: MetaData
    version: int
    migrations: tuple[Callable[[Connection], None], ...]

    @property
    def identity(self) -> Table:
        """The table that says what a database is."""
        return self.metadata.tables["identity"]


class Database:
    """Transactions on one database; holds no state beyond pooled connections.

    Args:
        location: where it is.
        layout: what it must look like; checked on opening, see :func:`open_database`.
        read_only: refuse every write, by the driver where it can.
    """

    def __init__(self, location: Location, layout: Layout, *, read_only: bool = False) -> None:
        self.location = location
        self.layout = layout
        self.read_only = read_only
        self._engine: Engine | None = None
        self._process = os.getpid()

    @property
    def engine(self) -> Engine:
        """The engine of this process; a forked child gets its own and leaves its parent's connections alone."""
        if self._engine is not None and self._process != os.getpid():
            self._engine.dispose(close=False)
            self._engine = None
        if self._engine is None:
            self._process = os.getpid()
            self._engine = _engine(self.location, "ro" if self.read_only else "rw")
        return self._engine

    def close(self) -> None:
        """Close the pooled connections; the database opens again when used again."""
        if self._engine is not None:
            self._engine.dispose(close=self._process == os.getpid())
            self._engine = None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One snapshot.

        Raises:
            ArchiveError: when the database is damaged or stays locked.
        """
        with _named_errors(self.location), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One write transaction: all of it, or nothing when the block raises.

        Raises:
            ArchiveError: when opened read-only, when the lock is not free within 30 s, or when a row breaks a rule.
        """
        if self.read_only:
            raise ArchiveError(f"Expected {self.location} opened for writing. Got it opened read-only.")
        with _named_errors(self.location), self.engine.connect() as plain:
            connection = plain.execution_options(kernaut_write=True)
            with connection.begin():
                if connection.dialect.name != "sqlite":
                    connection.execute(select(self.layout.identity).with_for_update()).all()
                yield connection

    def identity(self, key: str) -> str:
        """One value of the ``identity`` table.

        Raises:
            ArchiveError: when it is not there.
        """
        with self.reading() as connection:
            return _identity(connection, self.layout, key, self.location)


def create_database(location: Location, layout: Layout, **identity: str) -> None:
    """Make a new database.

    Args:
        location: where; the folder must exist.
        layout: what it looks like.
        identity: further ``identity`` values; ``archive_id`` is drawn when absent.

    Raises:
        ArchiveError: when something is there already, or the folder is missing or cannot be written.
    """
    values = {"kind": layout.kind, "version": str(layout.version), "archive_id": secrets.token_hex(8), **identity}
    if location.path is None:
        _build(location, layout, values)
        return
    path = location.path
    if path.exists():
        raise ArchiveError(
            f"Expected no file at {path} to create a {layout.kind}. Got one.", hint="Open it, or choose another path."
        )
    building = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        building.touch(exist_ok=False)
        _build(Location(path=building), layout, values)
        _into_place(building, path, layout)
    except OSError as error:
        raise ArchiveError(f"Expected a folder to write {path} in. Got: {error.strerror}.") from error
    finally:
        _remove(building)


def database_exists(location: Location) -> bool:
    """Whether there is something to open: a file, or a database with our ``identity`` table."""
    if location.path is not None:
        return location.path.exists()
    engine = _engine(location, "ro")
    try:
        with _named_errors(location), engine.connect() as connection:
            return inspect(connection).has_table("identity")
    finally:
        engine.dispose()


def open_database(location: Location, layout: Layout, *, read_only: bool = False) -> Database:
    """Open an existing database, after checking that it is one of ours; migrate an older one.

    Raises:
        ArchiveError: when it is missing, foreign, of another kind, newer, damaged, or older and opened read-only.
    """
    if location.path is not None:
        _require_sqlite(location.path, layout)
    database = Database(location, layout, read_only=read_only)
    try:
        with database.reading() as connection:
            version = _require_ours(connection, layout, location)
        if version < layout.version:
            _migrate(database, version)
        with database.reading() as connection:
            missing = sorted(set(layout.metadata.tables) - set(inspect(connection).get_table_names()))
        if missing:
            raise ArchiveError(
                f"Expected the tables of a {layout.kind} in {location}. Got none of: {', '.join(missing)}."
            )
    except ArchiveError:
        database.close()
        raise
    return database


def copy_database(database: Database, destination: Path) -> None:
    """A consistent copy of a SQLite database while others go on writing (SQLite's backup interface).

    Raises:
        ArchiveError: when something is at the destination, or the database is not SQLite.
    """
    if database.location.path is None:
        raise ArchiveError(
            f"Expected a SQLite archive to back up. Got {database.location}.",
            hint="Use the database server's own backup.",
        )
    if destination.exists():
        raise ArchiveError(f"Expected no file at {destination} to back up into. Got one.", hint="Choose another path.")
    building = destination.with_name(f".{destination.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        source = _connect(database.location.path, "ro")
        target = sqlite3.connect(building)
        try:
            source.backup(target)
            target.execute("PRAGMA journal_mode=WAL").fetchall()
        finally:
            target.close()
            source.close()
        _into_place(building, destination, database.layout)
    except (OSError, sqlite3.Error) as error:
        raise ArchiveError(f"Expected to back {database.location} up to {destination}. Got: {error}.") from error
    finally:
        _remove(building)


def _remove(building: Path) -> None:
    """Remove what an unfinished file left; where nothing may be removed, nothing was made."""
    for leftover in (building, *(building.with_name(building.name + end) for end in ("-wal", "-shm", "-journal"))):
        with suppress(OSError):
            leftover.unlink(missing_ok=True)


def _build(location: Location, layout: Layout, values: dict[str, str]) -> None:
    if location.path is not None:
        connection = _connect(location.path, "rw")
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
        connection.close()
    engine = _engine(location, "rw")
    try:
        with (
            _named_errors(location),
            engine.connect() as plain,
            plain.execution_options(kernaut_write=True).begin(),
        ):
            if inspect(plain).get_table_names():
                raise ArchiveError(
                    f"Expected an empty database to create a {layout.kind} in. Got tables in {location}."
                )
            if location.path is not None:
                plain.exec_driver_sql(f"PRAGMA application_id={layout.application_id}")
            layout.metadata.create_all(plain)
            plain.execute(insert(layout.identity), [{"key": key, "value": value} for key, value in values.items()])
    finally:
        engine.dispose()


def _into_place(building: Path, path: Path, layout: Layout) -> None:
    """Give a finished file its name, failing when another process was faster."""
    try:
        os.link(building, path)
    except FileExistsError as error:
        raise ArchiveError(f"Expected no file at {path} to create a {layout.kind}. Got one just now.") from error
    except OSError:
        if path.exists():
            raise
        building.rename(path)


def _engine(location: Location, mode: str) -> Engine:
    if location.path is None:
        try:
            return create_engine(location.url or "")
        except (NoSuchModuleError, ImportError) as error:
            raise ArchiveError(f"Expected an installed driver for {location}. Got: {error}.") from error
    path = location.path
    engine = create_engine("sqlite://", creator=lambda: _connect(path, mode), poolclass=QueuePool, pool_size=2)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        write = connection.get_execution_options().get("kernaut_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.as_uri()}?mode={mode}"
    if mode == "ro" and not os.access(path.parent, os.W_OK) and not path.with_name(path.name + "-wal").exists():
        uri += "&immutable=1"  # a reader cannot make the -shm file of a WAL database there
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, check_same_thread=False, isolation_level=None)
    connection.execute("PRAGMA foreign_keys=ON")
    return connection


def _require_sqlite(path: Path, layout: Layout) -> None:
    if not path.exists():
        raise ArchiveError(f"Expected a {layout.kind} at {path}. Got no file.", hint="Check the path, or create one.")
    try:
        with path.open("rb") as stream:
            head = stream.read(len(SQLITE_HEADER))
    except OSError as error:
        raise ArchiveError(f"Expected a readable {layout.kind} at {path}. Got: {error.strerror}.") from error
    if head != SQLITE_HEADER:
        found = "an empty file" if not head else "a file that is not SQLite"
        raise ArchiveError(f"Expected a Kernaut {layout.kind} at {path}. Got {found}.", hint="Choose another path.")


def _require_ours(connection: Connection, layout: Layout, location: Location) -> int:
    """The schema version, once kind and application id are those expected."""
    foreign = ArchiveError(
        f"Expected a Kernaut {layout.kind} in {location}. Got a database of another application.",
        hint="Choose another path.",
    )
    if (
        connection.dialect.name == "sqlite"
        and connection.exec_driver_sql("PRAGMA application_id").scalar_one() != layout.application_id
    ):
        raise foreign
    if not inspect(connection).has_table("identity"):
        raise foreign
    kind = _identity(connection, layout, "kind", location)
    if kind != layout.kind:
        raise ArchiveError(f"Expected a Kernaut {layout.kind} in {location}. Got a {kind}.")
    text = _identity(connection, layout, "version", location)
    if not text.isdecimal():
        raise ArchiveError(f"Expected a schema version in {location}. Got {text!r}.")
    version = int(text)
    if version > layout.version:
        raise ArchiveError(
            f"Expected schema version {layout.version} or older in {location}. Got version {version}, of a newer Kernaut.",
            hint="Upgrade Kernaut to read it.",
        )
    return version


def _migrate(database: Database, version: int) -> None:
    layout = database.layout
    if database.read_only:
        raise ArchiveError(
            f"Expected schema version {layout.version} in {database.location} to read it. Got version {version}.",
            hint="Open it once for writing (kernaut archive check does) to migrate it.",
        )
    with database.writing() as connection:
        current = _require_ours(connection, layout, database.location)  # another process may have been faster
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA defer_foreign_keys=ON")
        for step in layout.migrations[current:]:
            step(connection)
        table = layout.identity
        connection.execute(update(table).where(table.c.key == "version").values(value=str(layout.version)))


def _identity(connection: Connection, layout: Layout, key: str, location: Location) -> str:
    table = layout.identity
    value: Any = connection.execute(select(table.c.value).where(table.c.key == key)).scalar_one_or_none()
    if not isinstance(value, str):
        raise ArchiveError(f"Expected the identity of a Kernaut {layout.kind} in {location}. Got no {key!r}.")
    return value


@contextmanager
def _named_errors(location: Location) -> Iterator[None]:
    """Turn database errors into archive errors that say what to do; a lock that stays is never taken for a result."""
    try:
        yield
    except DBAPIError as error:
        cause = " ".join(str(error.orig).split())
        if "locked" in cause or "busy" in cause:
            raise ArchiveError(
                f"Expected {location} to be free within {BUSY_SECONDS:.0f} s. Got: {cause}.",
                hint="Another process holds a write transaction; try again when it has ended.",
            ) from error
        if "readonly" in cause:
            raise ArchiveError(
                f"Expected {location} in a folder and a file that may be written. Got: {cause}.",
                hint="Copy it to a folder of your own, or ask for the right to write there.",
            ) from error
        if "is full" in cause:
            raise ArchiveError(
                f"Expected room on the disk for {location}. Got: {cause}.",
                hint="What was stored before is kept; free some space, then give the same command again.",
            ) from error
        raise ArchiveError(f"Expected a sound archive at {location}. Got: {cause}.") from error
    except StatementError as error:
        if isinstance(error.orig, KernautError):
            raise error.orig from None
        raise
