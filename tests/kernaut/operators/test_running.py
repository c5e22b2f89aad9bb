"""A campaign in an archive: resumable, exactly replayable, pinned to its electorate; its rule on other tasks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernaut.archive.store import Archive
from kernaut.errors import ArchiveError, InputError
from kernaut.operators.authoring import OfflineAuthor
from kernaut.operators.code.domain import CodeDomain
from kernaut.operators.loop import LoopOptions
from kernaut.operators.rules import Rule, exported
from kernaut.operators.running import distinct, replay, report, require_pinned, run_campaign
from kernaut.operators.store import StoredRun, stored_runs
from kernaut.operators.studies import studies

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
    with Archive.open(path) as archive:
        found = replay(fresh, runs, archive.campaign("c"))
    require_pinned(found)
    assert found["same_electorate"]
    assert (found["verdicts_changed"], found["flags_added"], found["flags_removed"]) == (0, 0, 0)


def test_a_grown_electorate_is_refused_and_its_difference_can_be_reported(
    code_domain: CodeDomain, campaign: tuple[Path, list[StoredRun]]
) -> None:
    path, runs = campaign
    sample = next(s for s in code_domain.pools["first"] if code_domain.is_training(s.task))
    grown = CodeDomain(
        code_domain.tasks,
        {"first": [*code_domain.pools["first"], replace(sample, correct=False)]},
        code_domain.split_seed,
    )
    grown.pools["first"].sort(key=lambda s: [t.id for t in code_domain.tasks].index(s.task))  # type: ignore[attr-defined]
    with Archive.open(path) as archive:
        record = archive.campaign("c")
        with pytest.raises(ArchiveError):
            run_campaign(archive, "c", grown, OfflineAuthor(), OPTIONS, 2)
    found = replay(grown, runs, record)
    assert not found["same_electorate"]
    assert found["electorate"] != found["pinned"] == record.data_digest
    with pytest.raises(InputError, match="Expected the pinned electorate"):
        require_pinned(found)


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
    assert set(found) >= {"criteria", "halves", "sweep", "budget", "duplication", "veto", "induction"}
    with pytest.raises(InputError, match="Expected an analysis of criteria"):
        studies(code_domain, campaign[1], ["other"])


def test_an_exported_rule_stands_alone(code_domain: CodeDomain, campaign: tuple[Path, list[StoredRun]]) -> None:
    operators, verdicts = distinct(campaign[1])
    train = code_domain.electorate("train")
    level_one = [operator for operator in code_domain.hand_written() if operator.level == 1][:4]
    text = exported(Rule("four", tuple(level_one), 1), "code")
    names: dict[str, object] = {}
    exec(compile(text, "rule", "exec"), names)
    flags = Rule("four", tuple(level_one), 1).flags(code_domain, train)
    for place in range(0, len(train.candidates), 3):
        if not train.visible[place]:
            continue
        said = names["judge"]({}, {"source": train.candidates[place].content["source"]})  # type: ignore[operator]
        assert (said == "flag") == bool(flags[place])
    assert "import kernaut" not in exported(Rule("all", tuple(operators), 1), "code")
    assert len(verdicts) == len(operators)
