"""Programs that answer with a tree: closures of library leaves and programs, linear systems, coregionalizations.

The child answers with the tree's structure and a vector of the numbers in it that depend on float parameters.  The vector is
what gradients flow through; the structure is read and checked here (:mod:`kernaut.program.closure`), and the form is assembled
anew only when it changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import torch
from torch import Tensor

from kernaut.errors import InputError, ProgramRefused
from kernaut.kernels.component import Component
from kernaut.kernels.form import Embedding, Form, Tasks, rows_of
from kernaut.program.base_node import NumberReader
from kernaut.program.closure import Node, Resolve, closure_node
from kernaut.program.program import KernelProgram


class Tree(Protocol):
    """What is read of a program's answer: a node of a closure, or another record that lays out its numbers as a node does."""

    def numbers(self) -> tuple[float, ...]:
        """All numbers in a fixed order."""
        ...

    def skeleton(self) -> tuple[Any, ...]:
        """Everything but the numbers."""
        ...


T = TypeVar("T", bound=Tree)
Read: TypeAlias = Callable[[Any, NumberReader], T]
"""Reads and checks the JSON value that a program returned."""
Assemble: TypeAlias = Callable[[T], Form]
"""Makes a form of what was read; program leaves come with their own components."""


class KnownPrograms:
    """Looks programs up by identifier and keeps what it found, so that copies in other processes need no archive."""

    def __init__(self, resolve: Resolve | None = None, found: Mapping[str, KernelProgram] | None = None) -> None:
        self._resolve = resolve
        self._found = dict(found or {})

    def __call__(self, identifier: str) -> KernelProgram:
        """The program of that identifier.

        Raises:
            LookupError: when it was never found and no archive is at hand.
        """
        if identifier not in self._found:
            if self._resolve is None:
                raise LookupError(identifier)
            self._found[identifier] = self._resolve(identifier)
        return self._found[identifier]

    def __reduce__(self) -> tuple[Any, ...]:
        return (KnownPrograms, (None, self._found))


@dataclass(frozen=True, eq=False)
class _Checked(Generic[T]):
    """A checked tree: its numbers, their places in the child's vector (-1: plain), and whether some place was lost."""

    node: T
    skeleton: tuple[Any, ...]
    numbers: Tensor
    places: Tensor
    detached: bool


class ClosureReader:
    """Reads closure trees; program leaves by identifier are looked up among known programs."""

    def __init__(self, programs: KnownPrograms) -> None:
        self.programs = programs

    def __call__(self, record: Any, reader: NumberReader) -> Node:
        """The tree.

        Raises:
            ProgramRefused: when it breaks a rule, naming the path.
        """
        return closure_node(record, reader=reader, resolve=self.programs)


class TreeForm(Form, Generic[T]):
    """The form of the tree that a program answers with at the given parameters.

    Args:
        component: a program that is called with its parameters alone.
        read: reads and checks its answer.
        assemble: makes forms of answers; pickled with the form, as ``read`` is.
    """

    def __init__(self, component: Component, read: Read[T], assemble: Assemble[T]) -> None:
        self.component = component
        self.size = len(component.names)
        self._read = read
        self._assemble = assemble
        self._skeleton: tuple[Any, ...] | None = None
        self._form: Form | None = None
        self._last: tuple[tuple[str, list[float]], _Checked[T]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_skeleton": None, "_form": None, "_last": None}

    def resolved(self, theta: Tensor) -> tuple[Form, Tensor]:
        """The tree's form, and its parameters ``*p x q``.

        Raises:
            ProgramRefused: when the tree breaks a rule, naming the path.
            InputError: when rows of a parameter batch have different structures.
        """
        answers = [self._row(row) for row in rows_of(theta)]
        tree = answers[0][0]
        if any(other.skeleton != tree.skeleton for other, _ in answers[1:]):
            raise InputError("Expected one tree structure for all rows of a parameter batch. Got different ones.")
        if self._form is None or tree.skeleton != self._skeleton:
            if self._form is not None:
                self._form.close()
            self._form, self._skeleton = self._assemble(tree.node), tree.skeleton
        if theta.dim() == 1:
            return self._form, answers[0][1]
        numbers = torch.stack([own for _, own in answers])
        return self._form, numbers.reshape(*theta.shape[:-1], numbers.shape[-1])

    def _row(self, row: Tensor) -> tuple[_Checked[T], Tensor]:
        """The tree at one parameter row, and its numbers as a function of that row."""
        structure, values = self.component.tree(row)
        tree = self._checked(structure, values.tolist())
        numbers = tree.numbers.to(row.device)
        if len(values):
            numbers = torch.where(tree.places >= 0, values[tree.places.clamp_min(0)], numbers)
        if row.requires_grad and torch.is_grad_enabled() and (tree.detached or not self.component.differentiable):
            numbers = _NotDifferentiable.apply(numbers, row, self.component.program)
        return tree, numbers

    def _checked(self, structure: str, values: list[float]) -> _Checked[T]:
        """Read and check a tree; the last one is kept."""
        if self._last is not None and self._last[0] == (structure, values):
            return self._last[1]
        reader = NumberReader(values)
        try:
            node = self._read(json.loads(structure), reader)
        except (ValueError, RecursionError) as error:
            entry = self.component.program.rules.entry_point
            raise ProgramRefused(f"Expected {entry} to return a tree of JSON values. Got: {error}.") from error
        numbers = torch.tensor(node.numbers(), dtype=torch.float64)
        places = torch.tensor(reader.references, dtype=torch.long)
        tree = _Checked(node, node.skeleton(), numbers, places, reader.detached)
        self._last = ((structure, values), tree)
        return tree

    def embed(self, x: Tensor, theta: Tensor) -> Embedding:
        """The tree's embedding."""
        form, own = self.resolved(theta)
        return form.embed(x, own)

    def cross(self, a: Embedding, b: Embedding, theta: Tensor) -> Tensor:
        """The tree's covariances."""
        form, own = self.resolved(theta)
        return form.cross(a, b, own)

    def diagonal(self, a: Embedding, theta: Tensor) -> Tensor:
        """The tree's variances."""
        form, own = self.resolved(theta)
        return form.diagonal(a, own)

    def features(self, x: Tensor, theta: Tensor) -> Tensor:
        """The tree's features."""
        form, own = self.resolved(theta)
        return form.features(x, own)

    def arity(self, theta: Tensor) -> int:
        """The tree's."""
        form, own = self.resolved(theta)
        return form.arity(own)

    def low_rank(self, theta: Tensor) -> bool:
        """Whether the tree is."""
        form, own = self.resolved(theta)
        return form.low_rank(own)

    def stationary(self, theta: Tensor) -> bool:
        """Whether the tree is."""
        form, own = self.resolved(theta)
        return form.stationary(own)

    def tasks(self, theta: Tensor, dimension: int) -> Tasks:
        """The tree's."""
        form, own = self.resolved(theta)
        return form.tasks(own, dimension)

    def parts(self) -> Iterator[Form]:
        """The tree's form, once there is one."""
        if self._form is not None:
            yield self._form

    def close(self) -> None:
        """End the child and those of program leaves."""
        self.component.close()
        super().close()


class _NotDifferentiable(torch.autograd.Function):
    """Passes numbers on, and says so when their gradient is asked for, which no one can give."""

    @staticmethod
    def forward(ctx: Any, numbers: Tensor, row: Tensor, program: KernelProgram) -> Tensor:
        ctx.name = program.name
        ctx.kind = "closure tree" if program.contract == "closure" else program.rules.entry_point
        return numbers.clone()

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor | None, ...]:
        raise InputError(
            f"Expected a differentiable {ctx.kind}. Got {ctx.name}, whose numbers cannot be traced to its parameters.",
            hint="Import torch, and pass float parameters on as they are: as weights, leaf parameters, matrix entries or "
            "top-level parameters of inline candidates.",
        )
