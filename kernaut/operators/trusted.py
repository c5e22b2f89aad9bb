"""The trusted texts that run inside the sandbox, joined into one program each, and the bench that asks one."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernaut.sandbox.child import Child
from kernaut.sandbox.limits import Limits
from kernaut.sandbox.pool import SandboxPool
from kernaut.sandbox.records import SandboxProgram

_OWN_IMPORT = re.compile(r"^from kernaut\.[\w.]+ import (?:\([^)]*\)|[^\n]*)\n", re.MULTILINE)
_FUTURE = "from __future__ import annotations\n"

OPERATOR_LIMITS = Limits(request_seconds=12.0, load_seconds=10.0, cpu_seconds=600.0, memory_mib=512)
"""A generous wall clock: steps, which do not depend on the machine, end nearly everything before."""


@functools.cache
def trusted_source(*modules: str) -> str:
    """The texts of modules of this package as one program, in order; imports from Kernaut are left out, as the names are there already.

    Args:
        modules: module names, such as ``runtime`` and ``code/runtime``.
    """
    folder = Path(__file__).resolve().parent
    texts = [(folder / f"{module}.py").read_text(encoding="utf-8") for module in modules]
    return _FUTURE + "\n".join(_OWN_IMPORT.sub("", text).replace(_FUTURE, "") for text in texts)


def trusted_program(*modules: str) -> SandboxProgram:
    """A sandbox program whose entry point ``answer`` is the last module's."""
    return SandboxProgram(trusted_source(*modules), "answer", "json", "python")


class Bench:
    """A child of one trusted program, started when it is first asked and again after it died.

    Args:
        program: the trusted program.
        limits: of each child.
        fresh: whether each request gets a child of its own.
    """

    def __init__(self, program: SandboxProgram, limits: Limits = OPERATOR_LIMITS, *, fresh: bool = False) -> None:
        self._program = program
        self._pool = SandboxPool(limits)
        self._child: Child | None = None
        self._fresh = fresh

    def ask(self, request: Mapping[str, Any]) -> Any:
        """Answer a request.

        Raises:
            SandboxFailure: when the child refuses, fails, dies or is too slow; the next request gets a new one.
        """
        if self._child is None:
            self._child = self._pool.child(self._program)
        failed = True
        try:
            found = self._child.ask(request)
            failed = False
            return found
        finally:
            if failed or self._fresh:
                self._child.close()
                self._child = None

    def close(self) -> None:
        """End the child."""
        self._pool.close()

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
