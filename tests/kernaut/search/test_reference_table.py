"""All references in one report, at the smallest size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernaut.archive.store import Archive
from kernaut.episodes.enzymes import EnzymeKinetics
from kernaut.errors import ArchiveError, InputError
from kernaut.evaluation.references import references_of
from kernaut.search import benchmarking, reference_programs, reference_table
from kernaut.search.reference_table import reference_report, table_lines

PROGRAMS = [
    "reference-ard-matern52",
    "reference-input-warping",
    "reference-grid-spectral-mixture",
    "reference-random-fourier-features",
    "reference-compositional-search",
]
OPTIONS = {"train_points": 8, "test_points": 4}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """One gradient step on one episode a family, and a handful of references."""
    monkeypatch.setattr(reference_programs, "STEPS", 1)
    monkeypatch.setattr(EnzymeKinetics, "refinement_episodes", 1)
    for module in (reference_table, benchmarking):
        monkeypatch.setattr(module, "references_of", lambda made: references_of(made)[:9:4])


def report(tmp_path: Path, told: Any = None, **options: Any) -> dict[str, Any]:
    path = str(tmp_path / "references.sqlite")
    return reference_report("enzymes", OPTIONS, "validation", per_family=1, archive=path, told=told, **options)


def test_an_interrupted_table_goes_on_and_ends_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(benchmarking, "scored_references", lambda *given, **more: pytest.fail("scored twice"))

    def stop(line: str) -> None:
        if line == PROGRAMS[1]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        report(tmp_path, stop)
    made = []
    original = reference_programs.tuned
    monkeypatch.setattr(
        reference_programs, "tuned", lambda start, *rest: made.append(start.name) or original(start, *rest)
    )
    counts: list[tuple[str, int, int]] = []
    resumed = report(tmp_path, lines.append, done=lambda *count: counts.append(count))
    assert made == PROGRAMS[2:4]
    assert lines == ["3 winners of the fixed grid", *(f"{name}, tuned before" for name in PROGRAMS[:2]), *PROGRAMS[2:]]
    assert ("grid", 3, 3) in counts
    assert counts[-1] == ("evaluations", 8, 8)
    whole = reference_report("enzymes", OPTIONS, "validation", per_family=1)
    assert [entry["candidate_id"] for entry in whole["candidates"]] == [
        e["candidate_id"] for e in resumed["candidates"]
    ]
    assert whole["candidates"] == resumed["candidates"]
    assert whole["looks"] == {"validation": 1, "test": 0}
    with Archive.open(tmp_path / "references.sqlite", read_only=True) as archive:
        assert sorted(record.program.name for record in archive.candidates()) == sorted(PROGRAMS)
        assert all(record.origin.startswith("reference enzymes ") for record in archive.candidates())
        assert archive.looks("enzymes") == {"validation": 1, "test": 0}
    table = table_lines(whole, "validation")
    assert len(table) == 9
    assert table[0].split() == ["reference", "(validation)", "crps", "nlpd", "rmse"]
    scores = [float(line.split()[1]) for line in table[1:]]
    assert scores == sorted(scores)
    assert {line.split()[0] for line in table[1:]} > set(PROGRAMS)


def test_a_frozen_archive_is_refused_before_anything_is_tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Archive.create(tmp_path / "references.sqlite") as archive:
        archive.freeze("test")
    monkeypatch.setattr(reference_programs, "tuned", lambda *given: pytest.fail("tuned"))
    with pytest.raises(ArchiveError, match="which is frozen"):
        report(tmp_path)


def test_bad_requests_are_refused_before_anything_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_table, "scored_references", None)
    with pytest.raises(InputError, match="Expected a benchmark of bbo"):
        reference_report("gases", {}, "validation")
    with pytest.raises(InputError, match=r"Expected 1 to 999 episodes per family\. Got 1000"):
        reference_report("enzymes", {}, "validation", per_family=1000)
    with pytest.raises(InputError, match="Expected a split"):
        reference_report("enzymes", {}, "testing")


def test_a_table_with_nmse_and_forecasters() -> None:
    def entry(name: str, crps: float, **more: float) -> dict[str, Any]:
        section = {"mean_crps": crps, "mean_nlpd": 1.0, "mean_rmse": 0.5, **more}
        return {"name": name, "splits": {"validation": {"predictive": section}}}

    made = {"candidates": [entry("rbf", 0.4, nmse=0.7)], "forecasters": [entry("persistence", 0.3, nmse=0.9)]}
    lines = table_lines(made, "validation")
    assert [line.split() for line in lines] == [
        ["reference", "(validation)", "crps", "nlpd", "rmse", "nmse"],
        ["persistence", "0.3000", "1.0000", "0.5000", "0.9000"],
        ["rbf", "0.4000", "1.0000", "0.5000", "0.7000"],
    ]
