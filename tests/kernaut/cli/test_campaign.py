"""``meta-run`` and ``select``: how options become a campaign; the campaign itself is tested end to end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernaut.archive.records import CampaignRecord
from kernaut.archive.store import Archive
from kernaut.search import campaign
from kernaut.search.campaign import CampaignOptions, RunSummary
from tests.kernaut.cli.conftest import Run

Refused = Callable[..., str]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What ``run_campaign`` was called with; it does nothing else."""
    found: list[dict[str, Any]] = []

    def record(archive: Archive, options: CampaignOptions, author: Any, **rest: Any) -> dict[str, Any]:
        found.append({"archive": archive.path, "options": options, "author": author.name, **rest})
        rest["on_run"](RunSummary(0, 1, "open_ended", 1, "waves", -0.5, -0.5))
        return {"campaign": {"id": rest["campaign_id"]}}

    monkeypatch.setattr(campaign, "run_campaign", record)
    return found


def test_the_defaults_are_the_published_ones(run: Run, calls: list[dict[str, Any]], tmp_path: Path) -> None:
    result = run("meta-run")
    assert json.loads(result.stdout) == {"campaign": {"id": "bbo-seed-0"}}
    assert "run 1/1 open_ended: waves (0.5000), best 0.5000" in result.stderr
    (call,) = calls
    options = call["options"]
    assert call["archive"] == tmp_path / "kernaut.sqlite"
    assert (call["author"], call["force"]) == ("grammar", None)
    assert (options.strategy, options.run_count, options.rounds, options.tool_calls) == ("evolutionary", 12, 10, 100)
    search = options.search
    assert (search.benchmark, search.seed, search.episodes_per_family) == ("bbo", 0, 2)
    assert (search.novelty_threshold, search.elite_score) == (0.08, "paper")


def test_every_option_arrives(run: Run, calls: list[dict[str, Any]], tmp_path: Path) -> None:
    words = "--archive a.sqlite --run-id mine --iterations 3 --rounds-per-iteration 4 --episodes-per-family 5 --max-tool-calls 60"
    more = "--novelty-threshold 0 --elite-score score --seed 7 --workers 2 --force because --out report.json"
    result = run("--quiet", "meta-run", *words.split(), *more.split())
    assert (result.exit_code, result.output) == (0, "")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) == {"campaign": {"id": "mine"}}
    (call,) = calls
    options = call["options"]
    assert (call["campaign_id"], call["workers"], call["force"]) == ("mine", 2, "because")
    assert (options.run_count, options.rounds, options.tool_calls, options.search.seed) == (3, 4, 60, 7)
    assert (options.search.episodes_per_family, options.search.novelty_threshold) == (5, 0.0)
    assert options.search.elite_score == "score"


def test_a_conversational_campaign_is_one_run(run: Run, calls: list[dict[str, Any]]) -> None:
    run("meta-run", "--strategy", "conversational", "--max-rounds", 17)
    run("meta-run", "--max-rounds", 2)
    run("meta-run", "--max-rounds", 17)
    assert [(call["options"].run_count, call["options"].rounds) for call in calls] == [(1, 17), (12, 2), (12, 10)]
    assert calls[0]["campaign_id"] == "bbo-conversational-seed-0"


def test_the_command_line_comes_before_the_configuration(run: Run, calls: list[dict[str, Any]], tmp_path: Path) -> None:
    text = "[campaign]\nseed = 5\nmax_rounds = 3\nmax_tool_calls = 30\n[execution]\nrequest_seconds = 1.5\n"
    (tmp_path / "c.toml").write_text(text, encoding="utf-8")
    run("meta-run", "--config", "c.toml")
    run("meta-run", "--config", "c.toml", "--seed", 0, "--max-tool-calls", 40)
    first, second = (call["options"] for call in calls)
    assert (first.search.seed, first.rounds, first.tool_calls) == (5, 3, 30)
    assert (second.search.seed, second.rounds, second.tool_calls) == (0, 3, 40)
    assert first.search.limits.request_seconds == 1.5
    assert calls[0]["campaign_id"] == "bbo-seed-5"


def test_an_interrupted_campaign_says_how_it_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*words: Any, **rest: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(campaign, "run_campaign", stop)
    result = run("meta-run", "--iterations", 3, "--seed", 4)
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == (
        "interrupted; resume with: kernaut meta-run --archive kernaut.sqlite --run-id bbo-seed-4 --iterations 3 --seed 4"
    )


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("--episodes-per-family -1", "--episodes-per-family from 1 to 999. Got -1"),
        ("--episodes-per-family 1000", "--episodes-per-family from 1 to 999. Got 1000"),
        ("--iterations 0", "--iterations from 1 to 1000000. Got 0"),
        ("--rounds-per-iteration 0", "--rounds-per-iteration from 1 to 1000000. Got 0"),
        ("--max-tool-calls 0", "--max-tool-calls from 1 to 1000000. Got 0"),
        ("--workers 0", "--workers from 1 to 256. Got 0"),
        ("--seed -3", "seed"),
        ("--novelty-threshold 3", "--novelty-threshold from 0 to 2. Got 3.0"),
        ("--novelty-threshold nan", "--novelty-threshold from 0 to 2. Got nan"),
        ("--benchmark chess", "benchmark of bbo"),
        ("--context task.md", "no --context"),
        ("--iterations 100000000000000000000", "--iterations from 1 to 1000000. Got 100000000000000000000"),
        (f"--archive {'x' * 5000}", "File name too long"),
        (f"--out {'x' * 5000}", "File name too long"),
        ("--max-tokens 0", "--max-tokens above 0. Got 0"),
        ("--max-cost -1", "--max-cost above 0. Got -1.0"),
        ("--config none.toml", "No such file"),
        ("--archive missing/folder/a.sqlite", "missing/folder"),
        ("--out missing/report.json", "missing"),
    ],
)
def test_bad_input_is_one_line(refused: Refused, tmp_path: Path, words: str, part: str) -> None:
    assert part in refused("meta-run", *words.split())
    assert list(tmp_path.glob("*.sqlite")) == []


def test_selection_freezes_and_writes_its_file(run: Run, refused: Refused, archive: Path, tmp_path: Path) -> None:
    with Archive.open(archive) as opened:  # a campaign of evaluator evolution leaves no choice of benchmark open
        for name in ("bbo", "cegar-kernels", "judge-kernels"):
            opened.begin_campaign(CampaignRecord(name, name, "evolutionary", 0, 1))
    result = run("select", "--archive", archive, "--episodes-per-family", 1, "--workers", 1)
    assert result.exit_code == 0, result.output
    record = json.loads((tmp_path / "selection.json").read_text(encoding="utf-8"))
    assert record["count"] == 2
    assert record["choice"] in result.stdout
    assert "predictive.mean_crps" in record["rule"]
    with Archive.open(archive) as opened:
        assert opened.frozen() is not None
        assert opened.looks() == {"validation": 1, "test": 0}
    line = refused("meta-run", "--archive", archive, "--iterations", 1, "--workers", 1)
    assert line.startswith("error: Expected an archive open for search. Got one frozen")


def test_a_selection_needs_candidates_a_metric_and_a_benchmark(refused: Refused, archive: Path, tmp_path: Path) -> None:
    assert "bo.regret_auc" in refused("select", "--archive", archive, "--metric", "luck")
    assert "benchmark of bbo" in refused("select", "--archive", archive, "--benchmark", "chess")
    assert "1 to 999" in refused("select", "--archive", archive, "--episodes-per-family", 1000)
    Archive.create(tmp_path / "empty.sqlite").close()
    assert "accepted programs" in refused("select", "--archive", tmp_path / "empty.sqlite")
