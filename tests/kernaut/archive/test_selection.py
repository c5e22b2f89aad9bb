from collections.abc import Callable
from pathlib import Path

import pytest

from kernaut.archive.store import Archive
from kernaut.errors import ArchiveError
from kernaut.program.program import KernelProgram


def test_looks_are_counted_by_split_and_benchmark(archive: Archive) -> None:
    assert archive.looks() == {"validation": 0, "test": 0}
    assert archive.record_look("bbo", "validation", "selection", {"candidates": 3}) == {"validation": 1, "test": 0}
    assert archive.record_look("bbo", "test", "report") == {"validation": 1, "test": 1}
    assert archive.record_look("gases", "test", "report") == {"validation": 0, "test": 1}
    assert archive.looks() == {"validation": 1, "test": 2}
    first = archive.look_records()[0]
    assert (first.sequence, first.purpose, first.details["candidates"]) == (1, "selection", 3)
    with pytest.raises(ArchiveError, match=r"validation, test. Got 'train'"):
        archive.record_look("bbo", "train", "x")


def test_a_backup_holds_both_files_and_their_bond(
    archive: Archive, make_program: Callable[..., KernelProgram], tmp_path: Path
) -> None:
    archive.add_program(make_program(1))
    assert archive.backup(tmp_path / "plain.sqlite") == (tmp_path / "plain.sqlite",)
    archive.held_out().close()
    written = archive.backup(tmp_path / "both.sqlite")
    assert written == (tmp_path / "both.sqlite", tmp_path / "both.heldout.sqlite")
    with Archive.open(written[0]) as copy, copy.held_out() as store:
        assert copy.programs() == archive.programs()
        assert store.check().problems == ()
    with pytest.raises(ArchiveError, match="Expected no file"):
        archive.backup(tmp_path / "both.sqlite")
    written[0].unlink()
    with pytest.raises(ArchiveError, match=r"Expected no file at .*both.heldout.sqlite"):
        archive.backup(tmp_path / "both.sqlite")
    assert not written[0].exists()
