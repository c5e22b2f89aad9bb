"""A conversation with a language model in which every answer calls tools, whatever the tools are for.

Everything that is said is noted in a transcript at once.  A conversation that was interrupted goes on by reading its transcript in place of asking again: tools are called
anew, which rebuilds their session's state, and the model sees the results that it saw before.  So nothing is paid twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from kernaut.archive.records import TranscriptRecord
from kernaut.authors.chat import ChatModel, ModelSettings, Reply
from kernaut.authors.replies import clean
from kernaut.authors.spending import Spending, charge, estimated_tokens, spending_of
from kernaut.authors.toolbox import MOST_ARGUMENTS, Toolbox, sound_values
from kernaut.digest import thaw
from kernaut.errors import AllowanceSpent, ArchiveError, InputError, RequestRefused

SILENT_ANSWERS = 3
"""So many answers in a row without a tool call end a conversation."""

MOST_TEXT = 20_000
"""Longest text of an answer that is kept and sent back [characters]."""


class Scribe(Protocol):
    """Keeps a conversation's transcript."""

    def transcript(self) -> Sequence[TranscriptRecord]:
        """What an interrupted attempt left of the conversation, in order; empty for a new one."""

    def note(self, role: str, content: Mapping[str, Any], usage: Mapping[str, Any] | None = None) -> None:
        """Store one further entry at once, free of secrets."""


@dataclass(frozen=True)
class Bounds:
    """What one conversation may take.

    Args:
        answers: most answers of the model.
        tokens: most tokens, sent and answered; None without a limit.
        cost: most that it may cost [US dollars]; None without a limit.
    """

    answers: int
    tokens: int | None = None
    cost: float | None = None


class Dialogue:
    """One conversation, and its place in the transcript of an earlier attempt.

    Args:
        settings: of the model.
        model: who answers.
        box: the tools.
        scribe: keeps the transcript.
        bounds: what it may take.
        nudge: what follows an answer without a tool call, made from what was wrong with it.
        finished: whether the tools' session needs no further answer; asked after each answer.
        name: what errors call it.
    """

    def __init__(
        self,
        settings: ModelSettings,
        model: ChatModel,
        box: Toolbox,
        scribe: Scribe,
        bounds: Bounds,
        *,
        nudge: Callable[[str], str],
        finished: Callable[[], bool] = lambda: False,
        name: str = "the conversation",
    ) -> None:
        self._settings, self._model, self._box, self._scribe = settings, model, box, scribe
        self._bounds, self._nudge, self._finished, self._name = bounds, nudge, finished, name
        self._schemas = box.schemas()
        self._earlier = scribe.transcript()
        self._place = 0
        self._messages: list[dict[str, Any]] = []
        self.spent = Spending()

    def hold(self, *opening: tuple[str, Callable[[], str]]) -> str | None:
        """Say the opening, ask, do what is asked for, and so on.

        Args:
            opening: roles and texts, made when they are needed.

        Returns:
            Why it ended; None when the model said that it had finished, or the tools' session needs no more.

        Raises:
            BudgetSpent: when the tool calls are spent.
            AllowanceSpent: when tokens or money are.
            ModelFailure: when the model gives no answer.
            ArchiveError: when the stored transcript is not one of this version.
        """
        for role, make in opening:
            self._say(role, make)
        silent = 0
        for turn in range(self._bounds.answers):
            try:
                answer = self._entry("assistant", self._ask)
            except RequestRefused as error:
                if turn == 0:
                    raise
                return f"conversation refused: {error.message}"
            self._messages.append(_message(answer))
            if answer["requests"]:
                silent = 0
                for request in answer["requests"]:
                    self._do(request, answer["truncated"], self._bounds.answers - turn - 1)
                if self._finished():
                    return None
                continue
            if answer["refusal"]:
                return f"refused by the model: {answer['refusal']}"
            if answer["ended"]:
                return None
            silent += 1
            if silent == SILENT_ANSWERS:
                return f"no tool call in {SILENT_ANSWERS} answers"
            cut = "Your answer was cut off at a length limit." if answer["truncated"] else "Your answer called no tool."
            self._say("user", partial(self._nudge, cut))
        return "rounds spent"

    def _entry(self, role: str, make: Callable[[], tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, Any]:
        """The next entry: the stored one of an earlier attempt, else a new one, stored at once."""
        if self._place < len(self._earlier):
            stored = self._earlier[self._place]
            if stored.role != role:
                raise ArchiveError(
                    f"Expected an entry of role {role} at place {self._place} of the transcript of {self._name}. Got {stored.role}.",
                    hint="It was written by another version: begin a new campaign with another name.",
                )
            content, usage = thaw(stored.content), thaw(stored.usage)
        else:
            content, usage = make()
            self._scribe.note(role, content, usage)
        self._place += 1
        self.spent += spending_of([usage])
        return content

    def _say(self, role: str, make: Callable[[], str]) -> None:
        content = self._entry(role, lambda: ({"text": make()}, {}))
        self._messages.append({"role": role, "content": content["text"]})

    def _ask(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """One answer of the model, within the bounds."""
        bounds, settings = self._bounds, self._settings
        sent = [*self._messages, *self._schemas]
        if bounds.tokens is not None and self.spent.tokens + estimated_tokens(sent) > bounds.tokens:
            raise AllowanceSpent(f"Expected at most {bounds.tokens} further tokens. Got {self.spent.tokens} used.")
        if bounds.cost is not None and self.spent.cost >= bounds.cost:
            raise AllowanceSpent(f"Expected at most {bounds.cost:.4f} further dollars. Got {self.spent.cost:.4f} used.")
        reply = self._model.answer(self._messages, self._schemas)
        return _record(reply, len(self._messages)), charge(reply, settings, sent)

    def _do(self, request: Mapping[str, Any], truncated: bool, answers_left: int) -> None:
        """Call a tool, and put its result into the conversation."""
        made = self._box.call(request["name"], request["arguments"], truncated=truncated, length=request.get("length"))
        made |= {"left": {"answers": answers_left, "calls": self._box.left}}
        result = {"id": request["id"], "name": request["name"], "result": made}
        content = self._entry("tool", lambda: (result, {}))
        text = json.dumps(content["result"], ensure_ascii=False)
        self._messages.append({"role": "tool", "tool_call_id": request["id"], "content": text})


def _record(reply: Reply, position: int) -> dict[str, Any]:
    """An answer as it is stored; requests get names of nine letters and digits, which every server takes."""
    requests = []
    for place, request in enumerate(reply.requests):
        arguments = _tidied(clean(request.arguments))
        kept: dict[str, Any] = {
            "id": f"r{position % 10_000:04d}{place % 10_000:04d}",
            "name": clean(request.name)[:64],
            "arguments": arguments,
        }
        if len(arguments) > MOST_ARGUMENTS:
            kept |= {"arguments": _clipped(arguments, 2_000), "length": len(arguments)}
        requests.append(kept)
    return {
        "text": _clipped(clean(reply.text), MOST_TEXT),
        "reasoning": _clipped(clean(reply.reasoning), MOST_TEXT),
        "requests": requests,
        "refusal": _clipped(clean(reply.refusal), 500) or None,
        "truncated": reply.truncated,
        "ended": reply.ended,
    }


def _tidied(arguments: str) -> str:
    """Arguments that are JSON, without what an escape may hide: a secret, or half a character."""
    try:
        return json.dumps(sound_values(json.loads(arguments)), ensure_ascii=False)
    except (ValueError, RecursionError, InputError):
        return arguments


def _message(answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer as it is sent back, in a form that every server takes."""
    calls = [
        {
            "id": request["id"],
            "type": "function",
            "function": {"name": _word(request["name"]), "arguments": _object(request["arguments"])},
        }
        for request in answer["requests"]
    ]
    if calls:
        return {"role": "assistant", "content": answer["text"] or None, "tool_calls": calls}
    return {"role": "assistant", "content": answer["text"] or answer["refusal"] or "(no answer)"}


def _word(name: str) -> str:
    """A tool's name, or a stand-in where it is none."""
    return (
        name if name and all(mark.isascii() and (mark.isalnum() or mark in "_-") for mark in name) else "unknown_tool"
    )


def _object(arguments: str) -> str:
    """Arguments, or an empty object where they are none: servers parse what they are sent."""
    try:
        return arguments if isinstance(json.loads(arguments), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} [... {len(text) - most} further characters left out]"
