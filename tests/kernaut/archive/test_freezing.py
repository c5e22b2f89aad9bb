from collections.abc import Callable
from dataclasses import replace

import pytest

from kernaut.archive.records import Entries
from kernaut.archive.store import Archive
from kernaut.digest import content_id
from kernaut.errors import ArchiveError
from kernaut.program.program import KernelProgram


def test_a_frozen_archive_takes_no_search_until_forced(
    archive: Archive, make_program: Callable[..., KernelProgram], make_entries: Callable[..., Entries]
) -> None:
    program = make_program(1)
    entries = make_entries(program)
    archive.open_run("c", 0, generation=0)
    archive.close_run("c", 0, result={}, entries=entries)
    archive.open_run("c", 1, generation=0)
    assert archive.frozen() is None
    frozen = archive.freeze("selection by predictive.mean_crps")
    assert frozen.digest == content_id([program.id])
    assert archive.frozen() == frozen == archive.freeze("again")
    refused: list[Callable[[], object]] = [
        lambda: archive.add_program(program),
        lambda: archive.record(Entries(programs=(program,))),
        lambda: archive.import_candidate(program, entries.evidence[0], "file"),
        lambda: archive.begin_campaign(archive.campaign("c")),
        lambda: archive.open_run("c", 2, generation=0),
        lambda: archive.save_run_state("c", 1, {}),
        lambda: archive.close_run("c", 1, result={}),
    ]
    for write in refused:
        with pytest.raises(ArchiveError, match=r"frozen on .*selection by predictive"):
            write()
    archive.record_look("bbo", "validation", "selection")
    archive.begin_campaign(archive.campaign("c"), force="a reviewer asked")
    assert archive.frozen() is None
    second = make_program(2)
    archive.close_run("c", 1, result={}, entries=make_entries(second, 1))
    again = archive.freeze("second selection")
    assert again.digest == content_id(sorted([program.id, second.id]))
    assert [(event.sequence, event.event, event.reason) for event in archive.freezes()] == [
        (1, "frozen", "selection by predictive.mean_crps"),
        (2, "forced", "a reviewer asked"),
        (3, "frozen", "second selection"),
    ]


def test_forcing_what_is_not_frozen_records_nothing(archive: Archive) -> None:
    assert archive.force_resume("no need") is None
    archive.begin_campaign(archive.campaign("c"), force="no need")
    assert archive.freezes() == ()
    archive.freeze("selection")
    assert archive.force_resume("wanted") is not None
    assert archive.force_resume("wanted twice") is None
    assert [event.event for event in archive.freezes()] == ["frozen", "forced"]


def test_candidates_are_accepted_in_closed_runs_or_imported(
    archive: Archive, make_program: Callable[..., KernelProgram], make_entries: Callable[..., Entries]
) -> None:
    closed, opened, imported, staged = (make_program(number) for number in range(4))
    for index, program in enumerate((closed, opened)):
        archive.open_run("c", index, generation=0)
        archive.record(make_entries(program, index))
    archive.close_run("c", 0, result={})
    archive.add_program(staged)
    (evidence,) = make_entries(imported).evidence
    archive.import_candidate(imported, evidence, "file a.json")
    (other,) = make_entries(closed).evidence
    archive.import_candidate(closed, replace(other), "file b.json")
    found = {record.program.id: record.origin for record in archive.candidates()}
    assert found == {closed.id: "campaign c run 0", imported.id: "file a.json"}
    assert list(found) == sorted(found)
