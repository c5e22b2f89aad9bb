import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from kernaut.archive import database, schema
from kernaut.archive.database import copy_database, create_database, database_exists, open_database
from kernaut.archive.location import Location
from kernaut.archive.store import LAYOUT
from kernaut.errors import ArchiveError


def pragma(path: Path, name: str) -> object:
    with sqlite3.connect(path) as connection:
        (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    connection.close()
    return value


@pytest.fixture
def location(tmp_path: Path) -> Location:
    made = Location(path=tmp_path / "an archive #1 100%?.sqlite")
    create_database(made, LAYOUT)
    return made


def test_creation_leaves_one_file_in_wal_mode(location: Location) -> None:
    assert location.path is not None
    assert [path.name for path in location.path.parent.iterdir()] == [location.path.name]
    assert pragma(location.path, "journal_mode") == "wal"
    assert pragma(location.path, "application_id") == schema.APPLICATION_ID
    assert database_exists(location)
    with pytest.raises(ArchiveError, match="Expected no file"):
        create_database(location, LAYOUT)


def test_connections_wait_30_seconds_and_enforce_references(location: Location) -> None:
    opened = open_database(location, LAYOUT)
    with opened.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 30_000
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
    opened.close()


@pytest.mark.parametrize(
    ("content", "found"), [(None, "no file"), (b"", "an empty file"), (b"name,value\n" * 9, "not SQLite")]
)
def test_missing_and_foreign_files(tmp_path: Path, content: bytes | None, found: str) -> None:
    path = tmp_path / "x.sqlite"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ArchiveError, match=found):
        open_database(Location(path=path), LAYOUT)
    assert path.exists() == (content is not None), "opening must not create"
    with pytest.raises(ArchiveError, match="Expected a readable"):
        open_database(Location(path=tmp_path), LAYOUT)
    with pytest.raises(ArchiveError, match="Expected a folder"):
        create_database(Location(path=tmp_path / "missing" / "x.sqlite"), LAYOUT)


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE identity (key TEXT, value TEXT)", "CREATE TABLE other (a INTEGER)"]
)
def test_a_database_of_another_application(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "other.sqlite"
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    with pytest.raises(ArchiveError, match="another application"):
        open_database(Location(path=path), LAYOUT)


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE identity SET value = '2' WHERE key = 'version'", "version 2, of a newer Kernaut"),
        ("UPDATE identity SET value = 'x' WHERE key = 'version'", "schema version"),
        ("UPDATE identity SET value = 'held-out store' WHERE key = 'kind'", "Got a held-out store"),
        ("DELETE FROM identity WHERE key = 'version'", "no 'version'"),
        ("DROP TABLE identity", "another application"),
        ("DROP TABLE looks", "none of: looks"),
        ("PRAGMA application_id=7", "another application"),
    ],
)
def test_newer_mixed_up_and_incomplete_archives(location: Location, statement: str, found: str) -> None:
    assert location.path is not None
    connection = sqlite3.connect(location.path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    with pytest.raises(ArchiveError, match=found):
        open_database(location, LAYOUT)


def test_a_damaged_file_is_named(location: Location) -> None:
    assert location.path is not None
    data = bytearray(location.path.read_bytes())
    data[100:4096] = b"\xff" * 3996
    location.path.write_bytes(bytes(data))
    with pytest.raises(ArchiveError, match="Expected a sound archive"):
        open_database(location, LAYOUT)


def test_a_failing_write_leaves_nothing(location: Location) -> None:
    opened = open_database(location, LAYOUT)
    table = LAYOUT.identity
    with pytest.raises(RuntimeError, match="stop"), opened.writing() as connection:
        connection.execute(table.insert(), [{"key": "extra", "value": "1"}])
        raise RuntimeError("stop")
    with opened.reading() as connection:
        assert "extra" not in connection.execute(select(table.c.key)).scalars().all()
    opened.close()


def test_read_only_refuses_writes_and_sees_them(location: Location) -> None:
    writer, reader = open_database(location, LAYOUT), open_database(location, LAYOUT, read_only=True)
    with pytest.raises(ArchiveError, match="read-only"), reader.writing():
        pass
    with pytest.raises(ArchiveError, match="readonly"), reader.reading() as connection:
        connection.execute(LAYOUT.identity.insert(), [{"key": "extra", "value": "1"}])
    with writer.writing() as connection:
        connection.execute(LAYOUT.identity.insert(), [{"key": "extra", "value": "1"}])
    assert reader.identity("extra") == "1"
    writer.close()
    reader.close()


def test_reading_in_a_folder_that_cannot_be_written(location: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    assert location.path is not None
    monkeypatch.setattr(os, "access", lambda *_: False)
    opened = open_database(location, LAYOUT, read_only=True)
    assert opened.identity("kind") == "search archive"
    assert not location.path.with_name(location.path.name + "-shm").exists()
    opened.close()


def test_a_lock_that_stays_is_an_error_not_a_result(location: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    assert location.path is not None
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    other = sqlite3.connect(location.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    opened = open_database(location, LAYOUT)
    with pytest.raises(ArchiveError, match="locked"), opened.writing():
        pass
    other.execute("ROLLBACK")
    other.close()
    with opened.writing():
        pass
    opened.close()


def test_a_copy_while_a_writer_is_in_the_middle(location: Location, tmp_path: Path) -> None:
    opened = open_database(location, LAYOUT)
    with opened.writing() as connection:
        connection.execute(LAYOUT.identity.insert(), [{"key": "half", "value": "1"}])
        copy_database(opened, tmp_path / "copy.sqlite")
    with pytest.raises(ArchiveError, match="Expected no file"):
        copy_database(opened, tmp_path / "copy.sqlite")
    opened.close()
    assert pragma(tmp_path / "copy.sqlite", "journal_mode") == "wal"
    copy = open_database(Location(path=tmp_path / "copy.sqlite"), LAYOUT)
    with pytest.raises(ArchiveError, match="half"):
        copy.identity("half")
    copy.close()
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_forked_child_leaves_its_parents_connections_alone(location: Location) -> None:
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from kernaut.archive.database import open_database\n"
        "from kernaut.archive.location import Location\n"
        "from kernaut.archive.store import LAYOUT\n"
        "opened = open_database(Location(path=Path(sys.argv[1])), LAYOUT)\n"
        "first = opened.engine\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    with opened.writing() as connection:\n"
        "        connection.execute(LAYOUT.identity.insert(), [{'key': 'child', 'value': '1'}])\n"
        "    os._exit(0 if opened.engine is not first else 3)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "with opened.writing() as connection:\n"
        "    connection.execute(LAYOUT.identity.insert(), [{'key': 'parent', 'value': '1'}])\n"
        "assert opened.engine is first\n"
        "print(opened.identity('child') + opened.identity('parent'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(location.path)], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.returncode) == ("11", 0), done.stderr


def test_an_archive_that_may_not_be_written_is_not_called_damaged() -> None:
    cause = sqlite3.OperationalError("attempt to write a readonly database")
    with (
        pytest.raises(ArchiveError, match="in a folder and a file that may be written"),
        database._named_errors(Location(path=Path("a"))),
    ):
        raise OperationalError("insert", {}, cause)


def test_a_full_disk_is_not_called_damage() -> None:
    cause = sqlite3.OperationalError("database or disk is full")
    with (
        pytest.raises(
            ArchiveError, match=r"Expected room on the disk for .*disk is full\. What was stored before is kept"
        ),
        database._named_errors(Location(path=Path("a"))),
    ):
        raise OperationalError("insert", {}, cause)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(self: Path, **given: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "touch", closed)
    monkeypatch.setattr(Path, "unlink", closed)
    with pytest.raises(ArchiveError, match=r"Expected a folder to write .*new\.sqlite in\. Got: Read-only file system"):
        create_database(Location(path=tmp_path / "new.sqlite"), LAYOUT)
