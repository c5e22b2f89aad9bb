"""What a language model is told about operators: prompt files of this package, filled in for a call.

``system.md`` (for every authoring call), ``call.md`` (the fault kind, a pair that looks alike, earlier attempts), ``nudge.md`` (after an answer without a tool call),
``judge.md`` and ``candidate.md`` (for a judge), and one file with the words of each own domain.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from string import Template
from typing import Any

from kernaut.digest import content_id, thaw

AUTHOR = ("system", "call", "nudge")
JUDGE = ("judge", "candidate", "nudge")
MOST_SHOWN = 2000
"""Longest text of one field of a candidate or its task that is shown [characters]."""


@lru_cache(maxsize=16)
def prompt(name: str) -> str:
    """The text of a prompt file."""
    return (files("kernaut.operators") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def filled(name: str, **values: object) -> str:
    """A prompt file with its ``$names`` replaced."""
    return Template(prompt(name)).substitute({key: str(value) for key, value in values.items()}).strip()


def prompts_digest(names: Sequence[str], interface: str) -> str:
    """Identifier of prompt files and a domain's words; campaigns with different ones are different campaigns."""
    return content_id([*(prompt(name) for name in names), interface])


def shown(record: Mapping[str, Any]) -> str:
    """A candidate with its task as a model reads it: texts as they are, numbers to five digits, each field of a bounded length."""
    parts = []
    for name, value in record.items():
        text = value if isinstance(value, str) else json.dumps(_rounded(thaw(value)), ensure_ascii=False)
        if len(text) > MOST_SHOWN:
            text = f"{text[:MOST_SHOWN]} [... {len(text) - MOST_SHOWN} characters more]"
        parts.append(f"{name}:\n{text}" if "\n" in text else f"{name}: {text}")
    return "\n".join(parts)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value
