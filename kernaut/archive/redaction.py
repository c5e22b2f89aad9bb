"""Keep secrets out of the archive.

A secret is the value of an environment variable whose name ends in KEY, TOKEN, SECRET or PASSWORD.  Every text and JSON column
passes through :func:`refuse_secrets`; who stores what a server answered calls :func:`redact` first.
"""

from __future__ import annotations

import os

from kernaut.errors import ArchiveError

SUFFIXES = ("KEY", "TOKEN", "SECRET", "PASSWORD")
SHORTEST = 8
"""Shorter values are not taken for secrets: they would match ordinary text."""


def secret_values() -> dict[str, str]:
    """The secrets of the environment as it is now, by variable name; empty in most sessions."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.upper().endswith(SUFFIXES) and len(value.strip()) >= SHORTEST
    }


def refuse_secrets(text: str, where: str) -> None:
    """Check that a text holds no secret of the environment.

    Raises:
        ArchiveError: naming the variable, never its value.
    """
    for name, value in secret_values().items():
        if value.strip() in text:
            raise ArchiveError(
                f"Expected no secret in {where}. Got the value of the environment variable {name}.",
                hint="Pass the text through kernaut.archive.redaction.redact first.",
            )


def redact(text: str) -> str:
    """The text with every secret of the environment replaced by ``[NAME]``."""
    for name, value in sorted(secret_values().items(), key=lambda item: (-len(item[1]), item[0])):
        text = text.replace(value.strip(), f"[{name}]")
    return text
