"""What a language model is to Kernaut: something that answers a conversation, by text and by requests to call tools.

A package adds a model through the entry point group ``kernaut.models``.  The entry point names a *factory*, called with the
:class:`ModelSettings` of the configuration; it returns a :class:`ChatModel`, which is any object with one method ``answer``::

    class Predefined:
        def __init__(self, settings: ModelSettings) -> None:
            self.requests = [("propose_formulation", {...}), ("submit_candidate", {...})]

        def answer(self, messages, tools):
            turn = sum(message["role"] == "assistant" for message in messages)
            if turn >= len(self.requests):
                return Reply(text="Done.", ended=True)
            name, arguments = self.requests[turn]
            return Reply(requests=(ToolRequest(name, json.dumps(arguments)),))

and in its ``pyproject.toml``::

    [project.entry-points."kernaut.models"]
    predefined = "my_package:Predefined"

A configuration then asks for it by ``[llm] provider = "predefined"``.  A model is made anew for each run of a campaign, in whatever
process calculates the run, and once more when an interrupted run goes on: decide by the messages, not by counting calls.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from kernaut.archive.redaction import SUFFIXES
from kernaut.digest import FrozenMapping, freeze
from kernaut.errors import InputError

SECRET_NAMES = (*SUFFIXES, "AUTHORIZATION")
SECRET_TEXT = re.compile(r"^bearer\s|\bsk-[\w-]{8}", re.IGNORECASE)
"""Names and texts of keys; a configuration is stored with its campaign, so that none may stand in it."""


@dataclass(frozen=True)
class ModelSettings:
    """Which model answers, where, and how long it is waited for; the table ``[llm]`` or ``[[ensemble]]`` of a configuration.

    Args:
        provider: ``openai``, ``openrouter``, ``ollama``, ``compatible``, or the name of an installed ``kernaut.models`` extension.
        model: the model's name at its provider.
        base_url: where the server answers; None for the provider's own address.
        api_key_env: the environment variable that holds the key; None for the provider's own, the empty text for no key.
        timeout_seconds: longest wait for one answer, from request to last byte [s].
        max_retries: further attempts after a failure that may pass.
        extra_body: further fields of every request, as JSON.
        input_price: price of a million tokens that are sent [US dollars]; None where unknown.
        output_price: price of a million tokens that are answered [US dollars]; None where unknown.

    Raises:
        InputError: for a value out of range.
    """

    provider: str
    model: str
    base_url: str | None = None
    api_key_env: str | None = None
    timeout_seconds: float = 120.0
    max_retries: int = 4
    extra_body: Mapping[str, Any] = field(default_factory=lambda: FrozenMapping({}))
    input_price: float | None = None
    output_price: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("provider", self.provider), ("model", self.model)):
            if not isinstance(value, str) or not value.strip():
                raise InputError(f"Expected the name of a {name}. Got {value!r}.")
        if not 0.0 < self.timeout_seconds <= 3600.0:
            raise InputError(f"Expected timeout_seconds above 0, at most 3600. Got {self.timeout_seconds!r}.")
        if isinstance(self.max_retries, bool) or not 0 <= self.max_retries <= 20:
            raise InputError(f"Expected max_retries from 0 to 20. Got {self.max_retries!r}.")
        for name, price in (("input_price", self.input_price), ("output_price", self.output_price)):
            if price is not None and not 0.0 <= price <= 1e6:
                raise InputError(f"Expected {name} from 0 to a million dollars. Got {price!r}.")
        if (self.input_price is None) != (self.output_price is None):
            raise InputError("Expected input_price and output_price together. Got one of the two.")
        object.__setattr__(self, "extra_body", freeze(self.extra_body))
        place = _secret_place(self.extra_body, "extra_body") or _secret_place(self.base_url, "base_url")
        if place is not None:
            raise InputError(
                f"Expected no key in a configuration. Got what looks like one in {place}.",
                hint="Put it into an environment variable, and name that in api_key_env.",
            )

    @property
    def name(self) -> str:
        """What transcripts and reports call the model: provider and model."""
        return f"{self.provider}/{self.model}"


def _secret_place(value: Any, place: str) -> str | None:
    """Where a text stands that is named or written like a key; None where there is none."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if isinstance(inner, str) and str(name).upper().endswith(SECRET_NAMES):
                return f"{place}.{name}"
            found = _secret_place(inner, f"{place}.{name}")
            if found is not None:
                return found
    elif isinstance(value, (list, tuple)):
        return next(filter(None, (_secret_place(inner, place) for inner in value)), None)
    elif isinstance(value, str) and SECRET_TEXT.search(value):
        return place
    return None


@dataclass(frozen=True)
class ToolRequest:
    """A model's request to call a tool.

    Args:
        name: the tool.
        arguments: a JSON object as text, as the model wrote it.
        id: the model's own name for the request; the empty text has Kernaut make one.
    """

    name: str
    arguments: str = "{}"
    id: str = ""


@dataclass(frozen=True)
class Usage:
    """What an answer cost.

    Args:
        prompt_tokens: tokens that were sent.
        completion_tokens: tokens that were answered, reasoning included.
        estimated: whether these are guesses from the number of characters, the server having reported nothing.
        cost: what the server says it charged [US dollars]; None where it says nothing.
    """

    prompt_tokens: int
    completion_tokens: int
    estimated: bool = False
    cost: float | None = None


@dataclass(frozen=True)
class Reply:
    """One answer of a model.

    Args:
        text: what it says beside the requests.
        requests: tools to call, in order.
        usage: tokens used; None has them estimated.
        refusal: why the model refuses to go on; None when it does not.
        truncated: whether the answer ended at a limit of its length.
        ended: whether the model has nothing further to ask for, so that its run is over; a server's model never says so.
        reasoning: what it wrote before the answer, where a server shows it; stored, and not sent back.
    """

    text: str = ""
    requests: tuple[ToolRequest, ...] = ()
    usage: Usage | None = None
    refusal: str | None = None
    truncated: bool = False
    ended: bool = False
    reasoning: str = ""


class ChatModel(Protocol):
    """Answers conversations; see the module for how a package adds one. A method ``close()``, where there is one, is called at a run's end."""

    def answer(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Reply:
        """The next answer of a conversation.

        Args:
            messages: the conversation so far in the form of chat completions: objects with ``role`` (``system``, ``user``,
                ``assistant`` with ``tool_calls``, ``tool`` with ``tool_call_id``) and ``content``.
            tools: what may be called: ``{"type": "function", "function": {"name", "description", "parameters"}}``.

        Returns:
            The answer.

        Raises:
            ModelFailure: when there is none and waiting does not help.
        """
