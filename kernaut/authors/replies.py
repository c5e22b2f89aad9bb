"""From what a server sends to a :class:`~kernaut.authors.chat.Reply`: servers that are nearly compatible differ in many small ways.

| what comes | what is made of it |
| --- | --- |
| content as a list of parts, or none | their text, or the empty text |
| reasoning in a field of its own, or in ``<think>`` tags | kept apart from the answer |
| tool arguments as an object, or none | JSON text |
| an old ``function_call`` | one tool request |
| a tool request written into the text | a request, if it names a tool |
| no usage, or one that is no number | none: it is estimated later |
| ``choices`` empty or absent, an error with status 200 | a failure that may pass |

Secrets of the environment are replaced by their variables' names here, before anything else sees the text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from typing import Any

from kernaut.archive.redaction import redact
from kernaut.authors.chat import Reply, ToolRequest, Usage
from kernaut.authors.patience import PassingFailure

THINKING = re.compile(r"<think(?:ing)?>(.*?)(?:</think(?:ing)?>|\Z)", re.DOTALL)
WRITTEN = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)|```(?:json|tool_call)?\s*\n(.*?)```", re.DOTALL)


def reply_of(body: Any, tools: Collection[str]) -> Reply:
    """Read the body of a chat completion.

    Args:
        body: parsed JSON.
        tools: the tools there are, for requests written into the text.

    Raises:
        PassingFailure: when it holds no answer.
    """
    if not isinstance(body, Mapping):
        raise PassingFailure(f"an answer that is no JSON object but {type(body).__name__}")
    if body.get("error"):
        raise PassingFailure(f"an error in place of an answer: {error_text(body)}")
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        raise PassingFailure("an answer without a choice")
    thoughts = [clean(message.get(key)) for key in ("reasoning_content", "reasoning")]
    text = _content(message.get("content"))
    thoughts += THINKING.findall(text)
    text = THINKING.sub("", text).strip()
    requests = _requests(message)
    if not requests:
        requests, text = _written(text, tools)
    reason = choice.get("finish_reason")
    refusal = clean(message.get("refusal")).strip() or None
    if reason == "content_filter" and refusal is None:
        refusal = "the server's content filter ended the answer"
    return Reply(
        text=text,
        requests=requests,
        usage=_usage(body.get("usage")),
        refusal=refusal,
        truncated=reason == "length",
        reasoning="\n".join(thought.strip() for thought in thoughts if thought.strip()),
    )


def error_text(body: Any) -> str:
    """What an error body says, in one short line without secrets."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    text = error.get("message", error) if isinstance(error, Mapping) else error
    line = " ".join(clean(text if isinstance(text, str) else json.dumps(text, default=str)).split())
    return line if len(line) <= 300 else line[:300] + " ..."


def clean(value: Any) -> str:
    """A text without secrets, and without characters that UTF-8 or a database cannot hold; the empty text for anything else."""
    if not isinstance(value, str):
        return ""
    return redact(value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8"))


def _content(content: Any) -> str:
    if isinstance(content, list):
        return "".join(clean(part.get("text")) for part in content if isinstance(part, Mapping))
    return clean(content)


def _requests(message: Mapping[str, Any]) -> tuple[ToolRequest, ...]:
    calls = message.get("tool_calls")
    calls = calls if isinstance(calls, list) else []
    if not calls and isinstance(message.get("function_call"), Mapping):
        calls = [{"function": message["function_call"]}]
    found = []
    for call in calls:
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            arguments = _argument_text(function.get("arguments"))
            found.append(ToolRequest(clean(function.get("name")), arguments, clean(call.get("id"))))
    return tuple(found)


def _argument_text(arguments: Any) -> str:
    if arguments is None or arguments == "":
        return "{}"
    return clean(arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False))


def _written(text: str, tools: Collection[str]) -> tuple[tuple[ToolRequest, ...], str]:
    """Requests that a model wrote into its text, and the text without them."""
    pieces = [match.group(0) for match in WRITTEN.finditer(text)]
    if text.startswith("{"):
        pieces = [text]
    found = []
    for piece in pieces:
        start, end = piece.find("{"), piece.rfind("}")
        try:
            record = json.loads(piece[start : end + 1]) if 0 <= start < end else None
        except (ValueError, RecursionError):
            continue
        if isinstance(record, Mapping) and record.get("name") in tools:
            found.append(ToolRequest(record["name"], _argument_text(record.get("arguments", record.get("parameters")))))
            text = text.replace(piece, "").strip()
    return tuple(found), text


def _usage(usage: Any) -> Usage | None:
    if not isinstance(usage, Mapping):
        return None
    counts = [usage.get(key) for key in ("prompt_tokens", "completion_tokens")]
    if not all(isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 10**9 for count in counts):
        return None
    cost = usage.get("cost")
    known = isinstance(cost, (int, float)) and not isinstance(cost, bool) and math.isfinite(cost) and cost >= 0
    return Usage(int(counts[0] or 0), int(counts[1] or 0), cost=float(cost) if known and cost is not None else None)
