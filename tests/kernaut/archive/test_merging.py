from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernaut.archive.merging import merge_archive, prune_archive
from kernaut.archive.records import DraftRecord, Entries, TranscriptRecord, TrialRecord
from kernaut.archive.store import Archive
from kernaut.errors import ArchiveError
from kernaut.program.program import KernelProgram
from tests.kernaut.archive.conftest import CAMPAIGN, MakeProgram

MakeEntries = Callable[[KernelProgram, int, int], Entries]


@pytest.fixture
def full(archive: Archive, make_program: MakeProgram, make_entries: MakeEntries) -> Archive:
    """Run 0 is closed with one accepted draft and one that came to nothing; run 1 is open."""
    program = make_program(1)
    archive.open_run("c", 0, generation=0)
    accepted = make_entries(program, 0, 0)
    rest = Entries(
        drafts=(
            DraftRecord("c", 0, 0, program.to_json(), "accepted", program_id=program.id),
            DraftRecord("c", 0, 1, {"name": "b"}, "refused", reason="no"),
        ),
        trials=(TrialRecord("c", 0, 0, 0, "halton", {"gain": 0.2}, -0.5),),
        transcripts=(TranscriptRecord("c", 0, 0, "user", {"text": "hello"}),),
    )
    archive.record(accepted)
    archive.close_run("c", 0, result={"ended": "finished"}, entries=rest)
    archive.open_run("c", 1, generation=0)
    archive.record(Entries(trials=(TrialRecord("c", 1, 0, 0, "halton", {"gain": 0.3}, -0.4),)))
    archive.record_look("bbo", "validation", "selection", {"per_family": 2})
    return archive


def test_a_merge_copies_everything_once(full: Archive, tmp_path: Path) -> None:
    with Archive.create(tmp_path / "other.sqlite") as other:
        added = merge_archive(other, full)
        assert (added["programs"], added["runs"], added["trials"], added["looks"]) == (1, 2, 2, 1)
        assert other.candidates() == full.candidates()
        assert other.campaign("c") == full.campaign("c")
        assert other.accepted("c") == full.accepted("c")
        assert other.looks("bbo")["validation"] == 1
        assert other.check().problems == ()
        assert not any(merge_archive(other, full).values())
        other.record_look("bbo", "test", "benchmark")
        assert other.looks("bbo") == {"validation": 1, "test": 1}


def test_a_clash_copies_nothing(full: Archive, tmp_path: Path, make_program: MakeProgram) -> None:
    from dataclasses import replace

    with Archive.create(tmp_path / "other.sqlite") as other:
        other.begin_campaign(replace(CAMPAIGN, seed=5))
        with pytest.raises(ArchiveError, match=r"campaigns for id c.*seed"):
            merge_archive(other, full)
        assert other.programs() == ()
        other.freeze("done")
        with pytest.raises(ArchiveError, match="frozen"):
            merge_archive(other, full)
    with pytest.raises(ArchiveError, match="twice"):
        merge_archive(full, full)


def test_pruning_leaves_what_counts(full: Archive) -> None:
    candidates, report = full.candidates(), full.evaluations()
    expected = {"trials": 1, "drafts": 1, "transcripts": 1}
    assert prune_archive(full, dry_run=True) == expected
    assert len(full.transcript("c", 0)) == 1
    assert prune_archive(full, keep_transcripts=True) == {"trials": 1, "drafts": 1}
    assert len(full.transcript("c", 0)) == 1
    assert prune_archive(full) == {"trials": 0, "drafts": 0, "transcripts": 1}
    assert [draft.state for draft in full.drafts("c", 0)] == ["accepted"]
    assert len(full.trials("c", 1)) == 1  # of an open run
    assert (full.candidates(), full.evaluations()) == (candidates, report)
    assert full.check().problems == ()
