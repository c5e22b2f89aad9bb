from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

from kernaut.archive.store import Archive
from tests.kernaut.cli.conftest import EXAMPLE, Run

Refused = Callable[..., str]


def test_a_candidate_is_added_once(run: Run, tmp_path: Path) -> None:
    place = tmp_path / "new.sqlite"
    for _ in range(2):
        result = run("archive", "add", EXAMPLE, "--archive", place, "--dimensions", "2")
        assert result.exit_code == 0, result.output
        assert "dual_warp_fold" in result.stdout
    with Archive.open(place, read_only=True) as opened:
        (record,) = opened.candidates()
        assert record.origin == "file dual_warp_fold.json"
        assert opened.evidence(record.program.id)[0].dimensions == (2,)


def test_a_program_that_fails_verification_is_not_added(refused: Refused, archive: Path, tmp_path: Path) -> None:
    path = tmp_path / "hollow.json"
    source = "def feature_point(x, parameters):\n    return [x[9]]\n"
    path.write_text(json.dumps({"name": "hollow", "contract": "feature_map", "source": source}), encoding="utf-8")
    line = refused("archive", "add", EXAMPLE, path, "--archive", archive, "--dimensions", "2")
    assert "tier T2" in line
    assert "tier none: executable" in line
    with Archive.open(archive, read_only=True) as opened:
        assert len(opened.candidates()) == 2  # all or none
    assert "No such file" in refused("archive", "add", EXAMPLE, "none.json", "--archive", "new.sqlite")
    assert not (tmp_path / "new.sqlite").exists()
    text = refused("export", "", "--to", "numpy", "--archive", archive)
    assert "Got '', 2 that begin with it" in text


def test_check_tells_a_sound_archive_from_a_damaged_one(run: Run, archive: Path) -> None:
    result = run("archive", "check", "--archive", archive)
    report = json.loads(result.stdout)
    assert (result.exit_code, report["sound"], report["archive"]["counts"]["programs"]) == (0, True, 2)
    with sqlite3.connect(archive) as connection:
        connection.execute("UPDATE programs SET source = source || '\n'")
    connection.close()
    result = run("archive", "check", "--archive", archive)
    assert result.exit_code == 1
    assert json.loads(result.stdout)["sound"] is False


def test_backup_writes_a_copy_and_never_over_one(run: Run, refused: Refused, archive: Path, tmp_path: Path) -> None:
    result = run("archive", "backup", tmp_path / "copy.sqlite", "--archive", archive)
    assert result.stdout.splitlines() == [str(tmp_path / "copy.sqlite")]
    assert "copy.sqlite" in refused("archive", "backup", tmp_path / "copy.sqlite", "--archive", archive)
    with Archive.open(tmp_path / "copy.sqlite", read_only=True) as opened:
        assert len(opened.candidates()) == 2


def test_a_newer_archive_is_refused_by_name(refused: Refused, archive: Path) -> None:
    with sqlite3.connect(archive) as connection:
        connection.execute("UPDATE identity SET value = '999' WHERE key = 'version'")
    connection.close()
    line = refused("inspect", "--archive", archive)
    assert "999" in line


def test_merge_export_and_prune(run: Run, refused: Refused, archive: Path, tmp_path: Path) -> None:
    other, folder = tmp_path / "other.sqlite", tmp_path / "files"
    added = json.loads(run("archive", "merge", archive, "--archive", other).stdout)["added"]
    assert added[str(archive)]["programs"] == 2
    assert "Got" in refused("archive", "merge", tmp_path / "none.sqlite", "--archive", other)
    assert run("archive", "export", folder, "--archive", other).exit_code == 0
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))["candidates"]
    names = {f"{row['name']}-{row['candidate_id']}.json" for row in index}
    assert {path.name for path in folder.iterdir()} == {"index.json", *names}
    assert "empty folder" in refused("archive", "export", folder, "--archive", other)
    counted = json.loads(run("archive", "prune", "--archive", other, "--dry-run").stdout)["to_remove"]
    assert json.loads(run("archive", "prune", "--archive", other).stdout)["removed"] == counted
    assert json.loads(run("archive", "check", "--archive", other).stdout)["sound"]
