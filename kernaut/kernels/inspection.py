"""Look at the sandboxed programs inside a kernel: what was enforced on them, and make them run anew.

Verification needs both; nothing here changes what a kernel computes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernaut.kernels.component import Component
from kernaut.kernels.form import Form
from kernaut.kernels.kernel import KernautKernel


def components(form: Form) -> Iterator[Component]:
    """The programs of a form and of those below it, outermost first."""
    own = getattr(form, "component", None)
    if isinstance(own, Component):
        yield own
    for part in form.parts():
        yield from components(part)


def forget(kernel: KernautKernel) -> None:
    """Drop remembered answers, so that the next call executes every program anew in its present child."""
    for component in components(kernel.form):
        component.forget()


def protections(kernel: KernautKernel) -> dict[str, Any]:
    """What was enforced on the child of the outermost program; empty for a kernel without programs.

    Raises:
        SandboxFailure: when its child does not start.
    """
    for component in components(kernel.form):
        return {**component.child.protections, "slow_path": component.child.slow_path}
    return {}
