"""Parent side, domain ``code``: run candidates and operators of a task in the sandbox, a batch at a time.

One child serves many requests; when it dies, its batch is tried again one candidate at a time, each in a child of its own, so that one candidate cannot take others with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernaut.errors import SandboxFailure
from kernaut.operators.trusted import OPERATOR_LIMITS, trusted_program
from kernaut.sandbox.child import Child
from kernaut.sandbox.limits import Limits
from kernaut.sandbox.pool import SandboxPool
from kernaut.sandbox.records import SandboxProgram

SINGLE_LIMITS = Limits(request_seconds=3.0, load_seconds=10.0, cpu_seconds=30.0, memory_mib=512)


class Bench:
    """A child of one trusted program, started when it is first asked and again after it died.

    Args:
        program: the trusted program.
        limits: of each child.
    """

    def __init__(self, program: SandboxProgram, limits: Limits = OPERATOR_LIMITS) -> None:
        self._program = program
        self._pool = SandboxPool(limits)
        self._child: Child | None = None

    def ask(self, request: Mapping[str, Any]) -> Any:
        """Answer a request.

        Raises:
            SandboxFailure: when the child refuses, fails, dies or is too slow; the next request gets a new one.
        """
        if self._child is None:
            self._child = self._pool.child(self._program)
        try:
            return self._child.ask(request)
        except SandboxFailure:
            self._child.close()
            self._child = None
            raise

    def close(self) -> None:
        """End the child."""
        self._pool.close()

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def code_program() -> SandboxProgram:
    """The trusted program of the domain."""
    return trusted_program("runtime", "code_runtime")


def run_suites(
    bench: Bench, entry: str, sources: Sequence[str], suites: Sequence[str], *, every: bool = False
) -> list[list[str]]:
    """Failures of sources on check functions, see :func:`kernaut.operators.code_runtime.label`.

    Args:
        bench: a bench of :func:`code_program`.
        entry: the function under test.
        sources: candidates.
        suites: check functions' texts, in order.
        every: whether suites after a failed one are run, too.

    Returns:
        For each source the name of its failure by suite, nothing for a passed one.
    """
    request = {"do": "label", "entry": entry, "suites": list(suites), "all": every}
    try:
        return list(bench.ask({**request, "sources": list(sources)}))
    except SandboxFailure:
        found = []
        with Bench(code_program(), SINGLE_LIMITS) as single:
            for source in sources:
                try:
                    found += single.ask({**request, "sources": [source]})
                except SandboxFailure as failure:
                    found.append([failure.state])
        return found
