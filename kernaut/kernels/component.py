"""Components: what a sandboxed program computes, as tensors that autograd can see through.

A component asks its child process for values in :meth:`Component.call` and, backwards, for a pullback (gradients in the points
and in the float parameters).  One child serves all requests; it starts at the first one.  The last answer is kept, since fits
ask for the same points again and again.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from kernaut.digest import thaw
from kernaut.errors import InputError, SandboxFailure
from kernaut.kernels.form import broadcast, rows_of
from kernaut.program.program import KernelProgram
from kernaut.program.screening import screen
from kernaut.sandbox.child import Child
from kernaut.sandbox.pool import SandboxPool, default_pool
from kernaut.sandbox.records import SandboxProgram

CHUNK = 4096
"""Points a request: keeps the child's memory and its replies small."""

Key = tuple[bytes, int | None, np.ndarray | None]


class Component:
    """A screened program and the names of its float parameters; values for these come with each call.

    Args:
        program: the kernel program.
        names: its float-valued parameters, in the order of the rows passed to :meth:`call`.
        pool: starts the child; the process's default pool if absent.

    Raises:
        ProgramRefused: when screening finds something a program may not contain.
    """

    def __init__(self, program: KernelProgram, names: tuple[str, ...], pool: SandboxPool | None = None) -> None:
        rules = program.rules
        backend = screen(program.source, rules).backend
        self.program = program
        self.names = names
        self._sandboxed = SandboxProgram(program.source, rules.entry_point, rules.calling, backend)
        self._parameters: dict[str, Any] = thaw(program.parameters)
        self._pool = pool
        self._child: Child | None = None
        self._closing: weakref.finalize[Any, Any] | None = None
        self._last: tuple[Key, tuple[np.ndarray, ...]] | None = None
        self._last_tree: tuple[bytes, tuple[str, np.ndarray]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Identity only: a copy in another process asks that process's default pool for a child."""
        return (Component, (self.program, self.names))

    @property
    def child(self) -> Child:
        """The child process, started when first asked for."""
        if self._child is None:
            pool = default_pool() if self._pool is None else self._pool
            self._child = pool.child(self._sandboxed)
            self._closing = weakref.finalize(self, self._child.close)
        return self._child

    @property
    def differentiable(self) -> bool:
        """Whether the child answers pullbacks."""
        return self.child.differentiable

    def close(self) -> None:
        """End the child; the next call starts a new one."""
        if self._closing is not None:
            self._closing()
        self._child = self._closing = self._last = self._last_tree = None

    def forget(self) -> None:
        """Drop the remembered answers: the next call executes the program anew, in the same child."""
        self._last = self._last_tree = None

    def call(self, points: Tensor | None, row: Tensor, dimension: int | None = None) -> tuple[Tensor, ...]:
        """Evaluate the program.

        Args:
            points: ``N x d`` points, ``N`` coordinate values, or nothing, as the contract has it.
            row: ``p`` values of the float parameters.
            dimension: the input dimension, for spectral programs.

        Returns:
            As :meth:`kernaut.sandbox.pool.Child.evaluate`, as float64 tensors with gradients where asked for.

        Raises:
            SandboxFailure: when the program gives no value.
        """
        if torch.is_grad_enabled() and (row.requires_grad or (points is not None and points.requires_grad)):
            return _Evaluation.apply(points, row, self, dimension)
        return self._tensors(points, row, dimension)

    def tree(self, row: Tensor) -> tuple[str, Tensor]:
        """Structure text and values of a closure tree; gradients flow from the values to ``row``.

        Raises:
            SandboxFailure: when the program gives no tree.
        """
        structure, values = self._tree(row)
        if torch.is_grad_enabled() and row.requires_grad:
            return structure, _TreeValues.apply(row, self)
        return structure, torch.from_numpy(values.copy()).to(row.device)

    def _values(self, row: np.ndarray) -> dict[str, Any]:
        return self._parameters | dict(zip(self.names, row.tolist(), strict=True))

    def _tensors(self, points: Tensor | None, row: Tensor, dimension: int | None) -> tuple[Tensor, ...]:
        array = None if points is None else _numpy(points)
        values = _numpy(row)
        stamp = values.tobytes()
        if self._last is not None:
            (last_stamp, last_dimension, last_array), outputs = self._last
            if stamp == last_stamp and dimension == last_dimension and _same(array, last_array):
                return tuple(torch.from_numpy(output.copy()).to(row.device) for output in outputs)
        outputs = self._evaluate(array, values, dimension)
        self._last = ((stamp, dimension, None if array is None else array.copy()), outputs)
        return tuple(torch.from_numpy(output.copy()).to(row.device) for output in outputs)

    def _evaluate(self, points: np.ndarray | None, row: np.ndarray, dimension: int | None) -> tuple[np.ndarray, ...]:
        parameters = self._values(row)
        if points is None or self._sandboxed.calling == "matrix" or len(points) <= CHUNK:
            outputs = self.child.evaluate(points, parameters, input_dimension=dimension)
        else:
            parts = [
                self.child.evaluate(points[start : start + CHUNK], parameters, input_dimension=dimension)[0]
                for start in range(0, len(points), CHUNK)
            ]
            if len({part.shape[1] for part in parts}) > 1:
                raise SandboxFailure("failed", "Expected equally many outputs at every point. Got different numbers.")
            outputs = (np.concatenate(parts),)
        if points is not None and len(outputs[0]) != len(points):
            raise SandboxFailure("failed", f"Expected {len(points)} rows, one a point. Got {len(outputs[0])}.")
        return outputs

    def _pullback(
        self,
        points: np.ndarray | None,
        row: np.ndarray,
        dimension: int | None,
        cotangents: Sequence[np.ndarray],
        want_points: bool = False,
    ) -> tuple[np.ndarray | None, np.ndarray]:
        """Gradients in the points (shaped like them, if wanted) and in the row (``p``)."""
        if not self.differentiable:
            raise InputError(
                f"Expected a differentiable program. Got {self.program.name}, which does not import torch.",
                hint="Write it with torch functions of x and parameters to differentiate the kernel.",
            )
        parameters = self._values(row)
        if points is None or self._sandboxed.calling == "matrix" or len(points) <= CHUNK:
            slices = [slice(None)]
        else:
            slices = [slice(start, start + CHUNK) for start in range(0, len(points), CHUNK)]
        gradient = np.zeros(len(row))
        parts = []
        for part in slices:
            block = None if points is None else points[part]
            cut = tuple(cotangents) if points is None else tuple(c[part] for c in cotangents)
            answer = self.child.pullback(block, parameters, cut, input_dimension=dimension, want_points=want_points)
            gradient += [answer.parameters.get(name, 0.0) for name in self.names]
            if answer.points is not None:
                parts.append(answer.points)
        return (np.concatenate(parts) if parts else None), gradient

    def _tree(self, row: Tensor) -> tuple[str, np.ndarray]:
        values = _numpy(row)
        stamp = values.tobytes()
        if self._last_tree is None or self._last_tree[0] != stamp:
            self._last_tree = (stamp, self.child.tree(self._values(values)))
        return self._last_tree[1]


class _Evaluation(torch.autograd.Function):
    """Values forwards, the child's pullback backwards."""

    @staticmethod
    def forward(
        ctx: Any, points: Tensor | None, row: Tensor, component: Component, dimension: int | None
    ) -> tuple[Tensor, ...]:
        ctx.component, ctx.dimension, ctx.row_only = component, dimension, points is None
        ctx.save_for_backward(*((row,) if points is None else (row, points)))
        return component._tensors(points, row, dimension)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor | None, ...]:
        row, points = (ctx.saved_tensors[0], None) if ctx.row_only else ctx.saved_tensors
        array = None if points is None else _numpy(points)
        given = [_numpy(cotangent) for cotangent in cotangents]
        wanted = points is not None and ctx.needs_input_grad[0]
        at_points, at_row = ctx.component._pullback(array, _numpy(row), ctx.dimension, given, wanted)
        gradient = None if at_points is None else torch.from_numpy(at_points).to(row.device)
        return gradient, torch.from_numpy(at_row).to(row.device), None, None


class _TreeValues(torch.autograd.Function):
    """The values of a closure tree, with the child's pullback."""

    @staticmethod
    def forward(ctx: Any, row: Tensor, component: Component) -> Tensor:
        ctx.component = component
        ctx.save_for_backward(row)
        return torch.from_numpy(component._tree(row)[1].copy()).to(row.device)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor | None, ...]:
        (row,) = ctx.saved_tensors
        _, gradient = ctx.component._pullback(None, _numpy(row), None, [_numpy(cotangents[0])])
        return torch.from_numpy(gradient).to(row.device), None


def at_points(component: Component, x: Tensor, theta: Tensor) -> Tensor:
    """Outputs ``*bp x n x m`` of a program that is called point by point.

    All points of all batch elements that share a parameter row go into one request.

    Args:
        component: a ``point`` or ``coordinate`` program; a ``coordinate`` program is given every coordinate, and m counts
            its outputs for all of them.
        x: ``*b x n x d`` points.
        theta: ``*p x q`` float parameters.

    Raises:
        SandboxFailure: when the program gives no value.
    """
    if theta.dim() == 1:
        return _flat(component, x, theta)
    batch = broadcast(theta.shape[:-1], x.shape[:-2])
    rows = rows_of(theta)
    if theta.requires_grad:
        label = torch.arange(len(rows))
    elif not theta.shape[-1]:
        rows, label = rows[:1], torch.zeros(len(rows), dtype=torch.long)
    else:
        rows, label = torch.unique(rows, dim=0, return_inverse=True)
    labels = label.reshape(theta.shape[:-1]).expand(batch).reshape(-1)
    points = x.expand(*batch, *x.shape[-2:]).reshape(-1, *x.shape[-2:])
    groups = [torch.nonzero(labels == index)[:, 0] for index in range(len(rows))]
    outputs = [_flat(component, points[group], row) for group, row in zip(groups, rows, strict=True)]
    if len({output.shape[-1] for output in outputs}) > 1:
        raise InputError("Expected equally many outputs for every parameter row. Got different numbers.")
    order = torch.argsort(torch.cat(groups))
    return torch.cat(outputs)[order].reshape(*batch, x.shape[-2], outputs[0].shape[-1])


def _flat(component: Component, x: Tensor, row: Tensor) -> Tensor:
    single = component.program.rules.calling == "coordinate"
    (output,) = component.call(x.reshape(-1) if single else rows_of(x), row)
    return output.reshape(*x.shape[:-1], output.shape[-1] * (x.shape[-1] if single else 1))


def _numpy(tensor: Tensor) -> np.ndarray:
    return np.ascontiguousarray(tensor.detach().to("cpu", torch.float64).numpy())


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.shape == b.shape and np.array_equal(a, b)
