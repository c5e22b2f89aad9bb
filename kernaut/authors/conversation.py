"""The author that is a language model: a conversation in which every answer calls tools.

Everything that is said is noted in the run's transcript at once.  A run that was interrupted goes on by reading its transcript in place of
asking again: tools are called anew, which rebuilds the session's state, and the model sees the results that it saw before.  So nothing is paid
twice, and a run is a function of the brief and of the model's answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kernaut.authors.author import Brief, Tools, Traits
from kernaut.authors.chat import ChatModel, ModelSettings, Reply
from kernaut.authors.models import make_model
from kernaut.authors.prompting import nudge, prompt, prompts_digest, run_prompt
from kernaut.authors.replies import clean
from kernaut.authors.spending import Spending, charge, estimated_tokens, spending_of
from kernaut.authors.toolbox import MOST_ARGUMENTS, Toolbox, sound_values
from kernaut.digest import content_id, thaw
from kernaut.errors import AllowanceSpent, ArchiveError, InputError, RequestRefused

SILENT_ANSWERS = 3
"""So many answers in a row without a tool call end a run."""

MOST_TEXT = 20_000
"""Longest text of an answer that is kept and sent back [characters]."""


@dataclass(frozen=True)
class ModelAuthor:
    """A language model as an author; see :class:`kernaut.authors.author.Author`.

    Args:
        settings: which model, and where.
        context: the task description.
        runs_at_once: how many of its runs may be under way together; each of them sees only what earlier ones closed.
    """

    settings: ModelSettings
    context: str = ""
    runs_at_once: int = 1
    traits: Traits = field(init=False)

    def __post_init__(self) -> None:
        options = {
            "model": self.settings.name,
            "extra_body": thaw(self.settings.extra_body),
            "prompts": prompts_digest(),
            "context": content_id(self.context),
        }
        object.__setattr__(self, "traits", Traits(converses=True, discovers=True, options=options))

    @property
    def name(self) -> str:
        """Provider and model."""
        return self.settings.name

    def write(self, brief: Brief, tools: Tools) -> str | None:
        """Hold one run's conversation.

        Returns:
            Why it ended before the model had finished; None when it said that it had.

        Raises:
            BudgetSpent: when the run's tool calls are spent.
            AllowanceSpent: when its tokens or its money are.
            ModelFailure: when the model gives no answer.
            ArchiveError: when the stored transcript is not one of this version.
        """
        model = make_model(self.settings)
        try:
            return _Conversation(self, brief, tools, model).hold()
        finally:
            close = getattr(model, "close", None)
            if close is not None:
                close()


class _Conversation:
    """One run's conversation, and its place in the transcript of an earlier attempt."""

    def __init__(self, author: ModelAuthor, brief: Brief, tools: Tools, model: ChatModel) -> None:
        self._author = author
        self._brief = brief
        self._tools = tools
        self._box = Toolbox(tools, brief.max_tool_calls)
        self._schemas = self._box.schemas()
        self._model = model
        self._earlier = tools.transcript()
        self._place = 0
        self._spent = Spending()
        self._messages: list[dict[str, Any]] = []

    def hold(self) -> str | None:
        """Ask, do what is asked for, and so on."""
        self._say("system", lambda: prompt("system"))
        self._say("user", lambda: clean(run_prompt(self._brief, self._author.context)))
        silent = 0
        for turn in range(self._brief.max_rounds):
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
                    self._do(request, answer["truncated"], self._brief.max_rounds - turn - 1)
                continue
            if answer["refusal"]:
                return f"refused by the model: {answer['refusal']}"
            if answer["ended"]:
                return None
            silent += 1
            if silent == SILENT_ANSWERS:
                return f"no tool call in {SILENT_ANSWERS} answers"
            cut = "Your answer was cut off at a length limit." if answer["truncated"] else "Your answer called no tool."
            self._say("user", partial(nudge, cut))
        return "rounds spent"

    # Entries of the transcript

    def _entry(self, role: str, make: Callable[[], tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, Any]:
        """The next entry: the stored one of an earlier attempt, else a new one, stored at once."""
        if self._place < len(self._earlier):
            stored = self._earlier[self._place]
            if stored.role != role:
                raise ArchiveError(
                    f"Expected an entry of role {role} at place {self._place} of the transcript of run {self._brief.index}. Got {stored.role}.",
                    hint="It was written by another version: begin a new campaign with another run id.",
                )
            content, usage = thaw(stored.content), thaw(stored.usage)
        else:
            content, usage = make()
            self._tools.note(role, content, usage)
        self._place += 1
        self._spent += spending_of([usage])
        return content

    def _say(self, role: str, make: Callable[[], str]) -> None:
        content = self._entry(role, lambda: ({"text": make()}, {}))
        self._messages.append({"role": role, "content": content["text"]})

    def _ask(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """One answer of the model, within the run's budget."""
        brief, settings = self._brief, self._author.settings
        sent = [*self._messages, *self._schemas]
        if brief.tokens is not None and self._spent.tokens + estimated_tokens(sent) > brief.tokens:
            raise AllowanceSpent(f"Expected at most {brief.tokens} further tokens. Got {self._spent.tokens} used.")
        if brief.cost is not None and self._spent.cost >= brief.cost:
            raise AllowanceSpent(f"Expected at most {brief.cost:.4f} further dollars. Got {self._spent.cost:.4f} used.")
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
