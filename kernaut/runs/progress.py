"""Relay a running notebook's progress lines to whoever waits for it; see :mod:`kernaut.runs.headless` for how they are written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO


@dataclass(frozen=True)
class ProgressEvent:
    """How far a run is: a message, and steps done of how many where that is known."""

    message: str
    done: int | None = None
    total: int | None = None

    def __str__(self) -> str:
        if self.total is None:
            return self.message
        return f"[{self.done or 0}/{self.total}] {self.message}"


class ProgressTail:
    """Reads what was appended to a progress file since it was last asked.

    Args:
        path: the file; it need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def read(self) -> list[ProgressEvent]:
        """The events of all complete lines not read before; a line that is no event is passed on as a message."""
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._offset)
                data = stream.read()
        except FileNotFoundError:
            return []
        complete = data[: data.rfind(b"\n") + 1]
        self._offset += len(complete)
        return [_event(line.decode("utf-8", "replace")) for line in complete.splitlines() if line.strip()]


def to_stream(stream: TextIO) -> Callable[[ProgressEvent], None]:
    """A listener that writes one plain line for each event, for terminals and logs without rich output."""

    def listener(event: ProgressEvent) -> None:
        stream.write(f"{event}\n")
        stream.flush()

    return listener


def _event(line: str) -> ProgressEvent:
    try:
        value = json.loads(line)
    except ValueError:
        return ProgressEvent(line)
    if not isinstance(value, dict) or not isinstance(value.get("message"), str):
        return ProgressEvent(line)
    done, total = (value.get(key) if isinstance(value.get(key), int) else None for key in ("done", "total"))
    return ProgressEvent(" ".join(value["message"].split()), done, total)
