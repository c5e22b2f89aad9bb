"""Child side, trusted, domain ``code``: show operators their task, and run its candidates for them on inputs near those of the visible checks.

Runs inside the sandbox behind :mod:`kernaut.operators.runtime` and :mod:`kernaut.operators.code.programs`.
"""

from __future__ import annotations

import ast
import copy
import random
from typing import Any

from kernaut.operators.code.programs import TEXT_LENGTH, Program, canonical
from kernaut.operators.runtime import MOST_OBSERVATIONS, MOST_PEERS, ObservationsSpent, judge


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


def answer(request: Any) -> Any:
    """The entry point: ``do`` is ``judge``, or ``tape``, which runs all candidates on the inputs that operators get and answers the outcomes."""
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
