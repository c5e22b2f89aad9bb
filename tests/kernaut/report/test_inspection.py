from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernaut.archive.records import (
    AcceptedRecord,
    CampaignRecord,
    Entries,
    EvaluationRecord,
    EvidenceRecord,
    LineageRecord,
)
from kernaut.archive.store import Archive
from kernaut.errors import InputError
from kernaut.program.program import KernelProgram
from kernaut.report.inspection import archive_overview, frontier, program_details

ROOT = KernelProgram("root", "feature_map", "def feature_point(x, parameters):\n    return [x[0]]\n")
CHILD = replace(ROOT, name="child", parents=(ROOT.id,))
OUTSIDE = replace(ROOT, name="outside")


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    """A closed run with two programs, an open one with another, and an imported candidate."""
    archive = Archive.create(tmp_path / "a.sqlite")
    archive.begin_campaign(CampaignRecord("c", "bbo", "evolutionary", 3, 2))
    for index, (program, crps) in enumerate(((ROOT, 0.6), (CHILD, 0.5))):
        archive.open_run("c", index, generation=index)
        evidence = EvidenceRecord(program.id, True, "T2", (2,), 3, {})
        measured = EvaluationRecord(
            program.id, "bbo", "train", "search", 3, {}, "", {}, {"mean_crps": crps}, seconds=0.25 + index
        )
        accepted = AcceptedRecord(
            "c",
            index,
            0,
            program.id,
            "open_ended",
            "linear",
            "distinct",
            -crps,
            0.1,
            evidence_id=evidence.id,
            evaluation_id=measured.id,
            details={"scores": {"mean_crps": crps, "regret_auc": 0.7}, "nearest": "rbf", "fingerprint": [0.5]},
        )
        lineage = (LineageRecord(CHILD.id, ROOT.id, "revision"),) if program is CHILD else ()
        archive.close_run(
            "c",
            index,
            result={},
            entries=Entries((program,), lineage, (evidence,), (measured,), accepted=(accepted,)),
        )
    archive.import_candidate(OUTSIDE, EvidenceRecord(OUTSIDE.id, True, "T2", (2,), 0, {}), "file outside.json")
    return archive


def test_an_overview_lists_the_best_first_and_imported_ones_last(archive: Archive) -> None:
    overview = archive_overview(archive)
    rows = overview["candidates"]
    assert [row["name"] for row in rows] == ["child", "root", "outside"]
    assert (rows[0]["mean_crps"], rows[0]["regret_auc"], rows[0]["seconds"]) == (0.5, 0.7, 1.25)
    assert "score" not in rows[2]
    assert rows[2]["origin"] == "file outside.json"
    assert overview["campaigns"][0] | {"drafts": 0} == {
        "id": "c", "benchmark": "bbo", "strategy": "evolutionary", "seed": 3, "runs": 2, "closed_runs": 2, "drafts": 0,
    }  # fmt: skip


def test_the_frontier_keeps_what_nothing_beats_in_both() -> None:
    rows = [
        {"candidate_id": key, "mean_crps": crps, "seconds": seconds}
        for key, crps, seconds in (
            ("a", 0.6, 0.1),
            ("b", 0.5, 0.4),
            ("c", 0.55, 0.5),
            ("d", 0.65, 0.3),
            ("e", 0.6, 0.1),
        )
    ]
    assert [row["candidate_id"] for row in frontier([*rows, {"candidate_id": "f"}])] == ["a", "b"]
    assert frontier([]) == []


def test_a_program_is_shown_with_its_relatives(archive: Archive) -> None:
    details = program_details(archive, ROOT.id[:8])
    assert details["candidate"]["name"] == "root"
    assert details["children"] == [CHILD.id]
    assert details["scores"] == {"mean_crps": 0.6, "regret_auc": 0.7}
    assert details["acceptance"]["niche"] == "open_ended"
    assert program_details(archive, CHILD.id)["lineage"][0]["kind"] == "revision"
    outside = program_details(archive, OUTSIDE.id)
    assert (outside["acceptance"], outside["scores"]) == (None, None)


def test_an_identifier_must_name_one_program(archive: Archive) -> None:
    with pytest.raises(InputError, match="none of that name"):
        program_details(archive, "zz")
    with pytest.raises(InputError, match="3 that begin with it"):
        program_details(archive, "")


def test_an_empty_identifier_names_nothing(tmp_path: Path) -> None:
    with Archive.create(tmp_path / "one.sqlite") as archive:
        archive.add_program(ROOT)
        with pytest.raises(InputError, match="Got '', 1 that begin with it"):
            program_details(archive, "")
