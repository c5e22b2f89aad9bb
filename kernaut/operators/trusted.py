"""The trusted texts that run inside the sandbox, joined into one program each."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from kernaut.sandbox.limits import Limits
from kernaut.sandbox.records import SandboxProgram

_OWN_IMPORT = re.compile(r"^from kernaut\.[\w.]+ import (?:\([^)]*\)|[^\n]*)\n", re.MULTILINE)
_FUTURE = "from __future__ import annotations\n"

OPERATOR_LIMITS = Limits(request_seconds=12.0, load_seconds=10.0, cpu_seconds=600.0, memory_mib=512)
"""A generous wall clock: steps, which do not depend on the machine, end nearly everything before."""


@functools.cache
def trusted_source(*modules: str) -> str:
    """The texts of modules of this package as one program, in order; imports from Kernaut are left out, as the names are there already.

    Args:
        modules: module names, such as ``runtime`` and ``code_runtime``.
    """
    folder = Path(__file__).resolve().parent
    texts = [(folder / f"{module}.py").read_text(encoding="utf-8") for module in modules]
    return _FUTURE + "\n".join(_OWN_IMPORT.sub("", text).replace(_FUTURE, "") for text in texts)


def trusted_program(*modules: str) -> SandboxProgram:
    """A sandbox program whose entry point ``answer`` is the last module's."""
    return SandboxProgram(trusted_source(*modules), "answer", "json", "python")
