"""Kernels by record: a library base node, or a candidate as in candidate files.  Used by both sides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kernaut.kernels.interpreter import interpret
from kernaut.kernels.kernel import KernautKernel
from kernaut.kernels.library import base_kernel
from kernaut.program.program import program_from_json
from kernaut.sandbox.pool import SandboxPool

Array = NDArray[np.float64]


def kernel_of(record: Any, *, pool: SandboxPool | None = None) -> KernautKernel:
    """The kernel of a base node (``{"kind": ...}``) or of a candidate record (``{"name", "contract", "source", ...}``).

    Args:
        record: the record.
        pool: what runs a candidate's program; the process's sandbox pool if absent.

    Raises:
        ProgramRefused: for a node or program that breaks a rule.
        SandboxFailure: when a closure program gives no tree.
    """
    if isinstance(record, Mapping) and "source" in record:
        return interpret(program_from_json(record), pool=pool)
    return base_kernel(record)


@torch.no_grad()
def cross_gram(kernel: KernautKernel, points: Array, anchors: Array) -> Array:
    """Kernel values between points ``m x d`` and anchors ``p x d``: ``m x p``.

    Raises:
        SandboxFailure: when a program gives no value.
    """
    x, z = (kernel.embed(torch.tensor(array, dtype=torch.float64)) for array in (points, anchors))
    return np.asarray(kernel.cross(x, z).numpy())
