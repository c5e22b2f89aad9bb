"""Language models by provider: servers that speak the chat-completions protocol, and installed extensions (``kernaut.models``)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kernaut.authors.chat import ChatModel, ModelSettings
from kernaut.errors import InputError
from kernaut.plugins import extensions, load_extension

GROUP = "kernaut.models"
SERVERS = ("openai", "openrouter", "ollama", "compatible")
"""Providers that are reached over the network, through :mod:`kernaut.authors.llm`."""


def provider_names() -> tuple[str, ...]:
    """Every provider that a configuration can name, Kernaut's own first; no extension is imported."""
    return (*SERVERS, *(name for name in extensions(GROUP) if name not in SERVERS))


def require_provider(settings: ModelSettings) -> ModelSettings:
    """Check that a configuration's provider is there, without importing or calling it.

    Raises:
        InputError: naming the providers there are.
    """
    if settings.provider not in SERVERS and settings.provider not in provider_names():
        raise InputError(
            f"Expected a provider of {', '.join(provider_names())}. Got {settings.provider!r}.",
            hint='A server of another kind that speaks the chat-completions protocol: provider = "compatible" with its base_url.',
        )
    return settings


def make_model(settings: ModelSettings) -> ChatModel:
    """Make the model that answers one run.

    Args:
        settings: of the configuration.

    Raises:
        InputError: for an unknown provider, a missing key, or an extension that makes no model.
    """
    require_provider(settings)
    if settings.provider in SERVERS:
        from kernaut.authors.llm import Server  # openai takes a second to import

        return Server(settings)
    model: ChatModel = load_extension(GROUP, settings.provider)(settings)
    if not callable(getattr(model, "answer", None)):
        raise InputError(
            f"Expected an object with a method answer(messages, tools) from the {GROUP} extension {settings.provider!r}. "
            f"Got {type(model).__name__}."
        )
    return model


@contextmanager
def answering(settings: ModelSettings) -> Iterator[ChatModel]:
    """A model for the length of one run, closed afterwards.

    Raises:
        InputError: see :func:`make_model`.
    """
    model = make_model(settings)
    try:
        yield model
    finally:
        close = getattr(model, "close", None)
        if close is not None:
            close()
