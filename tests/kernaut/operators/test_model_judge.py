"""A judge behind a real HTTP server: what it sees, its verdicts kept and never asked for twice, its place in reports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernaut.archive.merging import prune_archive
from kernaut.archive.store import Archive
from kernaut.authors import patience
from kernaut.authors.chat import ModelSettings
from kernaut.authors.spending import spending_of
from kernaut.errors import ModelFailure
from kernaut.operators.domain import Domain
from kernaut.operators.loop import LoopOptions
from kernaut.operators.model_judge import Judged, expected_judging, judge_candidates, judgements
from kernaut.operators.records import ABSTAIN, FLAG, PASS, Electorate
from kernaut.operators.running import report, run_campaign
from kernaut.operators.studies import studies
from tests.kernaut.authors.model_server import KEY, Call, ModelServer, completion, model_server, said, status
from tests.kernaut.operators.conftest import SmallDomain, flagging
from tests.kernaut.operators.test_loop import INCORRECT, Scripted


def script(messages: list[dict[str, Any]]) -> list[Call]:
    """Candidates with mark 1 are incorrect, with mark 2 unsure."""
    mark = messages[1]["content"].rsplit("mark: ", 1)[1][0]
    return [
        ("give_verdict", {"verdict": {"1": "incorrect", "2": "unsure"}.get(mark, "correct"), "reason": "so it seems"})
    ]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setattr(patience, "FIRST_WAIT", 0.01)
    monkeypatch.setenv("MODEL_API_KEY", KEY)
    with model_server() as running:
        running.script = script
        yield running


class Named(SmallDomain):
    """Equal marks of different tasks are told apart by the task's name."""

    def show(self, electorate: Electorate, place: int) -> dict[str, Any]:
        candidate = electorate.candidates[place]
        return {"task": candidate.task, "mark": str(candidate.content["mark"])}


def settings_of(server: ModelServer, **further: Any) -> ModelSettings:
    return ModelSettings(
        "compatible", "scripted", base_url=server.url, api_key_env="MODEL_API_KEY", max_retries=0, input_price=1.0, output_price=1.0, **further
    )  # fmt: skip


def judged(path: Path, server: ModelServer, domain: Domain, **limits: Any) -> Judged:
    settings = settings_of(server)
    with Archive.open_or_create(path) as archive:
        expected = expected_judging(archive, "c", domain, domain.electorate("unseen"), settings)
        before = len(server.requests)
        found = judge_candidates(archive, "c", domain, domain.electorate("unseen"), settings, **limits)
        if not limits and not server.faults:
            assert len(server.requests) - before == expected["answers"]
        return found


def test_every_candidate_is_judged_once(server: ModelServer, tmp_path: Path) -> None:
    domain = Named()
    found = judged(tmp_path / "a.sqlite", server, domain)
    marks = np.array([candidate.content["mark"] for candidate in domain.electorate("unseen").candidates])
    assert np.array_equal(found.verdicts.codes, np.select([marks == 1, marks == 2], [FLAG, ABSTAIN], PASS))
    assert (found.asked, found.left, found.spent.calls) == (16, 0, 16)
    assert found.verdicts.reasons[2] == "so it seems"
    everything = json.dumps(server.requests)
    assert "hidden tests only" not in everything
    assert KEY not in everything
    again = judged(tmp_path / "a.sqlite", server, domain)
    assert len(server.requests) == 16
    assert again.to_json() == found.to_json()
    with Archive.open(tmp_path / "a.sqlite") as archive:
        prune_archive(archive)
        assert [record.to_json() for record in judgements(archive, "c", domain.electorate("unseen"))] == [
            found.to_json()
        ]
        assert judgements(archive, "other", domain.electorate("unseen")) == []


def test_one_model_with_other_settings_is_another_judge(server: ModelServer, tmp_path: Path) -> None:
    domain = Named()
    judged(tmp_path / "a.sqlite", server, domain)
    with Archive.open(tmp_path / "a.sqlite") as archive:
        unseen = domain.electorate("unseen")
        judge_candidates(archive, "c", domain, unseen, settings_of(server, extra_body={"effort": "low"}))
        names = [judge.model for judge in judgements(archive, "c", unseen)]
    assert names == ["compatible/scripted", 'compatible/scripted {"effort": "low"}']


def test_equal_candidates_are_asked_about_once(server: ModelServer, tmp_path: Path) -> None:
    class Twins(Named):
        def electorate(self, name: str) -> Electorate:
            found = super().electorate(name)
            doubled = [c for c in found.candidates for _ in range(2)]
            return Electorate("small", name, found.tasks, tuple(doubled))

    found = judged(tmp_path / "a.sqlite", server, Twins())
    assert (found.asked, len(found.verdicts.codes)) == (16, 32)
    assert np.array_equal(found.verdicts.codes[::2], found.verdicts.codes[1::2])


def test_refusals_faults_and_an_allowance_are_states(server: ModelServer, tmp_path: Path) -> None:
    domain = Named()
    whole = judged(tmp_path / "a.sqlite", server, domain)
    server.faults = [
        None,
        said(completion([], None, refusal="No.")),
        said(completion([("guess", {})])),
        status(500, "down"),
    ]
    with pytest.raises(ModelFailure):
        judged(tmp_path / "b.sqlite", server, domain)
    with Archive.open(tmp_path / "b.sqlite", read_only=True) as archive:
        (broken_off,) = judgements(archive, "c", domain.electorate("unseen"))
        paid = spending_of(entry.usage for entry in archive.transcript(archive.campaigns()[0].id, 0))
    assert (broken_off.asked, broken_off.spent, broken_off.spent.calls) == (
        2,
        paid,
        3,
    )  # the third was answered once, then broken off
    part = judged(tmp_path / "b.sqlite", server, domain, tokens=6000)
    assert 0 < part.left < 16
    assert part.verdicts.reasons[1] == "refused by the model: No."
    assert "not asked" in part.verdicts.reasons.values()
    rest = judged(tmp_path / "b.sqlite", server, domain)
    assert rest.left == 0
    different = np.flatnonzero(rest.verdicts.codes != whole.verdicts.codes)
    assert list(different) == [1]
    assert rest.spent.calls == 17


def test_reports_hold_a_judge_beside_the_composed_rule(server: ModelServer, tmp_path: Path) -> None:
    domain = Named()
    found = judged(tmp_path / "a.sqlite", server, domain)
    with Archive.open(tmp_path / "a.sqlite") as archive:
        runs = run_campaign(archive, "c", domain, Scripted([flagging(INCORRECT)]), LoopOptions(seed=3), 1)
        judges = judgements(archive, "c", domain.electorate("unseen"))
        whole = report(domain, runs, domain.reported(), [], judged={"unseen": judges})
        study = studies(domain, runs, ["judge"], judges=judges)
    rows = whole["electorates"]["unseen"]["rules"]
    assert rows["perfect"]["accuracy"] == 1.0
    flagged = {place for place in range(16) if found.verdicts.flags[place]}
    assert rows["judge compatible/scripted"]["true_positives"] == len(flagged & set(INCORRECT))
    assert rows["judge compatible/scripted, or all runs"]["flagged"] == len(flagged | set(INCORRECT))
    (row,) = whole["electorates"]["unseen"]["judges"]
    overlap = row["overlap_with_all_runs"]
    assert overlap["both"] == len(flagged & set(INCORRECT))
    assert (overlap["first_only"], overlap["second_only"]) == (
        len(flagged - set(INCORRECT)),
        len(set(INCORRECT) - flagged),
    )
    assert overlap["jaccard"] == pytest.approx(len(flagged & set(INCORRECT)) / len(flagged | set(INCORRECT)))
    assert study["judge"][0]["overlap"] == overlap
    assert study["judge"][0]["usage"]["calls"] == 16
    assert "judges" not in whole["electorates"]["train"]
