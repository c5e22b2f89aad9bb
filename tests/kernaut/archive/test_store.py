import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from kernaut.archive.records import DraftRecord, Entries, EvaluationRecord, EvidenceRecord
from kernaut.archive.store import Archive
from kernaut.errors import ArchiveError
from kernaut.program.program import KernelProgram

MakeProgram = Callable[..., KernelProgram]
MakeEntries = Callable[..., Entries]


def test_a_program_comes_back_equal_with_the_order_of_its_parameters(
    archive: Archive, make_program: MakeProgram
) -> None:
    program = make_program(1)
    assert archive.add_program(program) == program.id == archive.add_program(program)
    back = archive.program(program.id)
    assert back == program
    assert back.id == program.id
    assert list(back.parameters) == ["zeta", "gain", "alpha"]
    assert [spec.name for spec in back.space] == ["zeta", "gain"]
    bare = make_program(2, formulation=None, space=(), parents=(), rationale="")
    archive.add_program(bare)
    assert archive.programs([bare.id, program.id]) == (bare, program)


def test_unknown_programs_are_named(archive: Archive) -> None:
    with pytest.raises(ArchiveError, match="unknown identifiers ffff"):
        archive.program("ffff")
    with pytest.raises(ArchiveError, match="unknown identifier 'eeee'"):
        archive.evaluation("eeee")


def test_evaluations_are_found_by_what_they_were_for(
    archive: Archive, make_program: MakeProgram, make_entries: MakeEntries
) -> None:
    entries = make_entries(make_program(1))
    (search,) = entries.evaluations
    failed = replace(search, purpose="tuning", scores=None, reason="timed out", seed=1)
    archive.record(replace(entries, accepted=(), evaluations=(search, failed)))
    assert archive.evaluations(purpose="search") == (search,)
    assert archive.evaluations(purpose="tuning", program_id=search.program_id) == (failed,)
    assert archive.evaluations(benchmark="gases") == ()
    assert archive.evaluation(failed.id) == failed


@pytest.mark.parametrize("split", ["validation", "test"])
def test_held_out_outcomes_cannot_enter_the_search_archive(
    archive: Archive, make_program: MakeProgram, make_entries: MakeEntries, split: str
) -> None:
    entries = make_entries(make_program(1))
    leaked: EvaluationRecord = replace(entries.evaluations[0], split=split)
    with pytest.raises(ArchiveError, match="split_belongs_here"):
        archive.record(Entries(programs=entries.programs, evaluations=(leaked,)))
    assert archive.programs() == (), "one transaction: the program goes with it"


def test_a_record_that_refers_to_nothing_is_refused(
    archive: Archive, make_program: MakeProgram, make_entries: MakeEntries
) -> None:
    entries = make_entries(make_program(1))
    with pytest.raises(ArchiveError, match="FOREIGN KEY"):
        archive.record(Entries(evidence=entries.evidence))


def test_run_entries_need_an_open_run(archive: Archive) -> None:
    with pytest.raises(ArchiveError, match="never opened"):
        archive.record(Entries(drafts=(DraftRecord("c", 0, 0, {}, "staged"),)))


def test_importing_needs_accepting_evidence(
    archive: Archive, make_program: MakeProgram, make_entries: MakeEntries
) -> None:
    program = make_program(1)
    (evidence,) = make_entries(program).evidence
    for wrong in (replace(evidence, accepted=False, tier="T1"), replace(evidence, program_id="ffff")):
        with pytest.raises(ArchiveError, match="Expected evidence that accepts"):
            archive.import_candidate(program, wrong, "file a.json")
    assert archive.candidates() == ()
    for origin in ("file a.json", "file b.json"):
        archive.import_candidate(program, evidence, origin)
    (candidate,) = archive.candidates()
    assert (candidate.program, candidate.origin) == (program, "file a.json")


def test_an_archive_pickles_as_its_place_and_mode(archive: Archive, make_program: MakeProgram) -> None:
    archive.add_program(make_program(1))
    for mode in (False, True):
        with Archive.open(archive.location, read_only=mode) as opened, pickle.loads(pickle.dumps(opened)) as again:
            assert again.read_only is mode
            assert again.path == archive.path
            assert again.programs() == archive.programs()


def test_a_secret_never_reaches_the_file(
    archive: Archive, make_program: MakeProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_API_KEY", "sk-very-secret-value")
    archive.open_run("c", 0, generation=0)
    draft = DraftRecord("c", 0, 0, {"source": "# sk-very-secret-value"}, "staged")
    for entries in (
        Entries(drafts=(draft,)),
        Entries(drafts=(replace(draft, candidate={}, reason="401 for sk-very-secret-value"),)),
        Entries(programs=(make_program(1, rationale="sk-very-secret-value"),)),
    ):
        with pytest.raises(ArchiveError, match="LLM_API_KEY"):
            archive.record(entries)
    assert archive.path is not None
    archive.close()
    for file in archive.path.parent.iterdir():
        assert b"sk-very" not in file.read_bytes()


def test_open_or_create_from_eight_threads_makes_one(tmp_path: Path) -> None:
    path = tmp_path / "new.sqlite"
    with ThreadPoolExecutor(8) as pool:
        archives = list(pool.map(lambda _: Archive.open_or_create(path), range(8)))
    assert len({archive._database.identity("archive_id") for archive in archives}) == 1
    for archive in archives:
        archive.close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["new.sqlite"]


def test_a_new_archive_does_not_inherit_held_out_outcomes(tmp_path: Path) -> None:
    with Archive.create(tmp_path / "a.sqlite") as first:
        first.held_out().close()
    (tmp_path / "a.sqlite").unlink()
    with pytest.raises(ArchiveError, match="Expected no held-out outcomes"):
        Archive.open_or_create(tmp_path / "a.sqlite")


WRITER = """
import sys
from kernaut.archive.records import DraftRecord, Entries, EvaluationRecord, EvidenceRecord, TrialRecord
from kernaut.archive.store import Archive
from kernaut.program.program import KernelProgram

archive = Archive.open(sys.argv[1])
run, count = int(sys.argv[2]), int(sys.argv[3])
archive.open_run("c", run, generation=0)
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    # every second program is written by both processes
    owner = 0 if number % 2 else run
    source = f"def feature_point(x, parameters):\\n    return {number} * x + {owner}\\n"
    program = KernelProgram(f"p{owner}-{number}", "feature_map", source)
    evidence = EvidenceRecord(program.id, True, "T2", (2,), number, {"n": number}, seconds=float(run))
    trial = TrialRecord("c", run, 0, number, "halton", {"n": number}, float(number))
    archive.record(Entries(programs=(program,), evidence=(evidence,), trials=(trial,)))
    assert archive.program(program.id) == program
archive.close_run("c", run, result={"count": count})
"""


def write_from_two_processes(archive: Archive, count: int) -> None:
    command = [sys.executable, "-W", "error", "-c", WRITER, str(archive.path)]
    writers = [
        subprocess.Popen([*command, str(run), str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for run in (0, 1)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=300)
        assert writer.returncode == 0
    expected = count + (count + 1) // 2
    report = archive.check()
    assert report.problems == ()
    assert report.counts["programs"] == report.counts["evidence"] == expected
    for run in (0, 1):
        assert [trial.index for trial in archive.trials("c", run)] == list(range(count))
    assert [run.status for run in archive.runs("c")] == ["closed", "closed"]


def test_two_processes_write_at_once(archive: Archive) -> None:
    write_from_two_processes(archive, 60)


@pytest.mark.slow
def test_two_processes_write_at_once_for_long(archive: Archive) -> None:
    write_from_two_processes(archive, 3000)


def test_evidence_is_kept_apart_by_program(archive: Archive, make_program: MakeProgram) -> None:
    first, second = make_program(1), make_program(2)
    records = tuple(EvidenceRecord(p.id, True, "T2", (2,), 1, {"n": p.name}) for p in (first, second))
    archive.record(Entries(programs=(first, second), evidence=records))
    assert archive.evidence(second.id) == (records[1],)
