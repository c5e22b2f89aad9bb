"""A campaign in an archive: resumable, exactly replayable, pinned to its electorate; its rule on other tasks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernaut.archive.store import Archive
from kernaut.errors import ArchiveError, InputError
from kernaut.operators.authoring import OfflineAuthor
from kernaut.operators.code.domain import CodeDomain
from kernaut.operators.loop import LoopOptions
from kernaut.operators.records import Electorate, Operator, Verdicts
from kernaut.operators.rules import Rule, exported
from kernaut.operators.running import distinct, replay, report, require_pinned, run_campaign
from kernaut.operators.store import StoredRun, stored_runs
from kernaut.operators.studies import studies

CLASHING = (
    "import re as m\nSEEN = []\n\n\ndef size(op):\n    return len(m.findall('for', op))\n\n\ndef op(task, candidate):\n    SEEN.append(1)\n"
    "    return 'flag' if size(candidate['source']) > len(SEEN) else 'pass'\n",
    "import math as m\n\n\ndef size(text):\n    return m.floor(len(text) / 40)\n\n\ndef op(task, candidate):\n    size_of = size(candidate['source'])\n"
    "    return 'flag' if size_of > 6 else 'pass'\n",
)
"""One alias for two modules, one name for two helpers, a parameter named as a function, and a list that a call leaves longer."""
OPTIONS = LoopOptions(seed=5, most_calls=10, min_helped=1)


@pytest.fixture(scope="module")
def campaign(code_domain: CodeDomain, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[StoredRun]]:
    path = tmp_path_factory.mktemp("archive") / "a.sqlite"
    with Archive.create(path) as archive:
        return path, run_campaign(archive, "c", code_domain, OfflineAuthor(), OPTIONS, 2)


def test_operators_are_admitted_and_a_second_call_runs_nothing(
    code_domain: CodeDomain, campaign: tuple[Path, list[StoredRun]]
) -> None:
    path, runs = campaign
    assert sum(len(run.operators) for run in runs) >= 1
    with Archive.open(path) as archive:
        again = run_campaign(archive, "c", code_domain, OfflineAuthor(), OPTIONS, 2)
        assert [run.ledger for run in again] == [run.ledger for run in runs]
        assert [run.result["stopped"] for run in stored_runs(archive, "c")] == [run.result["stopped"] for run in runs]
        with pytest.raises(InputError, match="closed runs"):
            stored_runs(archive, "other")


def test_an_equal_campaign_elsewhere_gives_equal_ledgers(
    code_domain: CodeDomain, campaign: tuple[Path, list[StoredRun]], tmp_path: Path
) -> None:
    fresh = CodeDomain(code_domain.tasks, code_domain.pools, code_domain.split_seed)
    with Archive.create(tmp_path / "b.sqlite") as archive:
        again = run_campaign(archive, "c", fresh, OfflineAuthor(), OPTIONS, 1)
    assert again[0].ledger == campaign[1][0].ledger


def test_replay_gives_identical_verdicts(code_domain: CodeDomain, campaign: tuple[Path, list[StoredRun]]) -> None:
    path, runs = campaign
    fresh = CodeDomain(code_domain.tasks, code_domain.pools, code_domain.split_seed)
    with Archive.open(path, read_only=True) as archive:
        record = archive.campaign("c")
    found = replay(fresh, runs, record)
    require_pinned(fresh, record)
    assert found["same_electorate"]
    assert found["shared"] == found["candidates"] > 0
    assert (found["verdicts_changed"], found["flags_added"], found["flags_removed"]) == (0, 0, 0)


def test_a_grown_electorate_is_refused_and_its_difference_can_be_reported(
    code_domain: CodeDomain, campaign: tuple[Path, list[StoredRun]]
) -> None:
    path, runs = campaign
    first = next(place for place, s in enumerate(code_domain.pools["first"]) if code_domain.is_training(s.task))
    pool = list(code_domain.pools["first"])
    extra = replace(pool[first], source=pool[first].source + "\n\nunused = 1\n")
    grown = CodeDomain(
        code_domain.tasks, {"first": [*pool[:first], extra, *pool[first:]]}, code_domain.split_seed
    )  # before all others of its task, whose names move
    with Archive.open(path) as archive:
        record = archive.campaign("c")
        with pytest.raises(ArchiveError):
            run_campaign(archive, "c", grown, OfflineAuthor(), OPTIONS, 2)
    found = replay(grown, runs, record)
    assert not found["same_electorate"]
    assert found["electorate"] != found["pinned"] == record.data_digest
    assert found["shared"] == found["candidates"] - 1
    assert {run.electorate for run in runs} == {record.data_digest}
    with pytest.raises(InputError, match="Expected the pinned electorate"):
        require_pinned(grown, record)


def test_names_that_move_are_no_change(code_domain: CodeDomain, campaign: tuple[Path, list[StoredRun]]) -> None:
    """An operator of level 1 sees no peers, so that a further candidate changes none of its verdicts, wherever it stands."""
    path, runs = campaign
    first = next(place for place, s in enumerate(code_domain.pools["first"]) if code_domain.is_training(s.task))
    pool = list(code_domain.pools["first"])
    extra = replace(pool[first], source="def other():\n    pass\n" + pool[first].source)
    grown = CodeDomain(code_domain.tasks, {"first": [*pool[:first], extra, *pool[first:]]}, code_domain.split_seed)
    train, operator = code_domain.electorate("train"), code_domain.hand_written()[7]
    verdicts = code_domain.examine(operator, train)
    assert len(set(verdicts.codes.tolist())) > 1
    with Archive.open(path, read_only=True) as archive:
        found = replay(grown, [replace(runs[0], operators=(operator,), verdicts=(verdicts,))], archive.campaign("c"))
    assert (found["operators"], found["verdicts_changed"], found["same_electorate"]) == (1, 0, False)


def test_a_report_reads_training_verdicts_from_the_archive(
    code_domain: CodeDomain, campaign: tuple[Path, list[StoredRun]], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = report(code_domain, campaign[1], ["train", "unseen"], [])
    train, examine = code_domain.electorate("train").digest, CodeDomain.examine
    asked: list[str] = []

    def counted(self: CodeDomain, operator: Operator, electorate: Electorate) -> Verdicts:
        asked.append(electorate.digest)
        return examine(self, operator, electorate)

    monkeypatch.setattr(CodeDomain, "examine", counted)
    assert report(code_domain, campaign[1], ["train", "unseen"], []) == expected
    assert asked and train not in asked
    other = [replace(run, electorate="another") for run in campaign[1]]
    assert report(code_domain, other, ["train", "unseen"], []) == expected
    assert train in asked


def test_the_report_holds_rules_baselines_and_nulls(
    code_domain: CodeDomain, campaign: tuple[Path, list[StoredRun]]
) -> None:
    found = report(code_domain, campaign[1], ["train", "unseen"], [Rule("nothing", (), 1)])
    assert found["candidates"].startswith("Candidates were made by mutating")
    rows = found["electorates"]["unseen"]["rules"]
    assert rows["nothing"]["change"] == 0.0
    assert rows["nothing"]["p"] == 1.0
    assert set(found["summary"]) == {"runs", "admitting", "positive", "harmful", "on"}
    assert 0.0 < rows["all runs: union" if "all runs: union" in rows else "all runs: composition"]["p"] <= 1.0


def test_every_analysis_answers(code_domain: CodeDomain, campaign: tuple[Path, list[StoredRun]]) -> None:
    found = studies(code_domain, campaign[1], [])
    assert found["ledger"]["calls"] == sum(len(run.ledger) for run in campaign[1])
    assert found["ledger"]["admitted"] <= found["ledger"]["admitted_with_two"]
    best = studies(code_domain, campaign[1], ["veto"], votes="best")
    assert best["veto"] == studies(code_domain, campaign[1], ["veto"], votes=best["votes"])["veto"]
    assert set(found) >= {"criteria", "halves", "sweep", "budget", "duplication", "veto", "induction"}
    with pytest.raises(InputError, match="Expected an analysis of criteria"):
        studies(code_domain, campaign[1], ["other"])


def test_an_exported_rule_stands_alone(code_domain: CodeDomain, campaign: tuple[Path, list[StoredRun]]) -> None:
    operators, verdicts = distinct(campaign[1])
    train = code_domain.electorate("train")
    level_one = [operator for operator in code_domain.hand_written() if operator.level == 1][:4]
    level_one += [Operator(source, 1, "meets another's names") for source in CLASHING]
    rule = Rule("six", tuple(level_one), 1)
    names: dict[str, Any] = {}
    exec(compile(exported(rule, "code"), "rule", "exec"), names)
    flags = rule.flags(code_domain, train)
    assert 0 < flags.sum() < train.visible.sum()
    for place in np.flatnonzero(train.visible):
        said = names["judge"]({}, {"source": train.candidates[place].content["source"]})
        assert (said == "flag") == bool(flags[place])
    assert {said for _, said in names["verdicts"]({}, {})} == {"abstain"}  # a candidate without a source
    assert "import kernaut" not in exported(Rule("all", tuple(operators), 1), "code")
    assert len(verdicts) == len(operators)
