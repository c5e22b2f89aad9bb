"""Answers of servers that are nearly compatible; a row for each way."""

from __future__ import annotations

from typing import Any

import pytest

from kernaut.authors.chat import ToolRequest, Usage
from kernaut.authors.patience import PassingFailure
from kernaut.authors.replies import clean, error_text, reply_of

TOOLS = {"query_archive"}


def body(finish: str = "stop", **message: Any) -> dict[str, Any]:
    return {"choices": [{"finish_reason": finish, "message": message}]}


def called(**function: Any) -> dict[str, Any]:
    return body(tool_calls=[{"id": "a", "function": {"name": "query_archive", **function}}])


@pytest.mark.parametrize(
    ("answer", "arguments"),
    [
        (called(arguments='{"limit": 3}'), '{"limit": 3}'),
        (called(arguments={"limit": 3}), '{"limit": 3}'),
        (called(arguments=None), "{}"),
        (called(arguments=""), "{}"),
        (called(), "{}"),
        (body(function_call={"name": "query_archive", "arguments": "{}"}), "{}"),
        (body(content='{"name": "query_archive", "parameters": {"limit": 3}}'), '{"limit": 3}'),
        (body(content='Now:\n```json\n{"name": "query_archive", "arguments": {"limit": 3}}\n```'), '{"limit": 3}'),
        (body(content='<tool_call>{"name": "query_archive", "arguments": {}}</tool_call>'), "{}"),
    ],
)
def test_requests_in_every_form(answer: dict[str, Any], arguments: str) -> None:
    (request,) = reply_of(answer, TOOLS).requests
    assert (request.name, request.arguments) == ("query_archive", arguments)


def test_what_is_no_request_stays_text() -> None:
    for text in ('{"name": "paper"}', "```json\n{]\n```", "{", "plain"):
        reply = reply_of(body(content=text), TOOLS)
        assert (reply.requests, reply.text) == ((), text)
    assert reply_of(body(tool_calls=[None, {"function": "f"}], content=None), TOOLS).requests == ()


def test_text_reasoning_and_ends() -> None:
    parts = reply_of(body(content=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, 3]), TOOLS)
    assert parts.text == "ab"
    thought = reply_of(body(content="<think>hm\n</think> yes <think>open", reasoning="deep"), TOOLS)
    assert (thought.text, thought.reasoning) == ("yes", "deep\nhm\nopen")
    assert reply_of(body("length", content="x"), TOOLS).truncated
    assert reply_of(body(content=None, refusal=" no "), TOOLS).refusal == "no"
    assert reply_of(body("content_filter", content=""), TOOLS).refusal is not None


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 4, "cost": 0.5}, Usage(3, 4, cost=0.5)),
        ({"prompt_tokens": 3, "completion_tokens": 4, "cost": float("nan")}, Usage(3, 4)),
        ({"prompt_tokens": -3, "completion_tokens": 4}, None),
        ({"prompt_tokens": 3}, None),
        ({"prompt_tokens": True, "completion_tokens": 4}, None),
        ([], None),
    ],
)
def test_usage_is_taken_where_it_is_sound(usage: Any, expected: Usage | None) -> None:
    assert reply_of(body(content="x") | {"usage": usage}, TOOLS).usage == expected


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        ([], "no JSON object but list"),
        ({"choices": []}, "without a choice"),
        ({"choices": [{"message": None}]}, "without a choice"),
        ({"error": {"message": "m\nn"}}, "an error in place of an answer: m n"),
        ({}, "without a choice"),
    ],
)
def test_what_holds_no_answer_may_pass(answer: Any, part: str) -> None:
    with pytest.raises(PassingFailure, match=part):
        reply_of(answer, TOOLS)


def test_texts_are_free_of_secrets_and_of_what_cannot_be_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "k-123456789")
    answer = called(arguments='{"a": "k-123456789"}') | {"usage": None}
    answer["choices"][0]["message"]["content"] = "say k-123456789"
    reply = reply_of(answer, TOOLS)
    assert reply.text == "say [SOME_API_KEY]"
    assert reply.requests == (ToolRequest("query_archive", '{"a": "[SOME_API_KEY]"}', "a"),)
    assert error_text({"error": {"message": "key k-123456789"}}) == "key [SOME_API_KEY]"
    assert error_text({"error": "x" * 900}).endswith(" ...")
    assert clean("a\x00b\ud800") == "a\ufffdb?"
    assert clean(None) == ""
