"""What a run of the loop remembers: ledger entries, and what was said in each authoring call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from kernaut.archive.records import TranscriptRecord


class Journal(Protocol):
    """Remembers ledger entries, and conversations of authors, by the number of their call."""

    def entry(self, call: int) -> Mapping[str, Any] | None:
        """The stored entry of a call."""

    def write(self, call: int, entry: Mapping[str, Any]) -> None:
        """Store an entry."""

    def transcript(self, call: int) -> Sequence[TranscriptRecord]:
        """What was said in a call, in order."""

    def note(self, call: int, role: str, content: Mapping[str, Any], usage: Mapping[str, Any]) -> None:
        """Store one further thing that was said in a call."""


class MemoryJournal:
    """A journal that lasts as long as the process."""

    def __init__(self) -> None:
        self.entries: dict[int, Mapping[str, Any]] = {}
        self.said: dict[int, list[TranscriptRecord]] = {}

    def entry(self, call: int) -> Mapping[str, Any] | None:
        """The stored entry of a call."""
        return self.entries.get(call)

    def write(self, call: int, entry: Mapping[str, Any]) -> None:
        """Store an entry."""
        self.entries[call] = entry

    def transcript(self, call: int) -> Sequence[TranscriptRecord]:
        """What was said in a call, in order."""
        return tuple(self.said.get(call, ()))

    def note(self, call: int, role: str, content: Mapping[str, Any], usage: Mapping[str, Any]) -> None:
        """Store one further thing that was said in a call."""
        said = self.said.setdefault(call, [])
        said.append(TranscriptRecord("", 0, len(said), role, content, usage))
