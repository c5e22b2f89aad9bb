import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kernaut.archive.heldout import HeldOutStore
from kernaut.archive.location import Location
from kernaut.archive.records import Entries, EvaluationRecord, SelectionRecord
from kernaut.archive.store import Archive
from kernaut.errors import ArchiveError
from kernaut.program.program import KernelProgram


@pytest.fixture
def evaluation(make_program: Callable[..., KernelProgram], make_entries: Callable[..., Entries]) -> EvaluationRecord:
    record: EvaluationRecord = make_entries(make_program(1)).evaluations[0]
    return replace(record, split="validation", purpose="selection")


def test_outcomes_live_in_a_file_of_their_own(archive: Archive, evaluation: EvaluationRecord) -> None:
    with archive.held_out() as store:
        assert store.path == archive.path.with_name("search.heldout.sqlite")  # type: ignore[union-attr]
        store.record(evaluation, replace(evaluation, split="test"), evaluation)
        store.record(replace(evaluation, seconds=99.0))
        assert len(store.evaluations()) == 2
        assert store.evaluations(split="validation", program_id=evaluation.program_id, benchmark="bbo") == (evaluation,)
        assert store.check().problems == ()
    assert archive.evaluations() == ()


def test_training_outcomes_do_not_belong_there(archive: Archive, evaluation: EvaluationRecord) -> None:
    with archive.held_out() as store:
        with pytest.raises(ArchiveError, match=r"validation, test in the held-out store. Got 'train'"):
            store.record(evaluation, replace(evaluation, split="train"))
        assert store.evaluations() == ()


def test_selections_are_kept_in_order(archive: Archive) -> None:
    selection = SelectionRecord("bbo", "predictive.mean_crps", "least", "d1", ("a", "b"), "a", {"count": 2})
    with archive.held_out() as store:
        assert store.record_selection(selection) == store.record_selection(selection) == selection.id
        store.record_selection(replace(selection, metric="bo.regret_auc"))
        assert store.selections() == (selection, replace(selection, metric="bo.regret_auc"))


def test_read_only_archives_make_no_store(archive: Archive) -> None:
    with Archive.open(archive.location, read_only=True) as reader:
        with pytest.raises(ArchiveError, match="Got no file"):
            reader.held_out()
        archive.held_out().close()
        with reader.held_out() as store, pytest.raises(ArchiveError, match="read-only"):
            store.record_selection(SelectionRecord("bbo", "m", "r", "d", (), "a"))


def test_another_archives_store_is_refused(archive: Archive, tmp_path: Path) -> None:
    with Archive.create(tmp_path / "other.sqlite") as other:
        other.held_out().close()
    os.rename(tmp_path / "other.heldout.sqlite", tmp_path / "search.heldout.sqlite")
    with pytest.raises(ArchiveError, match="Got those of another archive"):
        archive.held_out()


def test_a_store_is_no_archive_and_an_archive_no_store(archive: Archive, tmp_path: Path) -> None:
    archive.held_out().close()
    with pytest.raises(ArchiveError, match=r"Expected a Kernaut search archive .* Got a held-out store"):
        Archive.open(tmp_path / "search.heldout.sqlite")
    with pytest.raises(ArchiveError, match=r"Expected a Kernaut held-out store .* Got a search archive"):
        HeldOutStore.open_beside(Location(path=archive.path), "x")
