"""What is evaluated: a kernel program, or a reference kernel of the library, under the name it has in reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kernaut.digest import FrozenMapping, content_id, thaw
from kernaut.kernels.interpreter import interpret
from kernaut.kernels.kernel import KernautKernel
from kernaut.kernels.library import base_kernel
from kernaut.program.closure import Resolve
from kernaut.program.program import KernelProgram
from kernaut.sandbox.pool import SandboxPool

Origin = Literal["archive", "file", "reference"]


@dataclass(frozen=True)
class Subject:
    """A kernel to evaluate; small, frozen and picklable.

    Args:
        candidate_id: identifier in reports.
        name: for people.
        origin: ``archive``, ``file`` or ``reference``.
        family: a reference's kernel kind, a program's contract.
        content: the program, or the reference's base node.
    """

    candidate_id: str
    name: str
    origin: Origin
    family: str
    content: KernelProgram | FrozenMapping

    def kernel(self, *, pool: SandboxPool | None = None, resolve: Resolve | None = None) -> KernautKernel:
        """Assemble the kernel.

        Args:
            pool: where a program's child is started; the process's default pool if absent.
            resolve: looks up program leaves of closures by identifier.

        Raises:
            ProgramRefused: when the source, the parameters or the base node break a rule.
        """
        if isinstance(self.content, KernelProgram):
            return interpret(self.content, pool=pool, resolve=resolve)
        return base_kernel(thaw(self.content))


def program_subject(program: KernelProgram, origin: Origin = "archive") -> Subject:
    """A program under its own name and identifier."""
    return Subject(program.id, program.name, origin, program.contract, program)


def reference_subject(node: Mapping[str, Any], name: str) -> Subject:
    """A reference kernel; its identifier is that of its base node."""
    frozen = FrozenMapping(node)
    return Subject(content_id({"reference": frozen}), name, "reference", str(node["kind"]), frozen)
