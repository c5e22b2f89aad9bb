"""Coregionalization: a covariance of tasks times a closure tree over the other columns, read and checked (contract ``coregionalized``).

The intrinsic coregionalization model of Bonilla, Chai and Williams (2007) and of Alvarez, Rosasco and Lawrence (2012), section 4.2:
W = L L^T + diag(v) with v >= 0 is positive semidefinite whatever L is, and so is its product with a kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernaut.digest import thaw
from kernaut.errors import ProgramRefused
from kernaut.program.base_node import Array, NumberReader
from kernaut.program.closure import Node, Resolve, closure_node
from kernaut.program.leaves import HUGE, Number

MAX_TASKS = 256
KEYS = ("factor", "diagonal", "kernel")
FACTOR = Number("factor", -HUGE, ranks=(1, 2))
DIAGONAL = Number("diagonal", 0.0, ranks=(1,))


@dataclass(frozen=True)
class Coregionalization:
    """k((x, i), (z, j)) = W_ij child(x, z).

    Args:
        factor: L, ``t x r`` or ``t`` (r = 1).
        diagonal: v, ``t``, or nothing.
        child: the kernel of the other columns.
    """

    factor: Array
    diagonal: Array | None
    child: Node

    @property
    def tasks(self) -> int:
        """Number of tasks, t."""
        return self.factor.shape[0]

    def covariance(self) -> list[list[float]]:
        """W = L L^T + diag(v), ``t x t``."""
        width = 1 if len(self.factor.shape) == 1 else self.factor.shape[1]
        rows = [self.factor.values[start : start + width] for start in range(0, len(self.factor.values), width)]
        found = [[sum(a * b for a, b in zip(left, right, strict=True)) for right in rows] for left in rows]
        for task, own in enumerate(() if self.diagonal is None else self.diagonal.values):
            found[task][task] += own
        return found

    def numbers(self) -> tuple[float, ...]:
        """L by rows, v, then the child's numbers."""
        own = self.factor.values + (() if self.diagonal is None else self.diagonal.values)
        return own + self.child.numbers()

    def skeleton(self) -> tuple[Any, ...]:
        """Everything but the numbers."""
        return ("coregionalization", self.factor.shape, self.diagonal is not None, self.child.skeleton())


def coregionalization(record: Any, reader: NumberReader, resolve: Resolve | None) -> Coregionalization:
    """Read ``{"factor": L, "kernel": tree}``, with ``"diagonal": v`` where wanted.

    Raises:
        ProgramRefused: for other keys, arrays that disagree, more than 256 tasks, or a tree that breaks a rule.
    """
    if not isinstance(record, Mapping) or not {"factor", "kernel"} <= set(record) <= set(KEYS):
        got = ", ".join(map(str, record)) if isinstance(record, Mapping) else repr(thaw(record))[:80]
        raise ProgramRefused(
            f"Expected coregionalization to return an object of factor, kernel and, if wanted, diagonal. Got {got}."
        )
    factor = record["factor"]
    if isinstance(factor, (list, tuple)) and len(factor) > MAX_TASKS:
        raise ProgramRefused(f"Expected at most {MAX_TASKS} tasks. Got factor of {len(factor)} rows.")
    loadings = reader.array(factor, "factor", FACTOR)
    diagonal = None
    if record.get("diagonal") is not None:
        diagonal = reader.array(record["diagonal"], "diagonal", DIAGONAL)
        if diagonal.shape != loadings.shape[:1]:
            raise ProgramRefused(f"Expected {loadings.shape[0]} entries of diagonal. Got {diagonal.shape[0]}.")
    if not any(loadings.values) and (diagonal is None or not any(diagonal.values)):
        raise ProgramRefused(
            "Expected factor and diagonal that are not all 0. Got a covariance of tasks that vanishes."
        )
    child = closure_node(record["kernel"], reader=reader, resolve=resolve, path="kernel")
    return Coregionalization(loadings, diagonal, child)
