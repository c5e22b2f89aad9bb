"""Child side, trusted, domain ``code``, the candidate's process: run one candidate on given arguments and say what it answered, as plain data.

Nothing here knows what a right answer is: tests and expected values are in another process (:mod:`kernaut.operators.code.suites`).  A candidate that takes over this
process can answer what it likes, and nothing else.
"""

from __future__ import annotations

import json
from typing import Any

from kernaut.operators.code.programs import Program, name_of
from kernaut.operators.code.values import decoded, encoded
from kernaut.operators.runtime import Caught

CHECK_STEPS = 150_000
MOST_ANSWER = 1_500_000


def answer(request: Any) -> Any:
    """The entry point: ``load``, why the source gives no function, and for each suite an outcome text for each call."""
    program = Program(request["source"], request["entry"])
    program.load()
    found: list[list[str]] = []
    room = MOST_ANSWER
    for calls in request["suites"] if not program.error else []:
        program = Program(request["source"], request["entry"])
        program.load()
        program.steps.most, program.steps.taken = CHECK_STEPS, 0
        found.append([])
        for text in calls:
            outcome = outcome_of(program, text) if room > 0 else raised("TooLong")
            room -= len(outcome)
            found[-1].append(outcome)
    return {"load": program.error, "suites": found}


def outcome_of(program: Program, text: str) -> str:
    """The value of one call, with its arguments where they were changed, or the exception."""
    arguments, options = decoded(text)
    before = encoded(arguments)
    value, after = "", before
    with Caught() as caught:
        value = encoded(program.function(*arguments, **options))
        after = encoded(arguments)
    if caught.error is not None:
        return raised(name_of(caught.error), *(base.__name__ for base in type(caught.error).__mro__[1:]))
    return json.dumps({"value": value} | ({"arguments": after} if after != before else {}))


def raised(name: str, *bases: str) -> str:
    """The outcome of a call that gave no value."""
    return json.dumps({"error": str(name)[:80], "bases": list(bases)[:8]})
