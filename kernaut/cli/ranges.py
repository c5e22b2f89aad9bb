"""Ranges of options, checked while the command line is read: before a file is opened or a library is loaded, which takes seconds."""

from __future__ import annotations

from collections.abc import Callable

import typer

from kernaut.errors import InputError

MOST_COUNT = 1_000_000
MOST_WORKERS = 256
MOST_PER_FAMILY = 999
MOST_NAME = 200
FAR_APART = "Seeds of neighbouring families are 1000 apart."

Number = int | float
Check = Callable[[typer.CallbackParam, Number | None], Number | None]


def within(least: Number, most: Number | None = None, *, above: bool = False, hint: str | None = None) -> Check:
    """A callback for an option that takes numbers from ``least`` to ``most``.

    Args:
        least: the smallest legal value.
        most: the largest, if there is one.
        above: whether ``least`` itself is too small.
        hint: what to know about the range.

    Returns:
        A function of the option and its value that returns the value, or raises an :class:`~kernaut.errors.InputError`.
    """

    def check(param: typer.CallbackParam, value: Number | None) -> Number | None:
        if value is None:
            return None
        low = value > least if above else value >= least
        if low and (value <= most if most is not None else value < float("inf")):
            return value
        start = f"above {least}" if above else f"of at least {least}"
        wanted = start if most is None else f"{start} and at most {most}" if above else f"from {least} to {most}"
        raise InputError(f"Expected {param.opts[-1]} {wanted}. Got {value!r}.", hint=hint)

    return check


def printable(param: typer.CallbackParam, value: str | None) -> str | None:
    """A callback for a name that stands in lists and command lines: 1 to 200 printable characters, not blank."""
    if value is None or (value.strip() and value.isprintable() and len(value) <= MOST_NAME):
        return value
    shown = repr(value) if len(value) <= MOST_NAME else f"{len(value)} characters"
    raise InputError(f"Expected {param.opts[-1]} of 1 to {MOST_NAME} printable characters. Got {shown}.")


count = within(1, MOST_COUNT)
"""Runs, rounds, calls, episodes of a table: at least one."""
workers = within(1, MOST_WORKERS)
seed = within(0)
per_family = within(1, MOST_PER_FAMILY, hint=FAR_APART)
folds_of_patient = within(1, 6)
