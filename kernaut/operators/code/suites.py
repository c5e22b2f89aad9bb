"""Child side, trusted, domain ``code``, the tests' process: run check functions against recorded answers; no candidate's source ever comes here.

``trace`` runs the suites on the task's own reference solution and answers which calls they make.  ``check`` runs them on the answers that a candidate gave to these
calls in its own process.  A call that was not recorded (its arguments depend on earlier answers) ends the run and is answered as wanted.
"""

from __future__ import annotations

import json
import random
from typing import Any

from kernaut.operators.code.programs import HIDDEN_BUILTINS, Program, candidate_modules, name_of
from kernaut.operators.code.values import NotPlain, decoded, encoded
from kernaut.operators.runtime import Caught, Steps, StepsSpent, instrumented, namespace

SUITE_STEPS = 150_000


class Wanted(BaseException):
    """The suite made a call that was not recorded."""


class Record:
    """Stands in for the candidate: answers the calls that were recorded, in order.

    Args:
        calls: recorded argument texts.
        outcomes: recorded outcome texts.
        reference: answers instead where there is one.
    """

    def __init__(self, calls: list[str], outcomes: list[str], reference: Any = None) -> None:
        self.made: list[str] = []
        self.wanted = False
        self._calls, self._outcomes, self._reference = calls, outcomes, reference

    def call(self, *arguments: Any, **options: Any) -> Any:
        """What the candidate answered, or raised."""
        text = encoded([list(arguments), options])
        place = len(self.made)
        self.made.append(text)
        if self._reference is not None:
            return self._reference(*arguments, **options)
        if self.wanted or place >= len(self._outcomes) or self._calls[place] != text:
            self.wanted = True
            raise Wanted
        return self._answered(arguments, self._outcomes[place])

    def _answered(self, arguments: tuple[Any, ...], outcome: str) -> Any:
        try:
            record = dict(json.loads(outcome))
        except (ValueError, TypeError, RecursionError) as error:
            raise NotPlain("no outcome") from error
        if "error" in record:
            raise exception_of(str(record["error"]), record.get("bases"))
        if "arguments" in record:
            changed = decoded(str(record["arguments"]))
            for mine, now in zip(arguments, changed, strict=False):
                if isinstance(mine, list) and isinstance(now, list):
                    mine[:] = now
                elif isinstance(mine, (dict, set)) and isinstance(now, (dict, set)):
                    mine.clear()
                    mine.update(now)
        return decoded(str(record.get("value")))


def exception_of(name: str, bases: Any) -> BaseException:
    """An exception of a builtin class by its name, or of a new class below the first builtin base."""
    if name == "Endless":
        return StepsSpent()
    allowed = __builtins__ if isinstance(__builtins__, dict) else vars(__builtins__)
    kinds = [allowed.get(str(base)) for base in [name, *(bases if isinstance(bases, list) else [])]]
    known = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseException)), Exception)
    kind = known if known.__name__ == name else type(name[:80] or "Unnamed", (known,), {})
    try:
        return kind()
    except TypeError:  # a builtin that needs arguments, such as UnicodeDecodeError
        return type(kind.__name__, (ValueError,), {})()


def run_suite(code: Any, entry: str, reference: str, record: Record, trace: bool) -> str:
    """Run one check function; the name of its failure, or nothing."""
    program = Program(reference, entry)
    program.load()
    if program.error:
        return program.error
    program.steps.most = 100 * SUITE_STEPS
    if trace:
        record._reference = program.function
    allowed = __builtins__ if isinstance(__builtins__, dict) else vars(__builtins__)
    names = [name for name in allowed if name not in HIDDEN_BUILTINS]
    tests = namespace(allowed, names, candidate_modules(), Steps(SUITE_STEPS))
    tests["__builtins__"]["print"] = lambda *values, **options: None
    tests.update({name: value for name, value in program.globals.items() if not name.startswith("_")})
    tests[entry] = record.call
    random.seed(0)
    with Caught() as caught:
        exec(code, tests)
        tests["check"](record.call)
    return name_of(caught.error)


def answer(request: Any) -> Any:
    """The entry point: ``trace`` answers for each suite its calls; ``check`` for each candidate and suite the failure's name, or the calls that are wanted."""
    codes = [instrumented(suite, "<suite>") for suite in request["suites"]]
    entry, reference = request["entry"], request["reference"]
    if request["do"] == "trace":
        calls = []
        for code in codes:
            record = Record([], [])
            run_suite(code, entry, reference, record, True)
            calls.append(record.made)
        return calls
    answers: list[list[Any]] = []
    for candidate in request["candidates"]:
        answers.append([])
        for code, (calls, outcomes) in zip(codes, candidate, strict=True):
            record = Record(calls, outcomes)
            failure = run_suite(code, entry, reference, record, False)
            answers[-1].append({"wanted": record.made} if record.wanted else failure)
            if record.wanted or (failure and not request["all"]):
                break
    return answers
