"""The benchmark report: published values, looks counted before anything is scored, held-out outcomes kept apart."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernaut.archive.store import Archive
from kernaut.digest import FrozenMapping
from kernaut.errors import ArchiveError, InputError
from kernaut.plugins import bundled
from kernaut.program.program import KernelProgram, load_candidate
from kernaut.sandbox.limits import Limits
from kernaut.search import benchmarking
from kernaut.search.benchmarking import BenchmarkOptions, archive_programs, benchmark_report
from kernaut.search.candidates import verified_candidate
from kernaut.search.selection import select

DWF = load_candidate(bundled("examples", "candidates", "dual_warp_fold.json"))
SMALL = BenchmarkOptions(splits=("validation", "test"), per_family=1, bo_steps=1, candidates=8)


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    archive = Archive.create(tmp_path / "a.sqlite")
    program, evidence = verified_candidate(bundled("examples", "candidates", "dual_warp_fold.json"), (2,))
    for frequency in (0.9753086419753086, 3.1):
        other = program.with_parameters({"frequency": frequency})
        archive.import_candidate(other, replace(evidence, program_id=other.id), "file")
    return archive


def entry(report: dict[str, Any], key: str) -> dict[str, Any]:
    return next(found for found in report["candidates"] if found["candidate_id"] == key)


def test_the_published_values_of_the_dual_warp_fold() -> None:
    options = BenchmarkOptions(per_family=10)
    report = benchmark_report(options, files=[DWF])
    splits = entry(report, DWF.id)["splits"]
    values = {name: round(split["predictive"]["mean_crps"], 4) for name, split in splits.items()}
    assert values == {"train": 0.5441, "validation": 0.5404, "test": 0.6011}
    regrets = {name: round(split["bo"]["regret_auc"], 4) for name, split in splits.items() if name != "train"}
    assert regrets == {"validation": 0.7890, "test": 0.6712}
    assert entry(report, DWF.id)["origin"] == "file"
    matern = next(found for found in report["candidates"] if found["name"] == "matern52-lengthscale-0.5")
    assert round(matern["splits"]["test"]["predictive"]["mean_crps"], 4) == 0.6117
    assert report["looks"] == {"validation": 1, "test": 1}


def test_episodes_that_cannot_be_drawn_are_refused_before_anything_is_scored(
    archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patients = json.loads(bundled("data", "glucose", "training.json").read_text())
    del patients["adolescent#003"]
    (tmp_path / "patients.json").write_text(json.dumps(patients))
    monkeypatch.setattr(benchmarking, "scored_references", lambda *given, **more: pytest.fail("scored"))
    made_with = FrozenMapping({"data": str(tmp_path / "patients.json")})
    options = BenchmarkOptions("glucose", splits=("train", "validation"), bo_steps=0, benchmark_options=made_with)
    with pytest.raises(InputError, match="Expected patient adolescent#003"):
        benchmark_report(options, archive=archive, programs=archive_programs(archive))
    assert archive.looks("glucose") == {"validation": 0, "test": 0}


def test_candidates_stand_in_the_order_of_identifiers_with_every_reference_family(archive: Archive) -> None:
    report = benchmark_report(SMALL, archive=archive, programs=archive_programs(archive))
    keys = [found["candidate_id"] for found in report["candidates"]]
    assert keys == sorted(keys)
    families = {found["family"] for found in report["candidates"] if found["origin"] == "reference"}
    tried = report["protocol"]["references"]["settings_tried"]
    assert families == set(tried)
    assert sum(tried.values()) == 54
    assert report["protocol"]["references"]["chosen_on"] == {"split": "train", "episodes_per_family": 2}
    assert sum(found["origin"] == "archive" for found in report["candidates"]) == 2


def test_looks_are_counted_and_outcomes_kept_apart(archive: Archive) -> None:
    first = benchmark_report(SMALL, archive=archive, programs=archive_programs(archive))
    assert first["looks"] == {"validation": 1, "test": 1}
    second = benchmark_report(replace(SMALL, splits=("train", "test")), archive=archive)
    assert second["looks"] == {"validation": 1, "test": 2}
    assert archive.evaluations() == ()
    with archive.held_out() as store:
        kept = {(record.program_id, record.split) for record in store.evaluations()}
        assert {(key, split) for key, split in kept if key == DWF.id} == {(DWF.id, "validation"), (DWF.id, "test")}
        assert {record.purpose for record in store.evaluations()} == {"benchmark"}


def test_a_look_is_counted_even_when_the_scoring_is_cut_short(archive: Archive) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        benchmark_report(replace(SMALL, splits=("test",)), archive=archive, done=stop)
    assert archive.looks("bbo") == {"validation": 0, "test": 1}


def test_a_selection_reports_its_program_alone(archive: Archive) -> None:
    selection, _ = select(archive, "bbo", per_family=1)
    report = benchmark_report(SMALL, archive=archive, selection=selection)
    own = [found["candidate_id"] for found in report["candidates"] if found["origin"] != "reference"]
    assert own == [selection.choice]
    stated = report["protocol"]["selection"]
    assert (stated["choice"], stated["count"], stated["metric"]) == (selection.choice, 2, "predictive.mean_crps")
    with pytest.raises(InputError, match="Expected the archive"):
        benchmark_report(SMALL, selection=selection)
    with pytest.raises(InputError, match="made on greenhouse"):
        benchmark_report(replace(SMALL, benchmark="greenhouse"), archive=archive, selection=selection)
    archive.force_resume("more to try")
    with pytest.raises(ArchiveError, match="not frozen"):
        benchmark_report(SMALL, archive=archive, selection=selection)


def test_limits_reach_the_programs() -> None:
    slow = KernelProgram(
        "slow",
        "feature_map",
        "def feature_point(x, parameters):\n    total = 0.0\n    for i in range(20000000):\n        total += 1.0\n    return [total]\n",
    )
    options = replace(SMALL, splits=("train",), bo_steps=0, limits=Limits(request_seconds=0.2))
    predictive = entry(benchmark_report(options, files=[slow]), slow.id)["splits"]["train"]["predictive"]
    assert predictive["mean_crps"] == 2.0
    assert {outcome["state"] for outcome in predictive["failures"]} == {"timed out"}


def test_programs_are_chosen_by_identifier_and_limit(archive: Archive) -> None:
    every = [record.program.id for record in archive.candidates()]
    assert [program.id for program in archive_programs(archive)] == every
    assert [program.id for program in archive_programs(archive, limit=1)] == every[:1]
    assert [program.id for program in archive_programs(archive, [every[1]])] == every[1:]
    with pytest.raises(InputError, match="Got nothere"):
        archive_programs(archive, ["nothere"])
    with pytest.raises(InputError, match="limit of at least 1"):
        archive_programs(archive, limit=0)


@pytest.mark.parametrize(
    "changes",
    [
        {"splits": ("dev",)},
        {"splits": ()},
        {"per_family": 0},
        {"per_family": 1000},
        {"bo_steps": -1},
        {"candidates": 0},
    ],
)
def test_options_out_of_range_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="Expected"):
        BenchmarkOptions(**changes)
