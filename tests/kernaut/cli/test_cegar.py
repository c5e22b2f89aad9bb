"""kernaut cegar run, report, compose, replay, analyse, export and advise."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernaut.archive.records import CampaignRecord, EvidenceRecord
from kernaut.archive.store import Archive
from kernaut.errors import InputError
from kernaut.operators.domains import DomainOptions, open_domain
from kernaut.plugins import bundled
from kernaut.program.program import load_candidate
from tests.kernaut.cli.conftest import EXAMPLE

Run = Callable[..., Any]
TASKS = bundled("examples", "code_tasks.jsonl")
SMALL = ("--tasks", TASKS, "--runs", 1, "--calls", 4, "--min-helped", 1, "--split-seed", 3, "--arm", "narrow")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def grown(run: Run, cache: Path) -> dict[str, Any]:
    result = run("cegar", "run", "--archive", "a.sqlite", "--cache", cache, *SMALL)
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


def test_a_campaign_is_measured_composed_replayed_analysed_and_exported(
    run: Run, grown: dict[str, Any], cache: Path, tmp_path: Path
) -> None:
    assert grown["candidates"].startswith("Candidates were made by mutating")
    common = ("--archive", "a.sqlite", "--arm", "narrow", "--cache", cache)
    replayed = run("cegar", "replay", *common)
    assert replayed.exit_code == 0, replayed.output
    assert json.loads(replayed.stdout)["verdicts_changed"] == 0
    report = json.loads(run("cegar", "report", *common).stdout)
    assert set(report["electorates"]) == {"train", "unseen"}
    assert "plurality comparator" in report["electorates"]["unseen"]["rules"]
    assert report["tasks"]["visible"] == "suite"
    samples = Path("samples.jsonl")
    records = [json.loads(line) for line in Path(TASKS).read_text(encoding="utf-8").splitlines()]
    bodies = [
        (record["task_id"], body) for record in records for body in (record["canonical_solution"], "    return 0\n")
    ]
    lines = [json.dumps({"task_id": task, "completion": body}) for task, body in bodies]
    samples.write_text("\n".join(lines), encoding="utf-8")
    other = run("cegar", "report", *common, "--votes", "best", "--transfer-samples", samples)
    assert other.exit_code == 0, other.output
    assert set(json.loads(other.stdout)["electorates"]) == {"train", "transfer", "unseen"}
    composed = run("cegar", "compose", *common, "--votes", "best", "--out", "rule.json")
    assert composed.exit_code == 0, composed.output
    exported = run("cegar", "export", "--rule", "rule.json", "--out", "rule.py")
    assert exported.exit_code == 0, exported.output
    text = Path("rule.py").read_text(encoding="utf-8")
    compile(text, "rule.py", "exec")
    assert "kernaut" not in text.replace("of Kernaut's evaluator", "")
    before = Path("a.sqlite").read_bytes()
    analysed = json.loads(run("cegar", "analyse", "ledger", *common, "--votes", "best").stdout)
    assert analysed["ledger"]["calls"] == 4
    assert analysed["votes"] == json.loads(Path("rule.json").read_text(encoding="utf-8"))["votes"]
    for command in ("report", "compose", "replay", "analyse"):
        with Archive.open("a.sqlite") as archive:
            archive.close()
        assert Path("a.sqlite").read_bytes() == before, command


def test_another_electorate_is_refused(run: Run, grown: dict[str, Any], cache: Path) -> None:
    again = run("cegar", "run", "--archive", "a.sqlite", "--cache", cache, *SMALL, "--limit", 5)
    assert again.exit_code != 0
    assert "Traceback" not in again.output


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("run", "--domain", "other"), "code, kernels"),
        (("run", "--arm", "other"), "an arm of collision"),
        (("run", "--calls", 61), "1 to 60 calls"),
        (("run", "--visible", "nothing"), "suite or prompt"),
        (("run", "--limit", -1), "--limit of at least 0"),
        (("run", "--tasks", TASKS, "--cache", f"{TASKS}/cache"), "a cache folder to write to"),
        (("run", "--tasks", TASKS, "--limit", 1, "--aim", "high"), "--aim kind or accuracy"),
        (("report", "--votes", "most"), "1 to 4, or best"),
        (("report", "--test", -1), "--test with --domain kernels alone. Got it with --domain code"),
        (("analyse", "--domain", "texts", "--cache", "c"), "--cache with --domain code or kernels alone"),
        (("analyse", "ledgers"), "an analysis of criteria"),
        (("analyse", "--votes", 5), "1 to 4, or best"),
        (("report", "--transfer", "--transfer-samples", "s.jsonl"), "one second pool"),
        (("run", "--domain", "kernels", "--split-seed", 1), "--split-seed with --domain code alone"),
        (("run", "--domain", "kernels", "--options", '{"a": 1}'), "no further options"),
        (("run", "--domain", "kernels"), "Got none. hint: Name one by --kernels"),
        (("run", "--max-tokens", 10), "--max-tokens with a language model"),
        (("run", "--archive", "none/a.sqlite"), "a folder to write"),
        (("run", "--tasks", "missing.jsonl"), "missing.jsonl"),
        (("report", "--archive", "missing.sqlite"), "missing.sqlite"),
    ],
)
def test_errors_are_sentences(run: Run, words: tuple[Any, ...], named: str) -> None:
    result = run("cegar", *words)
    assert result.exit_code == 2
    assert named in " ".join(result.output.split())
    assert "Traceback" not in result.output
    assert not list(Path.cwd().rglob("*.sqlite"))  # nothing is left behind


def test_another_domain_or_a_file_without_tasks(refused: Callable[..., str], run: Run, tmp_path: Path) -> None:
    with Archive.create("k.sqlite") as archive:
        archive.begin_campaign(CampaignRecord("found", "bbo", "evolutionary", 0, 1))
    for command in ("report", "compose", "replay", "analyse"):
        text = refused("cegar", command, "--archive", "k.sqlite", "--campaign", "found")
        assert "evolution in the domain code. Got 'found', a campaign of bbo." in text
    Path("no.jsonl").write_text('{"a": 1}', encoding="utf-8")
    text = refused("cegar", "run", "--tasks", "no.jsonl", "--cache", "cache")
    assert "Expected tasks that can be used. Got none of 1: Expected canonical_solution" in text
    line = Path(TASKS).read_text(encoding="utf-8").splitlines()[0]
    Path("twice.jsonl").write_text(f"{line}\n{line}\n", encoding="utf-8")
    assert "Expected each task_id once" in refused("cegar", "run", "--tasks", "twice.jsonl")
    broken = json.dumps({**json.loads(line), "canonical_solution": "    return None\n"})
    Path("broken.jsonl").write_text(broken, encoding="utf-8")
    result = run("cegar", "run", "--tasks", "broken.jsonl", "--cache", "cache", "--runs", 1)
    assert result.exit_code == 2, result.output
    assert "visible checks in the electorate train. Got none of 0 on 0 tasks." in result.stderr


FLAGGING = "def op(task, candidate):\n    return 'flag'\n"


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        ({"source": "import os\n" + FLAGGING}, "import of os is refused"),
        ({"source": "open('x')\n" + FLAGGING}, "is refused"),
        ({"source": "def op("}, "parses as Python"),
        ({"source": "x = 1"}, r"a function op(task, candidate)"),
        ({"source": FLAGGING, "votes": 0}, "at least 1 vote"),
        ({"source": FLAGGING, "votes": True}, "operators and votes"),
        ({"source": FLAGGING, "defect": "\ud800"}, "UTF-8 can hold"),
        ({"source": "from math import *\n" + FLAGGING}, "everything from math is refused"),
        ({"source": FLAGGING, "domain": 'code"""\nraise SystemExit\n'}, "a rule of the domain code"),
    ],
)
def test_rules_of_others_are_checked_before_they_are_written(
    refused: Callable[..., str], tmp_path: Path, rule: dict[str, Any], named: str
) -> None:
    operator = {"level": 1, "defect": "any", **rule}
    votes, domain = operator.pop("votes", 1), operator.pop("domain", "code")
    record = {"domain": domain, "votes": votes, "operators": [operator]}
    Path("rule.json").write_text(json.dumps(record), encoding="utf-8")
    assert named in refused("cegar", "export", "--rule", "rule.json", "--out", "rule.py")
    assert not Path("rule.py").exists()


def test_a_defect_of_several_lines_stays_a_comment(run: Run) -> None:
    operator = {"source": FLAGGING, "level": 1, "defect": "one\nraise SystemExit\r2"}
    Path("rule.json").write_text(json.dumps({"votes": 1, "operators": [operator]}), encoding="utf-8")
    assert run("cegar", "export", "--rule", "rule.json", "--out", "rule.py").exit_code == 0
    names: dict[str, Any] = {}
    exec(compile(Path("rule.py").read_text(encoding="utf-8"), "rule.py", "exec"), names)
    assert names["judge"]({}, {}) == "flag"


def test_a_rule_knows_its_domain(run: Run, refused: Callable[..., str]) -> None:
    record = {"domain": "texts", "votes": 1, "operators": [{"source": FLAGGING, "level": 1, "defect": "any"}]}
    Path("rule.json").write_text(json.dumps(record), encoding="utf-8")
    words = ("cegar", "export", "--rule", "rule.json", "--out", "rule.py")
    assert run(*words).exit_code == 0
    assert "Domain texts." in Path("rule.py").read_text(encoding="utf-8")
    assert "a rule of the domain code in rule.json. Got one of 'texts'" in refused(*words, "--domain", "code")
    assert "--rule without --most" in refused(*words, "--most", 3)
    Archive.create("k.sqlite").close()
    Path("t.csv").write_text("x,y\n1,2\n2,3\n3,5\n", encoding="utf-8")
    advising = ("cegar", "advise", "--archive", "k.sqlite", "--data", "t.csv", "--target", "y", "--rule", "rule.json")
    assert "the domain kernels in rule.json. Got one of 'texts'" in refused(*advising)


def test_kernels_are_measured_by_selection_and_by_crps(run: Run) -> None:
    Archive.create("k.sqlite").close()
    words = ["--domain", "kernels", "--archive", "k.sqlite"]
    result = run("cegar", "run", *words, "--runs", 1, "--calls", 1, "--train", 1, "--validation", 1)
    assert result.exit_code == 0, result.output
    result = run("cegar", "report", *words)
    assert result.exit_code == 0, result.output
    electorates = json.loads(result.stdout)["electorates"]
    assert set(electorates) == {"train", "validation", "unseen"}
    fixed = electorates["unseen"]["rules"]["worse in training"]
    assert fixed["p_across_episodes"] == 1.0  # it knows kernels and no episode
    assert fixed["flagged"] % 6 == 0  # as many kernels on each of the six episodes
    assert 0.0 < electorates["unseen"]["all_runs_against"]["worse in training"] <= 1.0
    nothing = electorates["unseen"]["rules"]["nothing"]["worth"]
    assert nothing["choice by likelihood"] == nothing["choice by likelihood among kept"]
    assert nothing["best in hindsight"]["mean_crps"] < nothing["train-selected reference"]["mean_crps"]
    by_hand = [row["worth"] for name, row in electorates["train"]["rules"].items() if name.startswith("hand-written:")]
    assert any(worth["uniform choice"] != worth["uniform choice among kept"] for worth in by_hand)
    with Archive.open("k.sqlite") as archive:
        assert archive.looks("bbo") == {"validation": 1, "test": 0}  # by the report; the run opens training alone


def test_no_look_is_counted_for_what_stays_closed(refused: Callable[..., str]) -> None:
    Archive.create("k.sqlite").close()
    words = ("cegar", "run", "--domain", "kernels", "--archive", "k.sqlite", "--train", 1)
    assert "Expected 1 to 999 episodes per family. Got 0." in refused(*words, "--validation", 0)
    options = DomainOptions(benchmark="glucose", train=1, validation=1, test=1)
    with Archive.open("k.sqlite") as archive:
        with pytest.raises(InputError, match="whose test stays hidden"):
            open_domain("kernels", options, archive)
        with pytest.raises(InputError, match="fitting observations alone"):
            open_domain("kernels", replace(options, test=0), archive)
        assert archive.looks() == {"validation": 0, "test": 0}


def test_advice_says_why_in_words(run: Run, tmp_path: Path) -> None:
    rows = [f"{x / 11},{(3 * x) % 7 / 7},{(x / 11) ** 2}" for x in range(12)]
    Path("my.csv").write_text("a,b,y\n" + "\n".join(rows) + "\n", encoding="utf-8")
    Archive.create("b.sqlite").close()
    result = run("cegar", "advise", "--archive", "b.sqlite", "--data", "my.csv", "--target", "y")
    assert result.exit_code == 0, result.output
    advice = json.loads(result.stdout)
    assert advice["rows_used"] == 12
    assert sum(kernel["weight"] for kernel in advice["kernels"]) == pytest.approx(1.0)
    assert advice["recommended"] == advice["kernels"][0]
    assert [column["name"] for column in advice["columns"]] == ["a", "b"]
    a, b = (column["relevance"] for column in advice["columns"])
    assert a > 0.9 > b  # y is the square of a
    for kernel in advice["kernels"]:
        assert kernel["trusted"] or (len(kernel["reasons"]) >= 2 and "Do not trust" in kernel["in_words"])
        assert advice["all_flagged"] or kernel["trusted"] or kernel["weight"] == 0.0


def test_advice_shows_the_archive_s_own_kernels_whatever_is_left_out(run: Run) -> None:
    rows = [f"{x / 20},{'red' if x % 2 else 'blue'},{'' if x == 3 else (x / 20) ** 2}" for x in range(18)]
    Path("my.csv").write_text("a,colour,y\n" + "\n".join(rows) + "\n", encoding="utf-8")
    with Archive.create("b.sqlite") as archive:
        program = load_candidate(EXAMPLE)
        archive.import_candidate(program, EvidenceRecord(program.id, True, "T2", (2,), 0, {}), "file")
    words = ("cegar", "advise", "--archive", "b.sqlite", "--data", "my.csv", "--target", "y")
    refusal = run(*words)
    assert refusal.exit_code == 2 and "--drop colour" in refusal.stderr
    result = run(*words, "--drop", "colour")
    assert result.exit_code == 0, result.output
    assert "missing" in result.stderr
    advice = json.loads(result.stdout)
    assert program.id in [kernel["candidate_id"] for kernel in advice["kernels"]]
    assert len(advice["kernels"]) == 1 + 15
    assert advice["left_out"]["equal_on_this_table"] > 0  # in one column lengthscales of further ones mean nothing
    assert advice["cleaning"]["rows_missing"] == 1
    assert "of the archive's 1." in advice["in_words"] and "17 rows say little" in advice["in_words"]
