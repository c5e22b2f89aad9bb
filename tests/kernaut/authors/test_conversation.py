"""A conversation's form: what is stored and sent back; whole conversations are tested with campaigns (tests/kernaut/search/test_running.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kernaut.archive.records import TranscriptRecord
from kernaut.authors.author import Brief
from kernaut.authors.chat import ModelSettings, Reply, ToolRequest
from kernaut.authors.conversation import ModelAuthor
from kernaut.authors.dialogue import _message, _record
from kernaut.errors import ArchiveError

KEY = "k-123456789"
BRIEF = Brief(0, 0, "open_ended", None, (), (2,), 3, 9)


class Notes:
    """A tool session of which only the transcript is used."""

    def __init__(self, earlier: Sequence[TranscriptRecord] = ()) -> None:
        self.earlier = tuple(earlier)
        self.entries: list[TranscriptRecord] = []

    def transcript(self) -> tuple[TranscriptRecord, ...]:
        return self.earlier

    def note(self, role: str, content: Mapping[str, Any], usage: Mapping[str, Any] | None = None) -> None:
        place = len(self.earlier) + len(self.entries)
        self.entries.append(TranscriptRecord("c", 0, place, role, content, usage or {}))


class Brisk:
    """A model that has nothing to ask for, and counts how often it is asked."""

    asked = 0
    closed = 0

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings

    def answer(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Reply:
        type(self).asked += 1
        return Reply("Done.", ended=True)

    def close(self) -> None:
        type(self).closed += 1


def test_what_escapes_hide_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    hidden = "".join(f"\\u{ord(mark):04x}" for mark in KEY)
    reply = Reply(requests=(ToolRequest("f", f'{{"a": "{hidden}", "b": "\\ud800"}}'), ToolRequest("f", f"{KEY} {{")))
    first, second = _record(reply, 2)["requests"]
    assert first["arguments"] == '{"a": "[SOME_API_KEY]", "b": "?"}'
    assert second["arguments"] == "[SOME_API_KEY] {"
    assert (first["id"], second["id"]) == ("r00020000", "r00020001")


def test_answers_are_sent_back_in_a_form_that_every_server_takes() -> None:
    requests = (ToolRequest("a b!", '{"x"'), ToolRequest("stage", "[1]"), ToolRequest("stage", '{"x": 1}'))
    sent = _message(_record(Reply("", requests), 1))
    assert sent["content"] is None
    functions = [call["function"] for call in sent["tool_calls"]]
    assert functions[0] == {"name": "unknown_tool", "arguments": "{}"}
    assert [function["arguments"] for function in functions[1:]] == ["{}", '{"x": 1}']
    assert _message(_record(Reply(), 1)) == {"role": "assistant", "content": "(no answer)"}


def test_a_model_may_say_that_it_has_finished_and_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernaut.authors.models.extensions", lambda group: {"brisk": Brisk})
    monkeypatch.setattr("kernaut.authors.models.load_extension", lambda group, name: Brisk)
    author = ModelAuthor(ModelSettings("brisk", "m"), "# Task")
    notes = Notes()
    assert author.write(BRIEF, notes) is None  # type: ignore[arg-type]  # the part of a session that is used
    assert [entry.role for entry in notes.entries] == ["system", "user", "assistant"]
    assert notes.entries[2].usage["estimated"]
    again = Notes(notes.entries)
    assert author.write(BRIEF, again) is None  # type: ignore[arg-type]  # the part of a session that is used
    assert again.entries == []
    assert (Brisk.asked, Brisk.closed) == (1, 2)
    with pytest.raises(ArchiveError, match="role user at place 1"):
        author.write(BRIEF, Notes([notes.entries[0], notes.entries[2]]))  # type: ignore[arg-type]  # likewise
