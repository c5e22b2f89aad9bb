"""kernaut cegar run with a language model, cegar judge and cegar transcript: dry runs, keys, budgets, interruption, reports."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kernaut.operators.code.operators import COMPARATOR
from kernaut.plugins import bundled
from tests.kernaut.authors.model_server import KEY, Call, ModelServer, model_server, status, turn_of

Run = Callable[..., Any]
Refused = Callable[..., str]
TASKS = bundled("examples", "code_tasks.jsonl")
GROW = (
    "--tasks",
    TASKS,
    "--runs",
    1,
    "--calls",
    2,
    "--attempts",
    1,
    "--min-helped",
    1,
    "--split-seed",
    3,
    "--config",
    "c.toml",
)
NAME = "cegar-code-collision-compatible-scripted"


def script(messages: list[dict[str, Any]]) -> list[Call]:
    """As an author it gives up at level 1 and submits the comparator at level 2; as a judge it finds everything correct."""
    if "give_verdict" in messages[0]["content"]:
        return [("give_verdict", {"verdict": "correct", "reason": "it reads well"})]
    if "Level 1:" in messages[1]["content"]:
        return [("list_candidates", {})] if turn_of(messages) == 0 else [("give_up", {"reason": "nothing to see"})]
    return [("submit_operator", {"source": COMPARATOR.source, "defect": "differs from most samples"})]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModelServer]:
    monkeypatch.setenv("MODEL_API_KEY", "")
    with model_server() as running:
        running.script = script
        model = f'provider = "compatible"\nmodel = "scripted"\nbase_url = "{running.url}"\napi_key_env = "MODEL_API_KEY"\nmax_retries = 0\n'
        (tmp_path / "c.toml").write_text(f"[llm]\n{model}", encoding="utf-8")
        (tmp_path / "two.toml").write_text(
            f'[[ensemble]]\n{model}[[ensemble]]\nprovider = "offline"\n', encoding="utf-8"
        )
        (tmp_path / ".env").write_text(f"MODEL_API_KEY={KEY}\n", encoding="utf-8")
        yield running


def test_a_model_grows_operators_is_shown_and_judges(
    run: Run, server: ModelServer, cache: Path, tmp_path: Path
) -> None:
    words = ("cegar", "run", "--archive", "a.sqlite", "--cache", cache, *GROW)
    expected = json.loads(run(*words, "--dry-run", "--max-tokens", 50_000).stdout)
    assert (expected["campaign"], expected["authoring_calls"], expected["expected"]["answers"]) == (NAME, 2, 16)
    assert expected["expected"]["tokens"] > 16 * 1500
    assert expected["at_most"] == {"tokens": 50_000}
    assert (server.requests, list(tmp_path.glob("*.sqlite"))) == ([], [])

    server.faults = [None, status(401, f"bad {KEY}")]
    stopped = run(*words)
    assert stopped.exit_code == 1
    assert "Got status 401: bad [MODEL_API_KEY]" in stopped.stderr
    assert f"campaign {NAME} is in a.sqlite" in stopped.stderr
    grown = run(*words)
    assert grown.exit_code == 0, grown.output
    (record,) = json.loads(grown.stdout)["runs"]
    assert [operator["origin"] for operator in record["admitted"]] == ["compatible/scripted"]
    assert len(server.requests) == 4  # a refused one, and each answer once
    assert json.loads(run(*words, "--dry-run").stdout)["authoring_calls"] == 0
    assert run(*words).stdout == grown.stdout

    common = ("--archive", "a.sqlite", "--campaign", NAME, "--cache", cache)
    text = run("cegar", "transcript", f"{NAME}:0", "--archive", "a.sqlite", "--table", "--call", 1).stdout
    assert "def op(task, candidate, ctx):" in text
    assert "calls list_candidates" not in text
    assert "list_candidates" in run("cegar", "transcript", NAME, "--archive", "a.sqlite").stdout
    ledger = json.loads(run("cegar", "analyse", "ledger", *common).stdout)["ledger"]
    assert (ledger["calls"], ledger["trials"], ledger["consultations"]) == (2, 0, 1)

    server.requests.clear()
    expected = json.loads(run("cegar", "judge", "--config", "c.toml", *common, "--dry-run").stdout)
    assert server.requests == []
    opinion = run("cegar", "judge", "--config", "c.toml", *common)
    assert opinion.exit_code == 0, opinion.output
    found = json.loads(opinion.stdout)
    assert len(server.requests) == found["usage"]["calls"] == found["asked"] == expected["expected"]["answers"]
    assert (found["flagged"], found["effect"]["change"]) == (0, 0.0)
    report = json.loads(run("cegar", "report", *common).stdout)
    assert "judge compatible/scripted" in report["electorates"]["unseen"]["rules"]
    assert report["electorates"]["unseen"]["judges"][0]["overlap_with_all_runs"]["both"] == 0
    assert not any(KEY in path.read_bytes().decode("latin-1") for path in tmp_path.glob("a.sqlite*"))


def test_an_allowance_that_is_spent_is_said(run: Run, server: ModelServer, cache: Path) -> None:
    words = ("cegar", "run", "--archive", "a.sqlite", "--cache", cache, *GROW)
    part = run(*words, "--max-tokens", 3000)
    assert part.exit_code == 0, part.output
    assert "allowance spent" in part.stderr
    assert json.loads(part.stdout)["runs"][0]["stopped"].startswith("allowance spent")
    whole = run(*words, "--max-tokens", 10**6)
    assert len(json.loads(whole.stdout)["runs"][0]["admitted"]) == 1


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("run", *GROW[:-1], "two.toml"), "an ensemble of 2 members"),
        (("run", *GROW, "--max-cost", 1), "input_price and output_price"),
        (("run", *GROW, "--max-rounds", 0), "at least one answer"),
        (("run", *GROW, "--aim", "kind"), "--aim without a language model"),
        (("judge", "--config", "none.toml"), "none.toml"),
        (("transcript", "nobody:0", "--archive", "missing.sqlite"), "missing.sqlite"),
        (("run", "--domain", "code", "--options", "[1]"), "JSON object"),
        (("run", "--domain", "code", "--options", '{"tasks": 3}'), "no further options"),
    ],
)
def test_errors_are_sentences(
    refused: Refused, server: ModelServer, cache: Path, words: tuple[Any, ...], named: str
) -> None:
    assert named in refused("cegar", *words, *(("--cache", cache) if words[0] != "transcript" else ()))


def test_a_missing_key_is_named_before_anything_runs(refused: Refused, server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / ".env").unlink()
    assert "MODEL_API_KEY" in refused("cegar", "run", *GROW)
    assert server.requests == []
