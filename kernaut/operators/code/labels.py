"""Parent side, domain ``code``: labels of candidates that no candidate can forge.

A candidate runs in one child and its tests in another; between them go plain arguments and plain answers, and the verdict is formed where no candidate's source ever is
(:mod:`kernaut.operators.code.calls`, :mod:`kernaut.operators.code.suites`).  Candidates of unknown origin get a child each; mutants of reference solutions, which are made
here, share one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernaut.errors import InputError, SandboxFailure
from kernaut.operators.trusted import Bench, trusted_program
from kernaut.sandbox.limits import Limits
from kernaut.sandbox.records import SandboxProgram

SINGLE_LIMITS = Limits(request_seconds=3.0, load_seconds=10.0, cpu_seconds=30.0, memory_mib=512)
SHARED_LIMITS = Limits(request_seconds=3.0, load_seconds=10.0, cpu_seconds=600.0, memory_mib=512)
MOST_ROUNDS = 40
_BATCH_TEXT = 2_000_000

Calls = list[list[str]]
"""Argument texts by suite, or outcome texts by suite."""


def code_program() -> SandboxProgram:
    """The trusted program that shows operators their task."""
    return trusted_program("runtime", "code/programs", "code/runtime")


class Labeller:
    """Runs candidates on check functions, each side in a child of its own.

    Args:
        shared: whether candidates share a child, for those that are made here.
    """

    def __init__(self, *, shared: bool = False) -> None:
        base = ("runtime", "code/programs", "code/values")
        limits = SHARED_LIMITS if shared else SINGLE_LIMITS
        self._candidates = Bench(trusted_program(*base, "code/calls"), limits, fresh=not shared)
        self._tests = Bench(trusted_program(*base, "code/suites"))

    def failures(
        self, entry: str, reference: str, sources: Sequence[str], suites: Sequence[str], *, every: bool = False
    ) -> list[list[str]]:
        """Failures of sources on check functions.

        Args:
            entry: the function under test.
            reference: the task's own solution, which says which calls the suites make, and what helpers they have.
            sources: candidates.
            suites: check functions' texts, in order.
            every: whether suites after a failed one are run, too.

        Returns:
            For each source the name of its failure by suite, nothing for a passed one.
        """
        task = {"entry": entry, "reference": reference, "suites": list(suites), "all": every}
        try:
            calls: Calls = self._tests.ask({**task, "do": "trace"})
        except SandboxFailure as failure:
            return [[failure.state] for _ in sources]
        answers = [self._answered(entry, source, calls) for source in sources]
        running = [place for place, answer in enumerate(answers) if not isinstance(answer, str)]
        records = [list(map(list, zip(calls, answers[place], strict=True))) for place in running]
        verdicts = self._judged(task, records)
        found: list[list[str]] = [[answer] * (len(suites) if every else 1) for answer in map(str, answers)]
        for place, verdict in zip(running, verdicts, strict=True):
            found[place] = self._settled(task, sources[place], calls, verdict)
        return found

    def _answered(self, entry: str, source: str, calls: Calls) -> Calls | str:
        """Outcomes by suite, or why there are none."""
        try:
            found = self._candidates.ask({"entry": entry, "source": source, "suites": calls})
        except SandboxFailure as failure:
            return failure.state
        except InputError:
            return "TooLong"
        return _checked(found, calls)

    def _judged(self, task: Mapping[str, Any], records: Sequence[Any]) -> list[list[Any]]:
        """Verdicts of the tests' process on recorded answers, in batches; one that ends the process is judged alone and fails alone."""
        found: list[list[Any]] = []
        batch: list[Any] = []
        size = 0
        for number, record in enumerate(records):
            batch.append(record)
            size += sum(len(text) for suite in record for texts in suite for text in texts)
            if size > _BATCH_TEXT or number + 1 == len(records):
                found += self._judged_at_once(task, batch)
                batch, size = [], 0
        return found

    def _judged_at_once(self, task: Mapping[str, Any], batch: Sequence[Any]) -> list[list[Any]]:
        try:
            return list(self._tests.ask({**task, "do": "check", "candidates": list(batch)}))
        except SandboxFailure as failure:
            if len(batch) == 1:
                return [[failure.state]]
        except InputError:
            if len(batch) == 1:
                return [["TooLong"]]
        return [verdict for record in batch for verdict in self._judged_at_once(task, [record])]

    def _settled(self, task: Mapping[str, Any], source: str, calls: Calls, verdict: list[Any]) -> list[str]:
        """A verdict in which no call is wanted any more: the candidate is run again on the calls that its own answers led to."""
        calls = [list(suite) for suite in calls]
        for _ in range(MOST_ROUNDS):
            wanting = [place for place, said in enumerate(verdict) if not isinstance(said, str)]
            if not wanting:
                return list(verdict)
            for place in wanting:
                calls[place] = list(verdict[place]["wanted"])
            answer = self._answered(str(task["entry"]), source, calls)
            if isinstance(answer, str):
                return [answer]
            (verdict,) = self._judged(task, [list(map(list, zip(calls, answer, strict=True)))])
        return ["TooManyCalls"]

    def close(self) -> None:
        """End both children."""
        self._candidates.close()
        self._tests.close()

    def __enter__(self) -> Labeller:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _checked(found: Any, calls: Calls) -> Calls | str:
    """What a candidate's process said, as long as it has the form of outcomes; the form is all that is believed."""
    if not isinstance(found, dict) or not isinstance(found.get("load"), str):
        return "Malformed"
    if found["load"]:
        return str(found["load"])[:80]
    suites = found.get("suites")
    if not isinstance(suites, list) or len(suites) != len(calls):
        return "Malformed"
    for suite, made in zip(suites, calls, strict=True):
        if not isinstance(suite, list) or len(suite) != len(made) or not all(isinstance(text, str) for text in suite):
            return "Malformed"
    return [list(suite) for suite in suites]
