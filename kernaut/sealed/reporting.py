"""How the sealed processes speak: JSON lines on standard output, one error line on standard error.  Used by both sides."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from kernaut.digest import canonical_json, loads_finite
from kernaut.errors import InputError, KernautError

BAD_INPUT = 2


def say(record: Mapping[str, Any]) -> None:
    """One JSON line on standard output."""
    sys.stdout.write(canonical_json(record) + "\n")
    sys.stdout.flush()


def complain(error: KernautError) -> None:
    """One JSON line on standard error."""
    sys.stderr.write(canonical_json({"message": error.message, "hint": error.hint}) + "\n")
    sys.stderr.flush()


def run_process(work: Callable[[Mapping[str, Any]], int]) -> int:
    """Read options as JSON from standard input, work, and turn an error into a line and an exit code.

    Args:
        work: takes the options, returns the exit code.
    """
    try:
        options = loads_finite(sys.stdin.buffer.read(), "the options")
        if not isinstance(options, dict):
            raise InputError("Expected the options to be a JSON object. Got something else.")
        return work(options)
    except KernautError as error:
        complain(error)
        return int(getattr(error, "exit_code", BAD_INPUT))
