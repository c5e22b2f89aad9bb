from collections.abc import Callable
from dataclasses import replace

import pytest

from kernaut.archive.records import (
    AcceptedRecord,
    CampaignRecord,
    DraftRecord,
    Entries,
    RunRecord,
    TranscriptRecord,
    TrialRecord,
)
from kernaut.archive.store import Archive
from kernaut.errors import ArchiveError
from kernaut.program.program import KernelProgram

MakeProgram = Callable[..., KernelProgram]
MakeEntries = Callable[..., Entries]


def draft(run_index: int, index: int = 0, state: str = "staged") -> DraftRecord:
    return DraftRecord(
        "c", run_index, index, {"name": f"d{index}", "contract": "closure"}, state, details={"round": index}
    )


def trial(run_index: int, index: int = 0, fitness: float = -0.5) -> TrialRecord:
    return TrialRecord("c", run_index, 0, index, "halton", {"gain": 0.1 * index}, fitness)


def message(run_index: int, position: int = 0) -> TranscriptRecord:
    return TranscriptRecord("c", run_index, position, "assistant", {"text": "hello"}, {"tokens": 3})


def test_a_campaign_is_resumed_with_equal_options_and_may_grow(archive: Archive) -> None:
    stored = archive.campaign("c")
    assert archive.begin_campaign(replace(stored, versions={"torch": "3"})) == stored
    assert archive.begin_campaign(replace(stored, run_count=9)).run_count == 9
    assert archive.begin_campaign(replace(stored, run_count=2)).run_count == 9


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 1}, "seed"),
        ({"options": {"pool": 65, "rate": 0.1}}, "pool 64. Got pool 65"),
        ({"benchmark": "gases"}, "benchmark"),
        ({"strategy": "x"}, "strategy"),
        ({"data_digest": "e"}, "data_digest"),
    ],
)
def test_what_differs_under_the_same_id_is_refused_by_name(
    archive: Archive, change: dict[str, object], named: str
) -> None:
    with pytest.raises(ArchiveError, match=f"resumed with {named}"):
        archive.begin_campaign(replace(archive.campaign("c"), **change))  # type: ignore[arg-type]


def test_unknown_campaigns_and_runs_are_named(archive: Archive) -> None:
    with pytest.raises(ArchiveError, match=r"Expected a campaign of c. Got 'd'"):
        archive.open_run("d", 0, generation=0)
    with pytest.raises(ArchiveError, match=r"from 0 to 3 in 'c'. Got 4"):
        archive.open_run("c", 4, generation=0)
    with pytest.raises(ArchiveError, match="never opened"):
        archive.close_run("c", 0, result={})
    with pytest.raises(ArchiveError, match="never opened"):
        archive.save_run_state("c", 0, {})
    assert archive.run("c", 0) is None
    archive.begin_campaign(CampaignRecord("b", "bbo", "conversational", 2, 1))
    assert {record.id for record in archive.campaigns()} == {"b", "c"}


def test_a_run_from_opening_to_closing(archive: Archive, make_program: MakeProgram, make_entries: MakeEntries) -> None:
    opened = archive.open_run("c", 1, generation=2, state={"stream": 7})
    assert opened == RunRecord("c", 1, 2, "open", 1, {"stream": 7}, None, 0.0)
    archive.record(Entries(drafts=(draft(1),), trials=(trial(1, 0), trial(1, 1)), transcripts=(message(1),)))
    archive.save_run_state("c", 1, {"stream": 8})
    final = make_entries(make_program(1), 1)
    assert archive.close_run("c", 1, result={"accepted": 1}, entries=final, seconds=2.5)
    assert archive.run("c", 1) == RunRecord("c", 1, 2, "closed", 1, {"stream": 8}, {"accepted": 1}, 2.5)
    assert archive.drafts("c", 1) == (draft(1),)
    assert archive.trials("c", 1) == (trial(1, 0), trial(1, 1))
    assert archive.transcript("c", 1) == (message(1),)
    assert archive.accepted("c") == final.accepted
    with pytest.raises(ArchiveError, match="a closed one"):
        archive.record(Entries(trials=(trial(1, 2),)))
    with pytest.raises(ArchiveError, match="Got a closed one"):
        archive.open_run("c", 1, generation=2)


def test_an_interrupted_run_begins_anew_and_keeps_what_has_content_identifiers(
    archive: Archive, make_program: MakeProgram, make_entries: MakeEntries
) -> None:
    program = make_program(1)
    archive.open_run("c", 0, generation=0, state={"stream": 7})
    archive.open_run("c", 1, generation=0)
    mine = make_entries(program, 0)
    archive.record(replace(mine, drafts=(draft(0), draft(1)), trials=(trial(0),), transcripts=(message(0),)))
    archive.save_run_state("c", 0, {"stream": 8})
    again = archive.open_run("c", 0, generation=0, state={"stream": 7})
    assert (again.attempt, again.state["stream"]) == (2, 7)
    assert archive.drafts("c", 0) == archive.trials("c", 0) == archive.transcript("c", 0) == ()
    assert archive.accepted("c", open_too=True) == ()
    assert archive.drafts("c", 1) == (draft(1),), "another run's entries stay"
    assert archive.programs() == (program,)
    archive.close_run("c", 0, result={}, entries=mine)
    assert archive.accepted("c") == mine.accepted
    assert len(archive.evaluations()) == 1
    with pytest.raises(ArchiveError, match=r"in generation 0. Got generation 1"):
        archive.open_run("c", 1, generation=1)


def test_an_interrupted_run_may_go_on_where_it_was(archive: Archive) -> None:
    archive.open_run("c", 0, generation=0, state={"round": 0})
    archive.record(Entries(drafts=(draft(0),)))
    archive.save_run_state("c", 0, {"round": 3})
    again = archive.open_run("c", 0, generation=0, state={"round": 0}, keep=True)
    assert (again.attempt, again.state["round"]) == (2, 3)
    assert archive.drafts("c", 0) == (draft(0),)


def test_closing_is_atomic(archive: Archive, make_program: MakeProgram, make_entries: MakeEntries) -> None:
    archive.open_run("c", 0, generation=0)
    entries = make_entries(make_program(1), 0)
    broken: AcceptedRecord = replace(entries.accepted[0], position=1, program_id="ffff")
    with pytest.raises(ArchiveError, match="FOREIGN KEY"):
        archive.close_run("c", 0, result={}, entries=replace(entries, accepted=(*entries.accepted, broken)))
    run = archive.run("c", 0)
    assert run is not None
    assert run.status == "open"
    assert archive.programs() == ()
    assert archive.accepted("c", open_too=True) == ()


def test_closing_twice(archive: Archive, make_program: MakeProgram, make_entries: MakeEntries) -> None:
    archive.open_run("c", 0, generation=0)
    entries = make_entries(make_program(1), 0)
    assert archive.close_run("c", 0, result={"a": 1}, entries=entries, seconds=1.0)
    assert not archive.close_run("c", 0, result={"a": 1}, entries=entries, seconds=2.0)
    with pytest.raises(ArchiveError, match="closed once"):
        archive.close_run("c", 0, result={"a": 2}, entries=entries)
    with pytest.raises(ArchiveError, match="other values of score"):
        changed = replace(entries.accepted[0], score=-0.1)
        archive.close_run("c", 0, result={"a": 1}, entries=replace(entries, accepted=(changed,)))
    assert archive.accepted("c") == entries.accepted


def test_runs_and_accepted_programs_by_generation_in_run_order(
    archive: Archive, make_program: MakeProgram, make_entries: MakeEntries
) -> None:
    one, two, three = (make_program(number) for number in (1, 2, 3))
    plan = {2: (1, (three, one)), 0: (0, (one,)), 1: (0, (two, one)), 3: (2, ())}
    for index, (generation, programs) in plan.items():
        archive.open_run("c", index, generation=generation)
        for position, program in enumerate(programs):
            archive.record(make_entries(program, index, position))
        if index != 2:
            archive.close_run("c", index, result={"index": index})
    assert [run.index for run in archive.runs("c")] == [0, 1, 2, 3]
    assert [run.index for run in archive.runs("c", status="closed")] == [0, 1, 3]
    assert [run.index for run in archive.runs("c", status="closed", before_generation=2)] == [0, 1]

    def found(**options: object) -> list[tuple[int, str]]:
        records = archive.accepted("c", **options)  # type: ignore[arg-type]
        return [(record.run_index, record.program_id) for record in records]

    assert found() == [(0, one.id), (1, two.id)]
    assert found(open_too=True) == [(0, one.id), (1, two.id), (2, three.id)]
    archive.close_run("c", 2, result={})
    assert found() == [(0, one.id), (1, two.id), (2, three.id)]
    assert found(before_generation=1) == [(0, one.id), (1, two.id)]
    assert found(before_generation=0) == []
