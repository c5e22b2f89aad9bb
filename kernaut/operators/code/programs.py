"""Child side, trusted, domain ``code``: one Python candidate, executed and called within bounds.

Runs inside the sandbox behind :mod:`kernaut.operators.runtime`.  A candidate is executed in fresh globals; each call gets copies of its arguments, a bound of steps, and
answers an outcome record: ``ok``, ``text`` (its value in a canonical text), ``kind`` (the value's type), ``error`` (the exception's name), ``steps`` and ``changed`` (whether it
changed its arguments).
"""

from __future__ import annotations

import copy
import hashlib
import random
from typing import Any

from kernaut.operators.runtime import Caught, Steps, StepsSpent, instrumented, namespace

CALL_STEPS = 20_000
TEXT_LENGTH = 4000
SHOWN_LENGTH = 200
HIDDEN_BUILTINS = (
    "breakpoint",
    "compile",
    "eval",
    "exec",
    "exit",
    "globals",
    "help",
    "input",
    "locals",
    "open",
    "print",
    "quit",
    "vars",
)


class Program:
    """One candidate, executed; ``call`` answers an outcome record and remembers it."""

    def __init__(self, source: str, entry: str, tape: Any = None) -> None:
        self.steps = Steps(CALL_STEPS)
        self.function: Any = None
        self.error = ""
        self.seen: dict[str, dict[str, Any]] = dict(tape or {})
        self._source, self._entry = source, entry
        self._loaded = False

    def load(self) -> None:
        """Execute the source, once; ``error`` says what it raised."""
        if self._loaded:
            return
        self._loaded = True
        allowed = __builtins__ if isinstance(__builtins__, dict) else vars(__builtins__)
        names = [name for name in allowed if name not in HIDDEN_BUILTINS]
        with Caught() as caught:
            self.globals = namespace(allowed, names, candidate_modules(), self.steps)
            self.globals["__builtins__"]["print"] = lambda *values, **options: None
            exec(instrumented(self._source, "<candidate>"), self.globals)
            self.function = self.globals.get(self._entry)
        self.error = "" if callable(self.function) else name_of(caught.error or NameError())

    def call(self, arguments: list[Any]) -> dict[str, Any]:
        """The outcome on one list of arguments; a tape may hold one for all of them, that of a candidate which ended its process."""
        if "" in self.seen:
            return dict(self.seen[""])
        key = repr(arguments)
        if key not in self.seen:
            self.load()
            self.seen[key] = self._call(arguments, key)
        return dict(self.seen[key])

    def _call(self, arguments: list[Any], key: str) -> dict[str, Any]:
        outcome = {"ok": False, "text": "", "kind": "", "error": self.error, "steps": 0, "changed": False}
        if self.error:
            return outcome
        self.steps.taken = 0
        given = copy.deepcopy(arguments)
        with Caught() as caught:
            value = self.function(*given)
            text = shortened(canonical(value))
            outcome |= {"ok": True, "text": text, "kind": type(value).__name__}
        outcome["error"] = name_of(caught.error)
        outcome["steps"] = self.steps.taken
        outcome["changed"] = repr(given) != key
        return outcome


def canonical(value: Any, depth: int = 0) -> str:
    """A text that is equal for equal values: sets and keys sorted, floats to nine digits, types told apart."""
    if depth > 20:
        return "..."
    if isinstance(value, float):
        return format(value, ".9g") + ("" if value != int(value) else ".0") if abs(value) < 1e15 else repr(value)
    if isinstance(value, (list, tuple)):
        inner = ", ".join(canonical(item, depth + 1) for item in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(canonical(item, depth + 1) for item in value)) + "}"
    if isinstance(value, dict):
        pairs = sorted((canonical(k, depth + 1), canonical(v, depth + 1)) for k, v in value.items())
        return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    if value is None or isinstance(value, (bool, int, str)):
        return repr(value)[:TEXT_LENGTH]
    return f"<{type(value).__name__}>"


def shortened(text: str) -> str:
    """A text of bounded length; long ones end in a digest of what was cut."""
    if len(text) <= SHOWN_LENGTH:
        return text
    return text[:SHOWN_LENGTH] + "..." + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def name_of(error: BaseException | None) -> str:
    """The name of what was raised, ``Endless`` for spent steps, nothing for nothing."""
    if error is None:
        return ""
    return "Endless" if isinstance(error, StepsSpent) else type(error).__name__


def candidate_modules() -> dict[str, Any]:
    """Modules a candidate may import, whose functions start no process and open no file."""
    import bisect
    import collections
    import collections.abc
    import datetime
    import decimal
    import fractions
    import functools
    import heapq
    import itertools
    import math
    import operator
    import re
    import statistics
    import string
    import typing

    found = (
        bisect,
        collections,
        datetime,
        decimal,
        fractions,
        functools,
        hashlib,
        heapq,
        itertools,
        math,
        operator,
        re,
    )
    more = (statistics, string, typing, copy, collections.abc, random)
    return {module.__name__: module for module in (*found, *more)}
