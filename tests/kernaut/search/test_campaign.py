"""Campaigns: the same report for any number of workers and after interruptions; selection opens validation once, on a frozen archive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernaut.archive.store import Archive
from kernaut.authors.author import Brief, Tools
from kernaut.authors.genome import TRANSFORM_BASES, Genome
from kernaut.authors.grammar import write_program
from kernaut.errors import ArchiveError, InputError
from kernaut.search.campaign import CampaignOptions, campaign_report, run_campaign
from kernaut.search.selection import load_selection, require_selected, select
from kernaut.search.workbench import SearchOptions

GENOMES = (("centred_line",), ("radial_bowl", "centred_line"), ("cosine_bank",), ("coordinate_bowl", "radial_bowl"))
OPTIONS = CampaignOptions(SearchOptions(seed=2, episodes_per_family=1), runs=4)


class QuickAuthor:
    """Submits one untuned program a run, with the parent the brief names."""

    name = "quick"
    runs_at_once = 2

    def write(self, brief: Brief, tools: Tools) -> None:
        genome = Genome("input_transform", tuple(sorted(GENOMES[brief.index])), TRANSFORM_BASES[1])
        tools.submit_candidate(write_program(genome, brief))


class StumblingAuthor(QuickAuthor):
    """Is interrupted in one run, after its submission."""

    def __init__(self, run: int) -> None:
        self.run = run

    def write(self, brief: Brief, tools: Tools) -> None:
        super().write(brief, tools)
        if brief.index == self.run:
            raise KeyboardInterrupt


def _report(path: Path, workers: int = 1) -> dict[str, Any]:
    with Archive.create(path) as archive:
        return run_campaign(archive, OPTIONS, QuickAuthor(), campaign_id="c", workers=workers)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return _report(tmp_path_factory.mktemp("campaign") / "whole.sqlite")


def test_every_run_is_closed_and_what_it_brought_is_listed(unbroken: dict[str, Any]) -> None:
    assert [run["status"] for run in unbroken["runs"]] == ["closed"] * 4
    assert [run["generation"] for run in unbroken["runs"]] == [0, 0, 1, 1]
    assert len(unbroken["accepted"]) == 4
    assert {entry["run"] for entry in unbroken["accepted"]} == {0, 1, 2, 3}


def test_two_workers_give_the_same_report(unbroken: dict[str, Any], tmp_path: Path) -> None:
    assert _report(tmp_path / "two.sqlite", workers=2) == unbroken


@pytest.mark.parametrize("run", range(4))
def test_an_interrupted_campaign_resumes_to_the_same_report(unbroken: dict[str, Any], tmp_path: Path, run: int) -> None:
    with Archive.create(tmp_path / "broken.sqlite") as archive:
        with pytest.raises(KeyboardInterrupt):
            run_campaign(archive, OPTIONS, StumblingAuthor(run), campaign_id="c")
        held = {record.program_id for record in archive.accepted("c", open_too=True)}
        assert len(held) == run + 1
        report = run_campaign(archive, OPTIONS, QuickAuthor(), campaign_id="c")
        assert report == unbroken
        assert held <= {entry["candidate_id"] for entry in report["accepted"]}
        assert archive.check().problems == ()


def test_a_finished_campaign_is_reported_without_running_again(unbroken: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "done.sqlite"
    _report(path)
    with Archive.open(path) as archive:
        assert run_campaign(archive, OPTIONS, StumblingAuthor(0), campaign_id="c") == unbroken
        with pytest.raises(ArchiveError, match="seed"):
            changed = CampaignOptions(SearchOptions(seed=3, episodes_per_family=1), runs=4)
            run_campaign(archive, changed, QuickAuthor(), campaign_id="c")


def test_selection_freezes_counts_its_look_and_keeps_outcomes_apart(tmp_path: Path) -> None:
    path = tmp_path / "select.sqlite"
    _report(path)
    with Archive.open(path) as archive:
        selection, evaluations = select(archive, "bbo", per_family=1)
        assert len(evaluations) == 4
        assert selection.choice == min(selection.values, key=lambda key: selection.values[key])
        assert archive.frozen() is not None
        assert archive.looks()["validation"] == 1
        assert archive.looks().get("test", 0) == 0
        assert {record.split for record in archive.evaluations()} == {"train"}
        with archive.held_out() as store:
            assert {record.split for record in store.evaluations()} == {"validation"}
        with pytest.raises(ArchiveError, match="frozen"):
            run_campaign(archive, CampaignOptions(OPTIONS.search, runs=5), QuickAuthor(), campaign_id="d")
        again, _ = select(archive, "bbo", per_family=1)
        assert again == selection
        assert archive.looks()["validation"] == 2
        (tmp_path / "selection.json").write_text(json.dumps(selection.to_json()))
        read = load_selection(tmp_path / "selection.json")
        assert require_selected(archive, read).id == selection.choice
        run_campaign(archive, OPTIONS, QuickAuthor(), campaign_id="c", force="a test")
        assert [record.event for record in archive.freezes()] == ["frozen", "forced"]
        with pytest.raises(ArchiveError, match="not frozen"):
            require_selected(archive, read)


def test_selection_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    with Archive.create(tmp_path / "empty.sqlite") as archive:
        with pytest.raises(InputError, match=r"predictive\.mean_crps, bo\.regret_auc"):
            select(archive, "bbo", "bo.regret")
        with pytest.raises(ArchiveError, match="accepted programs"):
            select(archive, "bbo")
        assert archive.frozen() is None
    stored = tmp_path / "selection.json"
    with pytest.raises(InputError, match=r"selection at .*: No such file"):
        load_selection(stored)
    for record in ({}, {"metric": "m", "candidates": []}, [], {"candidates": 3}):
        stored.write_text(json.dumps(record))
        with pytest.raises(InputError, match="selection written by kernaut select"):
            load_selection(stored)


def test_conversational_is_one_run_and_campaign_options_are_checked(tmp_path: Path) -> None:
    options = CampaignOptions(SearchOptions(seed=1, episodes_per_family=1), "conversational", runs=12)
    with Archive.create(tmp_path / "one.sqlite") as archive:
        report = run_campaign(archive, options, QuickAuthor(), campaign_id="c")
        assert len(report["runs"]) == 1
        assert campaign_report(archive, "c") == report
    with pytest.raises(InputError, match="runs"):
        CampaignOptions(SearchOptions(), runs=0)
    with pytest.raises(InputError, match="strategy"):
        CampaignOptions(SearchOptions(), "random")  # type: ignore[arg-type]
