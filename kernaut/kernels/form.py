"""Forms: the mathematics of a kernel, apart from where its parameters are stored.

A form maps points to embeddings and pairs of embeddings to covariances, given all its parameters as one vector ``theta``
(``*p x size``, float64), whose batch shape ``*p`` broadcasts against that of the points (``*b x n x d``).  Forms are immutable,
shared by copies, and nest: a sum gives each child its slice of ``theta``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, TypeAlias

import torch
from torch import Tensor

from kernaut.errors import InputError

Embedding: TypeAlias = tuple[Tensor, ...]
"""Everything a kernel needs of points: tensors of ``*b x n x k``, in which points can be cut or gathered along -2."""
Tasks: TypeAlias = dict[int, tuple[float, ...]]
"""Columns of the points that name tasks, and what they hold for each task."""


class Form(ABC):
    """A positive semi-definite function with ``size`` parameters."""

    size: int

    @abstractmethod
    def embed(self, x: Tensor, theta: Tensor) -> Embedding:
        """Embed points.

        Args:
            x: ``*b x n x d`` points, float64.
            theta: ``*p x size`` parameters.

        Returns:
            :meth:`arity` tensors of ``*bp x n x k``.
        """

    @abstractmethod
    def cross(self, a: Embedding, b: Embedding, theta: Tensor) -> Tensor:
        """Covariances ``*bp x n x m`` of n embedded points with m others."""

    @abstractmethod
    def diagonal(self, a: Embedding, theta: Tensor) -> Tensor:
        """Variances ``*bp x n`` of embedded points."""

    def features(self, x: Tensor, theta: Tensor) -> Tensor:
        """Feature vectors ``*bp x n x m`` whose inner products are the covariances.

        Raises:
            InputError: unless :meth:`low_rank`.
        """
        raise InputError(f"Expected a kernel of finite rank. Got {type(self).__name__}.", hint="Use cross instead.")

    def arity(self, theta: Tensor) -> int:
        """How many tensors an embedding has."""
        return 1

    def low_rank(self, theta: Tensor) -> bool:
        """Whether :meth:`features` exist."""
        return False

    def stationary(self, theta: Tensor) -> bool:
        """Whether the covariance depends on the difference of the points alone."""
        return False

    def tasks(self, theta: Tensor, dimension: int) -> Tasks:
        """Which of ``dimension`` columns take no other numbers than those that name tasks."""
        return {}

    def parts(self) -> Iterator[Form]:
        """The forms directly below."""
        return iter(())

    def close(self) -> None:
        """End the sandboxed children of this form and of those below."""
        for part in self.parts():
            part.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> Form:
        """Forms are immutable: a copy of a kernel shares them (and their sandboxed children)."""
        return self


class FeatureForm(Form):
    """A kernel of finite rank: the inner product of feature vectors, which are its embedding."""

    @abstractmethod
    def features(self, x: Tensor, theta: Tensor) -> Tensor:
        """Feature vectors ``*bp x n x m``."""

    def embed(self, x: Tensor, theta: Tensor) -> Embedding:
        """The feature vectors."""
        return (self.features(x, theta),)

    def cross(self, a: Embedding, b: Embedding, theta: Tensor) -> Tensor:
        """Inner products."""
        return a[0] @ b[0].mT

    def diagonal(self, a: Embedding, theta: Tensor) -> Tensor:
        """Squared norms."""
        return a[0].square().sum(-1)

    def low_rank(self, theta: Tensor) -> bool:
        """Always."""
        return True


def broadcast(first: torch.Size, *others: torch.Size) -> torch.Size:
    """:func:`torch.broadcast_shapes`, without its cost where there is nothing to broadcast."""
    shapes = [shape for shape in others if shape and shape != first]
    if not shapes:
        return first
    return shapes[0] if not first and len(shapes) == 1 else torch.broadcast_shapes(first, *shapes)


def column(value: Tensor) -> Tensor:
    """A ``*p`` tensor as ``*p x 1 x 1``, to multiply matrices with."""
    return value[..., None, None]


def root(value: Tensor) -> Tensor:
    """Square roots whose gradient at 0 is 0, not infinite (off by 1e-150 there)."""
    return value.clamp_min(1e-300).sqrt()


def distance(a: Tensor, b: Tensor) -> Tensor:
    """Euclidean distances ``*b x n x m`` by direct differences: exactly symmetric, exactly 0 where points coincide.

    The gradient at a distance of 0 is 0.  Direct differences cost little more than the expanded square at the sizes used here,
    and the latter is off by 6e-8 at coincident points, and by anything far from the origin.
    """
    return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")


def rows_of(theta: Tensor) -> Tensor:
    """``*p x size`` parameters as a list of rows, ``P x size`` (sizes of 0 included, unlike ``reshape(-1, size)``)."""
    return theta.reshape(math.prod(theta.shape[:-1]), theta.shape[-1])
