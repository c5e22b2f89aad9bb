"""Models behind a server that speaks the chat-completions protocol with tools; the only module that imports ``openai``.

The library sends and receives; what an answer is, what may be tried again and how long is waited are decided here, since servers that
are nearly compatible pass through it unseen.  Answers are not streamed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import openai

from kernaut.authors.chat import ModelSettings, Reply
from kernaut.authors.keys import key_of, key_variable
from kernaut.authors.patience import PassingFailure, asked_wait, patiently, within
from kernaut.authors.replies import clean, error_text, reply_of
from kernaut.digest import thaw
from kernaut.errors import InputError, ModelFailure, RequestRefused

ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "ollama": "http://localhost:11434/v1",
}
PASSING = frozenset({408, 409, 425, 429})
"""Statuses after which another attempt may succeed, besides those of 500 and above."""

SPENT = ("insufficient_quota", "billing_hard_limit_reached")
"""Error codes that come with a passing status and do not pass."""


def address_of(settings: ModelSettings) -> str:
    """Where a model's server answers.

    Raises:
        InputError: when it is not known, is no address, or holds a secret.
    """
    url = settings.base_url or ADDRESSES.get(settings.provider)
    if url is None:
        raise InputError(
            f"Expected a base_url for the provider {settings.provider}. Got none.",
            hint='Such as base_url = "http://localhost:8000/v1".',
        )
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise InputError(
            "Expected base_url to be http://host:port/path or https://host/path, without a user, a password or a query. Got another text."
        )
    return url


class Server:
    """A :class:`~kernaut.authors.chat.ChatModel` behind a server.

    Args:
        settings: which model, where, and how long it is waited for.

    Raises:
        InputError: for a missing key or a bad address.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._address = address_of(settings)
        self._client = openai.OpenAI(
            api_key=key_of(settings),
            base_url=self._address,
            max_retries=0,
            timeout=settings.timeout_seconds,
        )

    def answer(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Reply:
        """The next answer.

        Raises:
            RequestRefused: when the server refuses this conversation.
            ModelFailure: when it gives no answer in all attempts, or refuses key or model.
        """
        names = {tool["function"]["name"] for tool in tools}

        def ask() -> Reply:
            return reply_of(within(self._settings.timeout_seconds, lambda: self._send(messages, tools)), names)

        whom = f"{self._settings.name} at {self._address}"
        return patiently(ask, retries=self._settings.max_retries, whom=whom)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _send(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Any:
        """One request; the parsed body of the answer."""
        failure: Exception
        try:
            raw = self._client.chat.completions.with_raw_response.create(
                model=self._settings.model,
                messages=list(messages),  # type: ignore[arg-type]  # plain JSON in the form that the library's types describe
                tools=list(tools),  # type: ignore[arg-type]  # likewise
                extra_body=thaw(self._settings.extra_body) or None,
            )
            return json.loads(raw.http_response.content)
        except openai.APIStatusError as error:
            failure = self._failure(error)
        except openai.APITimeoutError:
            failure = PassingFailure(f"no whole answer within {self._settings.timeout_seconds:g} s")
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            failure = PassingFailure(f"no connection, or one that broke: {clean(str(cause)) or type(cause).__name__}")
        except (ValueError, RecursionError):
            failure = PassingFailure(f"an answer that is not JSON: {clean(raw.http_response.text[:80])!r}")
        raise failure  # here, so that what the server said, which may hold a key, is no context of it

    def _failure(self, error: openai.APIStatusError) -> Exception:
        """What an answer with a status of 400 or above means."""
        status, said = error.status_code, error_text(error.body)
        code = error.body.get("code") if isinstance(error.body, Mapping) else None
        variable = key_variable(self._settings)
        whom = f"{self._settings.name} at {self._address}"
        if status in (401, 403):
            return ModelFailure(
                f"Expected {whom} to accept the key in {variable or '(no variable: none was sent)'}. Got status {status}: {said}",
                hint="Check the key, and that it may use this model. The same command continues from here.",
            )
        if status == 402 or code in SPENT:
            return ModelFailure(
                f"Expected {whom} to have credit left. Got status {status}: {said}",
                hint="The same command continues from here.",
            )
        if status in PASSING or status >= 500:
            return PassingFailure(f"status {status}: {said}", asked_wait(error.response.headers.get("retry-after")))
        if status == 404:
            return ModelFailure(
                f"Expected a model {self._settings.model!r} and chat completions at {self._address}. Got status 404: {said}",
                hint="Check model and base_url, which often ends in /v1.",
            )
        return RequestRefused(f"Expected {whom} to take the conversation. Got status {status}: {said}")
