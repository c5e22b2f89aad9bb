"""Coregionalized programs: a covariance of tasks times a kernel of the other columns (contract ``coregionalized``).

k((x, i), (z, j)) = (L L^T + diag(v))_ij k(x, z), the intrinsic coregionalization model (Bonilla, Chai and Williams, 2007; Alvarez, Rosasco and
Lawrence, 2012, section 4.2).  One column of the points names the task, by 0, 1, 2, ... or by the numbers that the program lists; any other
number there is an error.  Without other columns it is the covariance of the tasks times k of no coordinates, a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import torch
from torch import Tensor

from kernaut.errors import InputError, ProgramRefused
from kernaut.kernels.algebra import Wrapper
from kernaut.kernels.closure import KnownPrograms
from kernaut.kernels.form import Embedding, Form, Tasks, broadcast, root
from kernaut.program.base_node import NumberReader
from kernaut.program.closure import Node
from kernaut.program.coregionalization import Coregionalization, coregionalization

NEAR = 1e-6
"""How far a number may be from a task's: what single precision and a change of units leave."""


class CoregionalizedForm(Wrapper):
    """Factor and diagonal before the child's parameters, as :meth:`Coregionalization.numbers` has them.

    Args:
        shape: of the factor, ``t x r``.
        diagonal: whether there is a diagonal.
        child: the form of the other columns.
        column: the column that names tasks, negative from the end.
        values: what it holds for each task; 0, 1, 2, ... if absent.
    """

    def __init__(
        self, shape: tuple[int, int], diagonal: bool, child: Form, column: int, values: tuple[float, ...] | None
    ) -> None:
        super().__init__(prod(shape) + (shape[0] if diagonal else 0), child)
        self.shape = shape
        self.with_diagonal = diagonal
        self.column = column
        self.values = tuple(float(task) for task in range(shape[0])) if values is None else values

    def embed(self, x: Tensor, theta: Tensor) -> Embedding:
        """Each point's task, then the child's embedding of its other columns.

        Raises:
            InputError: for points without the task column, or with a number there that names no task.
        """
        task, others = self._apart(x)
        return (task, *self.child.embed(others, theta[..., self.own :]))

    def cross(self, a: Embedding, b: Embedding, theta: Tensor) -> Tensor:
        """The tasks' covariances times the child's."""
        first, second = a[0][..., 0].long(), b[0][..., 0].long()
        left, right = self._loadings(first, theta), self._loadings(second, theta)
        shared = left @ right.mT
        if self.with_diagonal:
            same = first[..., :, None] == second[..., None, :]
            shared = shared + torch.where(same, self._diagonal(first, theta)[..., None], 0.0)
        return shared * super().cross(a[1:], b[1:], theta)

    def diagonal(self, a: Embedding, theta: Tensor) -> Tensor:
        """The tasks' variances times the child's."""
        task = a[0][..., 0].long()
        own = self._loadings(task, theta).square().sum(-1)
        if self.with_diagonal:
            own = own + self._diagonal(task, theta)
        return own * super().diagonal(a[1:], theta)

    def features(self, x: Tensor, theta: Tensor) -> Tensor:
        """Products of each loading with each of the child's features; with a diagonal, a further block for each task."""
        column, others = self._apart(x)
        task = column[..., 0].long()
        loadings = self._loadings(task, theta)
        if self.with_diagonal:
            own = torch.nn.functional.one_hot(task, self.shape[0]) * root(self._diagonal(task, theta))[..., None]
            batch = broadcast(loadings.shape[:-1], own.shape[:-1])
            loadings = torch.cat([part.expand(*batch, part.shape[-1]) for part in (loadings, own)], dim=-1)
        inner = self.child.features(others, theta[..., self.own :])
        return (loadings[..., :, None] * inner[..., None, :]).flatten(-2)

    def arity(self, theta: Tensor) -> int:
        """The task, and the child's."""
        return 1 + super().arity(theta)

    def stationary(self, theta: Tensor) -> bool:
        """Never: a covariance of tasks is no function of a difference."""
        return False

    def tasks(self, theta: Tensor, dimension: int) -> Tasks:
        """The task column, and the child's among the others."""
        place = self._place(dimension)
        inner = super().tasks(theta, dimension - 1)
        return {place: self.values} | {other + (other >= place): values for other, values in inner.items()}

    def _place(self, dimension: int) -> int:
        if not -dimension <= self.column < dimension:
            raise InputError(f"Expected points with the task column {self.column}. Got {dimension} columns.")
        return self.column % dimension

    def _apart(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The number of each point's task, ``*b x n x 1``, and the other columns."""
        place = self._place(x.shape[-1])
        given = x.detach()[..., place, None]
        names = torch.tensor(self.values, dtype=x.dtype, device=x.device)
        gap, task = (given - names).abs().min(-1, keepdim=True)
        wrong = ~(gap <= NEAR)
        if bool(wrong.any()):
            listed = ", ".join(f"{value:g}" for value in self.values[:8]) + (", ..." if len(self.values) > 8 else "")
            raise InputError(
                f"Expected column {place} to name one of {len(self.values)} tasks: {listed}. Got {float(given[wrong][0]):g}.",
                hint="Set task_column to the column of tasks, and task_values to what it holds for each; a table's columns are first brought to [0, 1].",
            )
        return task.to(x.dtype), torch.cat([x[..., :place], x[..., place + 1 :]], dim=-1)

    def _loadings(self, task: Tensor, theta: Tensor) -> Tensor:
        """Rows of L, ``*bp x n x r``."""
        factor = theta[..., : prod(self.shape)].unflatten(-1, self.shape)
        batch = broadcast(task.shape[:-1], factor.shape[:-2])
        place = task.expand(*batch, task.shape[-1])[..., None].expand(*batch, task.shape[-1], self.shape[1])
        return factor.expand(*batch, *self.shape).gather(-2, place)

    def _diagonal(self, task: Tensor, theta: Tensor) -> Tensor:
        """Entries of v, ``*bp x n``."""
        entries = theta[..., prod(self.shape) : self.own]
        batch = broadcast(task.shape[:-1], entries.shape[:-1])
        return entries.expand(*batch, entries.shape[-1]).gather(-1, task.expand(*batch, task.shape[-1]))


class CoregionalizedReader:
    """Reads what a program answers; program leaves by identifier are looked up among known programs."""

    def __init__(self, programs: KnownPrograms) -> None:
        self.programs = programs

    def __call__(self, record: Any, reader: NumberReader) -> Coregionalization:
        """The record.

        Raises:
            ProgramRefused: when it breaks a rule, naming the path.
        """
        return coregionalization(record, reader, self.programs)


class CoregionalizedAssembly:
    """Makes forms of coregionalizations.

    Args:
        below: makes the form of the kernel of the other columns.
        column: the column that names tasks.
        values: what it holds for each task.
    """

    def __init__(self, below: Callable[[Node], Form], column: int, values: tuple[float, ...] | None) -> None:
        self.below = below
        self.column = column
        self.values = values

    def __call__(self, record: Coregionalization) -> Form:
        """The form of a record.

        Raises:
            ProgramRefused: when the listed task values are not as many as the tasks.
        """
        if self.values is not None and len(self.values) != record.tasks:
            raise ProgramRefused(f"Expected {record.tasks} task_values, one a row of factor. Got {len(self.values)}.")
        rank = 1 if len(record.factor.shape) == 1 else record.factor.shape[1]
        child = self.below(record.child)
        return CoregionalizedForm((record.tasks, rank), record.diagonal is not None, child, self.column, self.values)
