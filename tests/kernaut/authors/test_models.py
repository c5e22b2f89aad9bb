"""Models by provider: what is installed, what is refused, and what an extension must make."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from kernaut import plugins
from kernaut.authors.chat import ModelSettings, Reply
from kernaut.authors.models import make_model, provider_names, require_provider
from kernaut.errors import InputError


class Predefined:
    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings

    def answer(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Reply:
        return Reply(text=self.settings.model)


def mute(settings: ModelSettings) -> object:
    return object()


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("predefined", f"{__name__}:Predefined", "kernaut.models"),
        EntryPoint("mute", f"{__name__}:mute", "kernaut.models"),
    ]
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    monkeypatch.setattr(plugins, "entry_points", lambda group: points if group == "kernaut.models" else [])


def test_an_installed_model_is_listed_and_made_with_the_settings(installed: None) -> None:
    assert provider_names()[-2:] == ("mute", "predefined")
    assert make_model(ModelSettings("predefined", "m")).answer([], []).text == "m"


def test_what_makes_no_model_is_refused(installed: None) -> None:
    with pytest.raises(InputError, match=r"method answer.*'mute'.*object"):
        make_model(ModelSettings("mute", "m"))
    with pytest.raises(InputError, match=r"openai, openrouter, ollama, compatible, mute, predefined\. Got 'golf'"):
        require_provider(ModelSettings("golf", "m"))


def test_a_server_without_its_key_is_refused_by_the_name_of_the_variable() -> None:
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        make_model(ModelSettings("openai", "m"))
    with pytest.raises(InputError, match="base_url"):
        make_model(ModelSettings("compatible", "m"))
