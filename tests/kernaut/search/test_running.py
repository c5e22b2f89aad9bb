"""Whole campaigns of a language model behind a real HTTP server, through the real client; then the server misbehaves, one fault a test."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernaut.archive.store import Archive
from kernaut.authors import patience
from kernaut.authors.chat import ModelSettings
from kernaut.authors.conversation import ModelAuthor
from kernaut.episodes import registry
from kernaut.errors import ModelFailure
from kernaut.search.allowance import Allowance
from kernaut.search.bandit import BanditOptions, Ensemble
from kernaut.search.campaign import CampaignOptions, run_campaign
from kernaut.search.running import RunSummary
from kernaut.search.workbench import SearchOptions
from tests.kernaut.authors.model_server import (
    FORMULATION,
    KEY,
    Call,
    Fault,
    Handler,
    ModelServer,
    altered,
    candidate,
    completion,
    cut,
    drip,
    hang,
    model_server,
    said,
    status,
    text,
    turn_of,
    usual_script,
)
from tests.kernaut.authors.tiny import Tiny


def quick_script(messages: list[dict[str, Any]]) -> list[Call]:
    """Submit at once, without tuning; then look around."""
    if turn_of(messages) == 0:
        return [("propose_formulation", FORMULATION), ("submit_candidate", candidate(messages))]
    return [("query_archive", {})]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setitem(registry.OWN, "tiny", Tiny)
    monkeypatch.setattr(patience, "FIRST_WAIT", 0.01)
    monkeypatch.setenv("MODEL_API_KEY", KEY)
    with model_server() as running:
        running.script = quick_script
        yield running


def settings(server: ModelServer, **changed: Any) -> ModelSettings:
    values = {"base_url": server.url, "api_key_env": "MODEL_API_KEY", "timeout_seconds": 20.0, "max_retries": 1}
    return ModelSettings("compatible", "scripted", **(values | changed))


def options(runs: int = 1, rounds: int = 3, benchmark: str = "tiny", **more: Any) -> CampaignOptions:
    return CampaignOptions(SearchOptions(benchmark, seed=2, episodes_per_family=1), runs=runs, rounds=rounds, **more)


def searched(path: Path, server: ModelServer, plan: CampaignOptions, **changed: Any) -> dict[str, Any]:
    with Archive.open_or_create(path / "a.sqlite") as archive:
        return run_campaign(archive, plan, ModelAuthor(settings(server, **changed), "# A task"), campaign_id="c")


def test_a_whole_evolutionary_campaign(server: ModelServer, tmp_path: Path) -> None:
    def script(messages: list[dict[str, Any]]) -> list[Call]:
        calls = usual_script(messages)
        parent = re.search(r"Revise the parent below.*?`([0-9a-f]{16})`", messages[1]["content"], re.DOTALL)
        if parent is not None and turn_of(messages) == 0:
            calls[1] = ("stage_candidate", candidate(messages, parents=[parent.group(1)]))
        return calls

    server.script = script
    said_of: list[RunSummary] = []
    with Archive.create(tmp_path / "a.sqlite") as archive:
        author = ModelAuthor(settings(server, input_price=2.0, output_price=10.0), "# A task of its own")
        report = run_campaign(archive, options(4, 2), author, campaign_id="c", on_run=said_of.append)
        assert [run["status"] for run in report["runs"]] == ["closed"] * 4
        assert len(report["accepted"]) == 4
        assert any(entry["parents"] for entry in report["accepted"])
        assert report["campaign"]["options"]["author"] == "compatible/scripted"
        entries = archive.transcript("c", 0)
        assert [entry.role for entry in entries] == ["system", "user", "assistant", *["tool"] * 5, "assistant", "tool"]
        assert "# A task of its own" in entries[1].content["text"]
        assert entries[2].content["requests"][3]["name"] == "optimize_parameters"
        assert entries[6].content["result"]["fitness"] is not None
        assert entries[2].usage["prompt_tokens"] == 1000
        usage = report["runs"][0]["result"]["usage"]
        assert (usage["calls"], usage["prompt_tokens"], usage["completion_tokens"]) == (2, 2000, 200)
        assert usage["cost"] == pytest.approx(2000 * 2e-6 + 200 * 1e-5)
        assert archive.check().problems == ()
    assert len(server.requests) == 8
    assert set(server.keys) == {f"Bearer {KEY}"}
    assert str(said_of[0]).endswith("2 answers, 2200 tokens; rounds spent")
    last = server.requests[-1]["messages"]
    assert [message["tool_call_id"] for message in last if message["role"] == "tool"] == [
        call["id"] for message in last if message["role"] == "assistant" for call in message["tool_calls"]
    ]


def _without(body: dict[str, Any], *path: Any) -> dict[str, Any]:
    inner = body
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return body


def _calls(body: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = body["choices"][0]["message"]["tool_calls"]
    return found


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(status(429, "slow down", retry_after="0.02"), id="429 with Retry-After"),
        pytest.param(status(500, "oh"), id="500"),
        pytest.param(hang, id="hang"),
        pytest.param(drip, id="drip"),
        pytest.param(cut, id="cut"),
        pytest.param(text('{"choices": ['), id="half JSON"),
        pytest.param(text("<html>busy</html>", "text/html"), id="no JSON"),
        pytest.param(text("[1, 2]"), id="no object"),
        pytest.param(said({"error": {"message": "overloaded"}}), id="error with status 200"),
        pytest.param(said({"choices": None}), id="no choices"),
    ],
)
def test_what_may_pass_is_asked_again(server: ModelServer, tmp_path: Path, fault: Fault) -> None:
    server.faults = [fault]
    report = searched(tmp_path, server, options(rounds=2), timeout_seconds=2.0 if fault in (hang, drip) else 20.0)
    assert len(report["accepted"]) == 1
    assert len(server.requests) == 3
    assert report["runs"][0]["result"]["ended"] == "rounds spent"


def _spoiled(body: dict[str, Any]) -> None:
    _calls(body)[1]["function"]["arguments"] = '{"name": "wave'


def _renamed(body: dict[str, Any]) -> None:
    _calls(body)[1]["function"]["name"] = "publish_paper"


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        pytest.param(_spoiled, "arguments_not_json", id="arguments that are no JSON"),
        pytest.param(_renamed, "unknown_tool", id="unknown tool"),
    ],
)
def test_a_wrong_call_is_answered_with_what_to_mend(
    server: ModelServer, tmp_path: Path, change: Any, kind: str
) -> None:
    server.faults = [altered(change), _begin]
    report = searched(tmp_path, server, options())
    error = _last_result(server.requests[1])["error"]
    assert error["kind"] == kind
    assert "submit_candidate" in error["message"]
    assert len(report["accepted"]) == 1


def _begin(handler: Handler) -> None:
    """What the model says first, whatever came before."""
    handler.send_json(completion(quick_script(handler.request_body["messages"][:2])))


def _last_result(request: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(request["messages"][-1]["content"])
    return found


def _same_ids(body: dict[str, Any]) -> None:
    for call in _calls(body):
        call["id"] = "same"


def _no_ids(body: dict[str, Any]) -> None:
    for call, value in zip(_calls(body), ({}, {"id": None}), strict=True):
        del call["id"]
        call.update(value)


def _objects(body: dict[str, Any]) -> None:
    for call in _calls(body):
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])


def _thinking(body: dict[str, Any]) -> None:
    message = body["choices"][0]["message"]
    message |= {"content": '<think>{"name": "x"} perhaps</think>First the plan.', "reasoning_content": "Deep."}


def _written(body: dict[str, Any]) -> None:
    message = body["choices"][0]["message"]
    calls = [
        {"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}
        for call in message.pop("tool_calls")
    ]
    message["content"] = "So:\n" + "\n".join(f"<tool_call>{json.dumps(call)}</tool_call>" for call in calls)


@pytest.mark.parametrize("change", [_same_ids, _no_ids, _objects, _thinking, _written])
def test_nearly_compatible_answers_are_understood(server: ModelServer, tmp_path: Path, change: Any) -> None:
    server.faults = [altered(change)]
    report = searched(tmp_path, server, options(rounds=2))
    assert len(report["accepted"]) == 1
    sent = server.requests[1]["messages"]
    ids = [call["id"] for call in sent[2]["tool_calls"]]
    assert len(set(ids)) == 2
    assert all(re.fullmatch("[A-Za-z0-9]{9}", name) for name in ids)
    assert [message["tool_call_id"] for message in sent[3:]] == ids
    assert "think" not in str(sent[2]["content"])


def test_tokens_are_estimated_where_none_are_reported(server: ModelServer, tmp_path: Path) -> None:
    server.faults = [
        altered(lambda body: _without(body, "usage")),
        altered(lambda body: body | {"usage": {"prompt_tokens": "7"}}),
    ]
    usage = searched(tmp_path, server, options(rounds=3))["runs"][0]["result"]["usage"]
    assert (usage["calls"], usage["estimated"]) == (3, 2)
    assert usage["prompt_tokens"] > 4000


def test_silence_is_answered_by_a_reminder(server: ModelServer, tmp_path: Path) -> None:
    server.faults = [said(completion([], "")), said(completion([], None)), _begin, said(completion([], "So."))]
    report = searched(tmp_path, server, options(rounds=5))
    assert len(report["accepted"]) == 1
    assert report["runs"][0]["result"]["ended"] == "rounds spent"
    assert "Call a tool now" in server.requests[1]["messages"][-1]["content"]


def test_a_model_that_never_calls_a_tool_ends_its_runs_alone(server: ModelServer, tmp_path: Path) -> None:
    server.faults = [said(completion([], "Hello."))] * 3
    report = searched(tmp_path, server, options(2, 9))
    assert [run["result"]["ended"] for run in report["runs"]] == ["no tool call in 3 answers", "rounds spent"]
    assert len(report["accepted"]) == 1


def test_two_hundred_kilobytes_are_kept_short(server: ModelServer, tmp_path: Path) -> None:
    long = "x" * 200_000
    huge = completion([("submit_candidate", {"name": "n", "contract": "input_transform", "source": long})], long)
    more = completion([("submit_candidate", {"name": "n", "contract": "input_transform", "source": long * 2})])
    server.faults = [said(huge), said(more)]
    report = searched(tmp_path, server, options(rounds=4))
    assert report["runs"][0]["status"] == "closed"
    first, second = (
        [m for m in request["messages"] if m["role"] == "tool"][-1]["content"] for request in server.requests[1:3]
    )
    assert "at most 100000 characters" in first
    assert "arguments_too_long" in second
    assert len(server.requests[1]["messages"][2]["content"]) < 21_000


def test_a_refusal_ends_its_run_alone(server: ModelServer, tmp_path: Path) -> None:
    server.faults = [said(completion([], None, refusal="I will not."))]
    report = searched(tmp_path, server, options(2, 2))
    assert [run["result"]["ended"] for run in report["runs"]] == ["refused by the model: I will not.", "rounds spent"]
    assert len(report["accepted"]) == 1


def test_a_conversation_that_is_refused_ends_its_run_alone(server: ModelServer, tmp_path: Path) -> None:
    server.faults = [None, status(400, "maximum context length exceeded")]
    report = searched(tmp_path, server, options(2, 2))
    assert report["runs"][0]["result"]["ended"].startswith("conversation refused: ")
    assert len(report["accepted"]) == 2


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch, model_server() as server:
        patch.setitem(registry.OWN, "tiny", Tiny)
        patch.setenv("MODEL_API_KEY", KEY)
        server.script = quick_script
        yield searched(tmp_path_factory.mktemp("unbroken"), server, options(2, 2))


@pytest.mark.parametrize(
    ("place", "fault", "part"),
    [
        (0, status(401, f"no {KEY}"), r"accept the key in MODEL_API_KEY\. Got status 401: no \[MODEL_API_KEY\]"),
        (1, status(503, "down"), "none in 2 attempts; the last: status 503: down"),
        (2, status(404, "no such model"), "a model 'scripted'"),
        (3, status(429, "quota", retry_after="4000"), "asks for a wait of 4000 s"),
    ],
    ids=["401", "503", "404", "429"],
)
def test_a_campaign_without_answers_stops_and_goes_on_where_it_was(
    server: ModelServer, tmp_path: Path, unbroken: dict[str, Any], place: int, fault: Fault, part: str
) -> None:
    server.faults = [*[None] * place, fault, fault]
    with pytest.raises(ModelFailure, match=part):
        searched(tmp_path, server, options(2, 2))
    asked = len(server.requests)
    server.faults = []
    with Archive.open(tmp_path / "a.sqlite") as archive:
        held = {record.program_id for record in archive.accepted("c", open_too=True)}
        assert len(held) == (place + 1) // 2
        assert {found.program.id for found in archive.candidates()} == held
    report = searched(tmp_path, server, options(2, 2))
    assert report == unbroken
    assert len(server.requests) - asked == 4 - place


def test_nobody_listening_is_said(server: ModelServer, tmp_path: Path) -> None:
    with pytest.raises(ModelFailure, match=r"http://127\.0\.0\.1:9/v1.*no connection"):
        searched(tmp_path, server, options(), base_url="http://127.0.0.1:9/v1")


def test_the_key_is_nowhere(server: ModelServer, tmp_path: Path) -> None:
    def echo(handler: Handler) -> None:
        body = completion(quick_script(handler.request_body["messages"]), f"Your key is {KEY}.", reasoning=KEY)
        call = _calls(body)[1]["function"]
        call["arguments"] = call["arguments"].replace("Waves beside the coordinates.", KEY)
        handler.send_json(body)

    server.faults = [echo, status(400, KEY), status(403, f"{KEY} {KEY}")]
    with Archive.create(tmp_path / "a.sqlite") as archive:
        with pytest.raises(ModelFailure) as caught:
            run_campaign(archive, options(2, 2), ModelAuthor(settings(server)), campaign_id="c")
        assert KEY not in f"{caught.value}{caught.value.__cause__}{caught.value.__context__}"
        files = sorted(path for path in tmp_path.iterdir())
        assert any(path.name.endswith("-wal") for path in files)
        contents = b"".join(path.read_bytes() for path in files)
        assert KEY.encode() not in contents
        assert b"Your key is [MODEL_API_KEY]." in contents


def test_two_workers_give_the_same_report(server: ModelServer, tmp_path: Path) -> None:
    reports = []
    for workers in (1, 2):
        with Archive.create(tmp_path / f"{workers}.sqlite") as archive:
            author = ModelAuthor(settings(server), "# A task", runs_at_once=2)
            plan = options(2, 1, "bbo")
            reports.append(run_campaign(archive, plan, author, campaign_id="c", workers=workers))
    assert reports[0] == reports[1]
    assert len(reports[0]["accepted"]) == 2


def test_an_allowance_stops_the_campaign_until_it_is_raised(server: ModelServer, tmp_path: Path) -> None:
    server.script = lambda messages: quick_script(messages) if turn_of(messages) == 0 else [("query_archive", {})]
    plan = options(3, 3, allowance=Allowance(tokens=5_000))
    report = searched(tmp_path, server, plan)
    assert "5000 tokens is spent" in report["stopped"]
    assert report["runs"][0]["result"]["ended"].startswith("allowance spent")
    assert len(report["accepted"]) == 1
    asked = len(server.requests)
    assert searched(tmp_path, server, plan) == report
    assert len(server.requests) == asked
    report = searched(tmp_path, server, options(3, 3, allowance=Allowance(tokens=10**6)))
    assert "stopped" not in report
    assert len(report["accepted"]) == 3
    costly = searched(
        tmp_path, server, options(4, 3, allowance=Allowance(cost=0.001)), input_price=1.0, output_price=1.0
    )
    assert [run["status"] for run in costly["runs"]] == ["closed"] * 4
    assert costly["runs"][3]["result"]["usage"]["calls"] == 1


def test_members_share_a_campaign_and_one_without_answers_is_passed_over(server: ModelServer, tmp_path: Path) -> None:
    good = ModelAuthor(settings(server), "# A task")
    bad = ModelAuthor(
        ModelSettings("compatible", "gone", base_url="http://127.0.0.1:9/v1", api_key_env="", max_retries=0)
    )
    ensemble = Ensemble((good, bad), (1.0, 1.0), BanditOptions(warmup_runs=1))
    with Archive.create(tmp_path / "a.sqlite") as archive:
        report = run_campaign(archive, options(3, 1), ensemble, campaign_id="c")
    results = [run["result"] for run in report["runs"]]
    assert [result["author"] for result in results[:2]] == ["compatible/scripted", "compatible/gone"]
    assert results[1]["ended"].startswith("no answer: ")
    assert len(report["accepted"]) == sum(result["author"] == "compatible/scripted" for result in results)
    lone = Ensemble((bad, ModelAuthor(bad.settings.__class__(**{**bad.settings.__dict__, "model": "too"}))), (1.0, 1.0))
    with Archive.create(tmp_path / "b.sqlite") as archive:
        with pytest.raises(ModelFailure):
            run_campaign(archive, options(6, 1), lone, campaign_id="c")
        assert [run.status for run in archive.runs("c")] == ["closed", "open"]


def test_a_conversational_campaign_builds_on_its_own_programs(server: ModelServer, tmp_path: Path) -> None:
    def script(messages: list[dict[str, Any]]) -> list[Call]:
        if turn_of(messages) == 0:
            return quick_script(messages)
        found = json.loads(messages[-1]["content"])["candidate_id"]
        other = candidate([{"role": "user", "content": "another"}], parents=[found])
        same = candidate(messages, name="same", parameters={"height": 0.7}, parents=[found])
        return [("submit_candidate", same), ("submit_candidate", other)]

    server.script = script
    report = searched(tmp_path, server, options(rounds=2, strategy="conversational"))
    assert [run["index"] for run in report["runs"]] == [0]
    assert [bool(entry["parents"]) for entry in report["accepted"]] == [False, True]
    with Archive.open(tmp_path / "a.sqlite") as archive:
        results = [entry.content["result"] for entry in archive.transcript("c", 0) if entry.role == "tool"]
        assert results[2]["error"]["kind"] == "program_refused"
        assert "differs from every accepted one" in results[2]["error"]["message"]
        (edge,) = archive.lineage(report["accepted"][1]["candidate_id"])
        assert (edge.kind, edge.counts) == ("revision", True)
