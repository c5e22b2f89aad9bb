import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import inspect

from kernaut.archive import migrations, schema
from kernaut.archive.store import LAYOUT, Archive
from kernaut.errors import ArchiveError
from kernaut.program.program import KernelProgram

OLD = Path(__file__).with_name("version0.sql")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(OLD.read_text(encoding="utf-8"))
    connection.close()
    return path


def test_version_0_becomes_version_1_with_its_content(old: Path, tmp_path: Path) -> None:
    with Archive.open(old) as archive, Archive.create(tmp_path / "fresh.sqlite") as fresh:
        assert archive._database.identity("version") == str(LAYOUT.version)
        assert archive.check().problems == ()
        (program,) = archive.programs()
        assert isinstance(program, KernelProgram)
        (evaluation,) = archive.evaluations(program_id=program.id)
        assert (evaluation.seed, evaluation.scores, evaluation.versions) == (2**63 + 5, {"mean_crps": 0.1 + 0.2}, {})
        (accepted,) = archive.accepted("old")
        assert accepted.evaluation_id == evaluation.id != "00000000000000a0"
        assert archive.record_look("bbo", "test", "report") == {"validation": 0, "test": 1}
        archive.import_candidate(program, archive.evidence(program.id)[0], "file")
        for table in schema.SEARCH.tables:
            columns = []
            for opened in (archive, fresh):
                with opened._database.reading() as connection:
                    columns.append(
                        {column["name"]: str(column["type"]) for column in inspect(connection).get_columns(table)}
                    )
            assert columns[0] == columns[1], table


def test_reading_alone_does_not_migrate(old: Path) -> None:
    before = old.read_bytes()
    with pytest.raises(ArchiveError, match=r"Expected schema version 1 .* Got version 0"):
        Archive.open(old, read_only=True)
    assert old.read_bytes() == before


def test_a_migration_that_fails_leaves_the_old_archive(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(connection: object) -> None:
        migrations.to_version_1(connection)  # type: ignore[arg-type]
        raise ArchiveError("Expected a migration that works. Got this one.")

    monkeypatch.setattr("kernaut.archive.store.LAYOUT", _with_migration(broken))
    with pytest.raises(ArchiveError, match="that works"):
        Archive.open(old)
    monkeypatch.undo()
    connection = sqlite3.connect(old)
    assert connection.execute("SELECT value FROM identity WHERE key = 'version'").fetchone() == ("0",)
    assert connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'looks'").fetchone() == (0,)
    connection.close()
    with Archive.open(old) as archive:
        assert archive.check().problems == ()


def _with_migration(step: object) -> object:
    return replace(LAYOUT, migrations=(step,))  # type: ignore[arg-type]
