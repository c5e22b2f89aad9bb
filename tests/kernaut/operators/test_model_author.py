"""A language model that writes operators, behind a real HTTP server and through the real client: admission, faults, resumption, secrecy, budgets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from joblib.externals.loky import get_reusable_executor

from kernaut.archive.merging import prune_archive
from kernaut.archive.store import Archive
from kernaut.authors import patience
from kernaut.authors.chat import ModelSettings
from kernaut.errors import ArchiveError, ModelFailure
from kernaut.operators.code.domain import CodeDomain
from kernaut.operators.code.operators import COMPARATOR
from kernaut.operators.domain import Domain
from kernaut.operators.loop import LoopOptions
from kernaut.operators.model_author import ModelOperatorAuthor
from kernaut.operators.running import replay, run_campaign
from kernaut.operators.store import StoredRun, stored_runs
from kernaut.report.transcript import transcript_text, transcripts_of
from tests.kernaut.authors.model_server import KEY, Call, ModelServer, altered, completion, model_server, said, status

Script = Callable[[list[dict[str, Any]]], list[Call]]
OPTIONS = LoopOptions(seed=5, attempts=1, most_calls=2, min_helped=1)
LEVEL_1 = "# 0\ndef op(task, candidate):\n    return 'flag' if 'q' in f'{candidate}' else 'pass'\n"
ALL_WRONG = "# 1 2 5 7 9 10 13 15\ndef op(task, candidate, ctx):\n    return 'pass'\n"
"""Of the small domain, whose operators flag the positions in their first line."""


def results_of(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the tools have answered."""
    return [json.loads(message["content"]) for message in messages if message["role"] == "tool"]


def writing(source: str) -> Script:
    """At level 1 it looks around, tries a poor draft and gives up; at level 2 it tries this source and submits it."""

    def script(messages: list[dict[str, Any]]) -> list[Call]:
        results = results_of(messages)
        if "Level 1:" in messages[1]["content"]:
            listed = next((result["candidates"][0] for result in results if "candidates" in result), "")
            if any("gate" in result or "trial" in result.get("error", {}).get("message", "") for result in results):
                return [("give_up", {"reason": "the text does not tell them apart"})]
            if listed:
                return [("inspect_candidate", {"candidate": listed}), ("try_operator", {"source": LEVEL_1})]
            return [("list_candidates", {"label": "faulty"}), ("list_candidates", {"label": "correct"})]
        draft = {"source": source, "defect": "differs from most samples"}
        return [("submit_operator", draft)] if results else [("try_operator", draft)]

    return script


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setattr(patience, "FIRST_WAIT", 0.01)
    monkeypatch.setenv("MODEL_API_KEY", KEY)
    with model_server() as running:
        running.script = writing(ALL_WRONG)
        yield running


def author(server: ModelServer, **changed: Any) -> ModelOperatorAuthor:
    settings = ModelSettings(
        "compatible",
        "scripted",
        base_url=server.url,
        api_key_env="MODEL_API_KEY",
        max_retries=0,
        input_price=1.0,
        output_price=2.0,
    )
    return replace(ModelOperatorAuthor(settings), **changed)


def grown(
    path: Path,
    domain: Domain,
    who: ModelOperatorAuthor,
    options: LoopOptions = OPTIONS,
    *,
    runs: int = 1,
    workers: int = 1,
) -> list[StoredRun]:
    with Archive.open_or_create(path) as archive:
        return run_campaign(
            archive, "c", domain, who, options, runs, author_options=who.options(domain), workers=workers
        )


def text_of(path: Path) -> str:
    with Archive.open(path) as archive:
        return transcript_text(transcripts_of(archive, "c"))


def test_a_conversation_admits_an_operator_and_sees_nothing_hidden(
    server: ModelServer, code_domain: Domain, tmp_path: Path
) -> None:
    server.script = writing(COMPARATOR.source)
    (run,) = grown(tmp_path / "a.sqlite", code_domain, author(server))
    assert [entry["decision"] for entry in run.ledger] == ["nothing", "admitted"]
    assert run.ledger[0]["reason"] == "the model gave up: the text does not tell them apart"
    assert [trial["decision"] for entry in run.ledger for trial in entry["trials"]] == ["not admitted", "admitted"]
    assert run.operators[0].source == COMPARATOR.source
    assert (run.operators[0].level, run.operators[0].origin) == (2, "compatible/scripted")
    assert run.ledger[1]["usage"] | {"cost": 0} == {
        "calls": 2,
        "prompt_tokens": 2000,
        "completion_tokens": 200,
        "cost": 0,
        "unpriced": 0,
        "estimated": 0,
    }
    inspected = results_of(server.requests[2]["messages"])[2]
    assert inspected["label"] == "wrong: hidden tests only"
    assert "source:" in inspected["shown"]
    everything = json.dumps(server.requests)
    for task in code_domain.tasks:
        if not code_domain.is_training(task.id):
            assert task.id not in everything
        hidden = [line.strip() for line in task.hidden.splitlines() if "assert" in line]
        assert hidden
        assert not any(json.dumps(line)[1:-1] in everything for line in hidden)
    shown = text_of(tmp_path / "a.sqlite")
    assert "authoring call 1" in shown
    assert "calls submit_operator" in shown
    assert KEY not in (tmp_path / "a.sqlite").read_bytes().decode("latin-1")
    fresh = CodeDomain(code_domain.tasks, code_domain.pools, code_domain.split_seed)
    with Archive.open(tmp_path / "a.sqlite") as archive:
        assert replay(fresh, [run], archive.campaign("c"))["verdicts_changed"] == 0
        with pytest.raises(ArchiveError, match="answers"):
            who = author(server, answers=3)
            run_campaign(archive, "c", code_domain, who, OPTIONS, 1, author_options=who.options(code_domain))


@pytest.mark.parametrize("stop", range(5))
def test_an_interrupted_call_goes_on_from_its_transcript(
    server: ModelServer, small_domain: Domain, tmp_path: Path, stop: int
) -> None:
    whole = grown(tmp_path / "a.sqlite", small_domain, author(server))
    asked = len(server.requests)
    assert asked == 5
    server.requests.clear()
    server.faults = [*[None] * stop, status(401, f"no {KEY}")]
    with pytest.raises(ModelFailure, match=r"no \[MODEL_API_KEY\]"):
        grown(tmp_path / "b.sqlite", small_domain, author(server))
    again = grown(tmp_path / "b.sqlite", small_domain, author(server))
    assert [run.ledger for run in again] == [run.ledger for run in whole]
    assert len(server.requests) == asked + 1
    assert text_of(tmp_path / "b.sqlite") == text_of(tmp_path / "a.sqlite")


def test_one_and_two_workers_are_equal(server: ModelServer, small_domain: Domain, tmp_path: Path) -> None:
    one = grown(tmp_path / "a.sqlite", small_domain, author(server), runs=2)
    get_reusable_executor().shutdown()  # workers know the environment of their start, and an earlier test may have started them
    two = grown(tmp_path / "b.sqlite", small_domain, author(server), runs=2, workers=2)
    assert [run.ledger for run in one] == [run.ledger for run in two]
    assert text_of(tmp_path / "b.sqlite") == text_of(tmp_path / "a.sqlite")
    assert len(one) == 2


BAD = {
    "arguments that are no JSON": (
        altered(lambda b: b["choices"][0]["message"]["tool_calls"][0]["function"].update(arguments="{")),
        "arguments_not_json",
    ),
    "an unknown tool": (said(completion([("read_hidden_tests", {})])), "unknown_tool"),
    "a source that does not parse": (
        said(completion([("submit_operator", {"source": "def op(", "defect": "x"})])),
        "program_refused",
    ),
    "a source that opens files": (
        said(
            completion(
                [("try_operator", {"source": "def op(task, candidate):\n    return open('/etc/passwd').read()\n"})]
            )
        ),
        "program_refused",
    ),
    "a source of another level": (
        said(completion([("submit_operator", {"source": COMPARATOR.source, "defect": "x"})])),
        "program_refused",
    ),
    "a source that is too long": (said(completion([("try_operator", {"source": "x = 1\n" * 81})])), "invalid_input"),
    "a candidate of nowhere": (said(completion([("inspect_candidate", {"candidate": "other c000"})])), "invalid_input"),
    "a missing argument": (said(completion([("submit_operator", {"source": "x"})])), "invalid_arguments"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_a_model_does_wrong_comes_back_as_json(
    server: ModelServer, small_domain: Domain, tmp_path: Path, name: str
) -> None:
    fault, kind = BAD[name]
    server.faults = [fault]
    (run,) = grown(tmp_path / "a.sqlite", small_domain, author(server), replace(OPTIONS, most_calls=1))
    assert results_of(server.requests[1]["messages"])[0]["error"]["kind"] == kind
    assert run.ledger[0]["decision"] == "nothing"
    assert run.result["stopped"] == "all authoring calls are used"


ENDINGS = {
    "a refusal": ([said(completion([], None, refusal="I will not."))], {}, "refused by the model: I will not."),
    "words alone": ([said(completion([], "Hm."))] * 3, {}, "no tool call in 3 answers"),
    "answers spent": ([None], {"answers": 1}, "rounds spent"),
    "tool calls spent": ([None], {"tool_calls": 1}, "tool calls spent"),
    "a conversation refused later": ([None, status(400, "too long")], {}, "conversation refused"),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_however_a_call_ends_it_is_one_ledger_entry(
    server: ModelServer, small_domain: Domain, tmp_path: Path, name: str
) -> None:
    faults, changed, reason = ENDINGS[name]
    server.faults = list(faults)
    (run,) = grown(tmp_path / "a.sqlite", small_domain, author(server, **changed), replace(OPTIONS, most_calls=1))
    assert len(run.ledger) == 1
    assert (run.ledger[0]["decision"], run.ledger[0]["operator"]) == ("nothing", None)
    assert str(run.ledger[0]["reason"]).startswith(reason)


def test_trials_are_bounded_and_said_to_be(server: ModelServer, small_domain: Domain, tmp_path: Path) -> None:
    (run,) = grown(tmp_path / "a.sqlite", small_domain, author(server, tries=0), replace(OPTIONS, most_calls=1))
    assert run.ledger[0]["trials"] == []
    with Archive.open(tmp_path / "a.sqlite") as archive:
        prune_archive(archive)
        assert stored_runs(archive, "c")[0].ledger == run.ledger
        assert archive.transcript("c", 0) == ()
    assert "no further trial" in results_of(server.requests[2]["messages"])[3]["error"]["message"]


@pytest.mark.parametrize("limit", [{"tokens": 5000}, {"cost": 0.004}])
def test_a_spent_allowance_suspends_a_run_until_it_is_raised(
    server: ModelServer, small_domain: Domain, tmp_path: Path, limit: dict[str, Any]
) -> None:
    whole = grown(tmp_path / "a.sqlite", small_domain, author(server))
    server.requests.clear()
    (part,) = grown(tmp_path / "b.sqlite", small_domain, author(server, **limit))
    assert str(part.result["stopped"]).startswith("allowance spent")
    assert 0 < len(server.requests) < 5
    assert len(part.ledger) < 2
    again = grown(tmp_path / "b.sqlite", small_domain, author(server, tokens=10**6, cost=1.0))
    assert [run.ledger for run in again] == [run.ledger for run in whole]
    assert again[0].result["stopped"] == whole[0].result["stopped"]
    assert len(server.requests) == 5
