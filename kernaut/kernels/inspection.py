"""Look into a kernel: what was enforced on the sandboxed programs inside it, make them run anew, and which columns name tasks.

Nothing here changes what a kernel computes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from kernaut.kernels.component import Component
from kernaut.kernels.form import Form, Tasks
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


def task_columns(kernel: object, dimension: int) -> Tasks:
    """Which of ``dimension`` columns name tasks, and what they hold for each; none for a kernel that takes any number.

    Raises:
        InputError: when the kernel names a column that is not there.
        SandboxFailure: when its program gives no tree.
    """
    if not isinstance(kernel, KernautKernel):
        return {}
    active = range(dimension) if kernel.active_dims is None else kernel.active_dims.tolist()
    found = kernel.form.tasks(kernel.theta().detach(), len(active))
    return {int(active[place]): values for place, values in found.items()}


def with_tasks(kernel: object, points: Tensor) -> Tensor:
    """Points of the unit cube as a kernel takes them: where a column names tasks, the unit interval is cut into equal parts, one a task.

    Args:
        kernel: the kernel.
        points: ``*b x n x d``, drawn or laid out by something that knows of no tasks.

    Raises:
        InputError: as above.
        SandboxFailure: as above.
    """
    found = task_columns(kernel, points.shape[-1])
    points = points.clone() if found else points
    for place, values in found.items():
        part = (points[..., place] * len(values)).floor().clamp(0, len(values) - 1)
        points[..., place] = torch.tensor(values, dtype=points.dtype)[part.long()]
    return points
