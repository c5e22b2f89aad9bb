"""Child side, trusted, domain ``code``: run Python candidates on inputs and checks, and show operators their task.

Runs inside the sandbox behind :mod:`kernaut.operators.runtime`.  A candidate is executed in fresh globals for each task request; each call gets copies of its arguments, a
bound of steps, and answers an outcome record: ``ok``, ``text`` (its value in a canonical text), ``kind`` (the value's type), ``error`` (the exception's name), ``steps`` and
``changed`` (whether it changed its arguments).
"""

from __future__ import annotations

import ast
import copy
import hashlib
import random
from typing import Any

from kernaut.operators.runtime import (
    MOST_OBSERVATIONS,
    MOST_PEERS,
    Caught,
    ObservationsSpent,
    Steps,
    StepsSpent,
    instrumented,
    judge,
    namespace,
)

CALL_STEPS = 20_000
CHECK_STEPS = 150_000
TEXT_LENGTH = 4000
SHOWN_LENGTH = 200
_WITHOUT = (
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
        names = [name for name in allowed if name not in _WITHOUT]
        with Caught() as caught:
            self.globals = namespace(allowed, names, candidate_modules(), self.steps)
            self.globals["__builtins__"]["print"] = lambda *values, **options: None
            exec(instrumented(self._source, "<candidate>"), self.globals)
            self.function = self.globals.get(self._entry)
        self.error = "" if callable(self.function) else name_of(caught.error or NameError())

    def call(self, arguments: list[Any]) -> dict[str, Any]:
        """The outcome on one list of arguments."""
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


class Context:
    """What a level-2 operator gets of its task.

    Attributes:
        peers: every raw sample of the task as operators see them, the candidate included.
        checks: the visible checks, each with ``args`` and, where it is a comparison with a literal, ``expected`` (a canonical text).
        spent: why the budget is used up, or nothing.
    """

    def __init__(self, request: Any, programs: list[Program], own: int) -> None:
        self.peers = copy.deepcopy(request["shown"])
        self.checks = [
            {"args": copy.deepcopy(check["args"]), "expected": check["expected"]} for check in request["checks"]
        ]
        self.spent = ""
        self._programs = programs
        self._own = own
        self._used = 0
        self._met: set[int] = set()
        self._generated = request["generated"]

    def run(self, who: Any, args: Any) -> dict[str, Any]:
        """One observation: the outcome of a candidate or peer on one list of arguments.

        Raises:
            ObservationsSpent: beyond 600 observations or 16 peers.
        """
        place = who["place"]
        if place != self._own:
            self._met.add(place)
        self._used += 1
        if self._used > MOST_OBSERVATIONS:
            self.spent = f"the budget of {MOST_OBSERVATIONS} observations is spent"
        elif len(self._met) > MOST_PEERS:
            self.spent = f"more than {MOST_PEERS} peers were run"
        if self.spent:
            raise ObservationsSpent(self.spent)
        return self._programs[place].call(list(args))

    def inputs(self, count: int) -> list[Any]:
        """Up to ``count`` lists of arguments near those of the visible checks; the same for every call on this task."""
        return copy.deepcopy(self._generated[: max(0, int(count))])


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


def perturbed(value: Any, rng: random.Random) -> Any:
    """A value of the same type near another one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice(
            [value + 1, value - 1, value * 2, value + 7, abs(value) // 2, value + rng.randint(-20, 20), 0, 1]
        )
    if isinstance(value, float):
        return (
            rng.choice([value + 0.5, value - 1.0, value * 2.0, round(value), value + rng.randint(-9, 9), -value]) * 1.0
        )
    if isinstance(value, str):
        return _perturbed_text(value, rng)
    if isinstance(value, (list, tuple)):
        items = list(value)
        for _ in range(rng.randint(1, 2)):
            _perturb_items(items, rng)
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: perturbed(item, rng) if rng.random() < 0.5 else item for key, item in value.items()}
    return value


def _perturbed_text(text: str, rng: random.Random) -> str:
    place = rng.randrange(len(text) + 1)
    letters = text or "ab"
    choices = [
        text[:place] + text[place + 1 :],
        text[:place] + rng.choice(letters) + text[place:],
        text[::-1],
        text + text[: rng.randint(0, 4)],
        text.swapcase(),
        text[place:] + text[:place],
        text[: rng.randint(0, 3)],
        text[:place] + " " + text[place:],
        text[:place] + rng.choice("aeiXYZ019") + text[place + 1 :],
    ]
    return rng.choice(choices)


def _perturb_items(items: list[Any], rng: random.Random) -> None:
    if not items:
        items.extend([rng.randint(-3, 9)] if rng.random() < 0.5 else [])
        return
    place = rng.randrange(len(items))
    action = rng.randrange(8)
    if action == 0:
        del items[place]
    elif action == 1:
        items.insert(place, copy.deepcopy(items[place]))
    elif action == 2:
        items.reverse()
    elif action == 3:
        rng.shuffle(items)
    elif action == 4:
        del items[rng.randrange(len(items)) :]
    elif action == 5:
        items.append(perturbed(items[place], rng))
    else:
        items[place] = perturbed(items[place], rng)


def generated_inputs(checks: Any, seed: int, count: int) -> list[Any]:
    """Distinct lists of arguments, each made by perturbing one to all arguments of a visible check."""
    rng = random.Random(seed)
    seen = {canonical(check["args"]) for check in checks}
    made: list[Any] = []
    for attempt in range(count * 6):
        if not checks or len(made) == count:
            break
        args = copy.deepcopy(checks[attempt % len(checks)]["args"])
        if not args:
            break
        for place in rng.sample(range(len(args)), rng.randint(1, len(args))):
            args[place] = perturbed(args[place], rng)
        key = canonical(args)
        if key not in seen and len(key) < TEXT_LENGTH:
            seen.add(key)
            made.append(args)
    return made


def label(request: Any) -> list[Any]:
    """Run check functions on candidates: for each, the name of its failure by suite, nothing for a passed one; suites after a failed one are not run."""
    answers = []
    for source in request["sources"]:
        failures: list[str] = []
        for suite in request["suites"]:
            failures.append(_failure(source, request["entry"], suite))
            if failures[-1] and not request.get("all"):
                break
        answers.append(failures)
    return answers


def _failure(source: str, entry: str, suite: str) -> str:
    program = Program(source, entry)
    program.load()
    if program.error:
        return program.error
    program.steps.most, program.steps.taken = CHECK_STEPS, 0
    allowed = __builtins__ if isinstance(__builtins__, dict) else vars(__builtins__)
    names = [name for name in allowed if name not in _WITHOUT]
    tests = namespace(allowed, names, candidate_modules(), Steps(CHECK_STEPS))
    tests["__builtins__"]["print"] = lambda *values, **options: None
    tests.update({name: value for name, value in program.globals.items() if not name.startswith("_")})
    with Caught() as caught:
        exec(instrumented(suite, "<suite>"), tests)
        tests["check"](program.function)
    return name_of(caught.error)


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


def answer(request: Any) -> Any:
    """The entry point: ``do`` is ``label``, ``judge``, or ``tape``, which runs all candidates on the inputs that operators get and answers the outcomes."""
    if request["do"] == "label":
        return label(request)
    request["checks"] = [
        {"args": ast.literal_eval(check["args"]), "expected": check["expected"]} for check in request["checks"]
    ]
    for check in request["checks"]:
        if check["expected"] is not None:
            check["expected"] = canonical(ast.literal_eval(check["expected"]))
    runs = request["do"] == "tape" or any(operator["level"] == 2 for operator in request["operators"])
    if not runs:
        return judge(request, None)
    request["generated"] = generated_inputs(request["checks"], request["seed"], request["inputs"])
    tapes = request.get("tape") or [None] * len(request["sources"])
    programs = [Program(source, request["entry"], tape) for source, tape in zip(request["sources"], tapes, strict=True)]
    if request["do"] == "tape":
        for program in programs:
            for args in [*(check["args"] for check in request["checks"]), *request["generated"]]:
                program.call(args)
        return [program.seen for program in programs]
    return judge(request, lambda place: Context(request, programs, place))
