"""Sums, products, scalings and pullbacks of forms, and a form some of whose parameters are fixed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from kernaut.errors import InputError
from kernaut.kernels.form import Embedding, Form, Tasks, broadcast, column, root, rows_of


class Composite(Form):
    """Children beside each other: their parameters and embeddings are concatenated."""

    def __init__(self, children: Sequence[Form]) -> None:
        self.children = tuple(children)
        self.size = sum(child.size for child in self.children)

    def parts(self) -> Iterator[Form]:
        """The children."""
        return iter(self.children)

    def slices(self, theta: Tensor) -> list[tuple[Form, Tensor]]:
        """Each child with its parameters."""
        pieces = theta.split([child.size for child in self.children], dim=-1)
        return list(zip(self.children, pieces, strict=True))

    def embed(self, x: Tensor, theta: Tensor) -> Embedding:
        """The children's embeddings, one after the other."""
        return tuple(tensor for child, own in self.slices(theta) for tensor in child.embed(x, own))

    def arity(self, theta: Tensor) -> int:
        """The sum of the children's."""
        return sum(child.arity(own) for child, own in self.slices(theta))

    def stationary(self, theta: Tensor) -> bool:
        """Whether all children are."""
        return all(child.stationary(own) for child, own in self.slices(theta))

    def tasks(self, theta: Tensor, dimension: int) -> Tasks:
        """The children's; of one column, what all of them take."""
        found: Tasks = {}
        for child, own in self.slices(theta):
            for place, values in child.tasks(own, dimension).items():
                found[place] = tuple(value for value in found.get(place, values) if value in values)
        return found

    def crosses(self, a: Embedding, b: Embedding, theta: Tensor) -> list[Tensor]:
        """Each child's covariances."""
        found, start = [], 0
        for child, own in self.slices(theta):
            end = start + child.arity(own)
            found.append(child.cross(a[start:end], b[start:end], own))
            start = end
        return found

    def diagonals(self, a: Embedding, theta: Tensor) -> list[Tensor]:
        """Each child's variances."""
        found, start = [], 0
        for child, own in self.slices(theta):
            end = start + child.arity(own)
            found.append(child.diagonal(a[start:end], own))
            start = end
        return found


class SumForm(Composite):
    """k(x, z) = sum of the children; of finite rank when all of them are."""

    def cross(self, a: Embedding, b: Embedding, theta: Tensor) -> Tensor:
        """The sum of the children's covariances."""
        first, *others = self.crosses(a, b, theta)
        for other in others:
            first = first + other
        return first

    def diagonal(self, a: Embedding, theta: Tensor) -> Tensor:
        """The sum of the children's variances."""
        first, *others = self.diagonals(a, theta)
        for other in others:
            first = first + other
        return first

    def low_rank(self, theta: Tensor) -> bool:
        """Whether all children are."""
        return all(child.low_rank(own) for child, own in self.slices(theta))

    def features(self, x: Tensor, theta: Tensor) -> Tensor:
        """The children's features beside each other."""
        parts = [child.features(x, own) for child, own in self.slices(theta)]
        batch = broadcast(*(part.shape[:-1] for part in parts))
        return torch.cat([part.expand(*batch, part.shape[-1]) for part in parts], dim=-1)


class ProductForm(Composite):
    """k(x, z) = product of the children (Schur)."""

    def cross(self, a: Embedding, b: Embedding, theta: Tensor) -> Tensor:
        """The product of the children's covariances."""
        first, *others = self.crosses(a, b, theta)
        for other in others:
            first = first * other
        return first

    def diagonal(self, a: Embedding, theta: Tensor) -> Tensor:
        """The product of the children's variances."""
        first, *others = self.diagonals(a, theta)
        for other in others:
            first = first * other
        return first


class Wrapper(Form):
    """One child and ``own`` parameters before the child's."""

    def __init__(self, own: int, child: Form) -> None:
        self.own = own
        self.child = child
        self.size = own + child.size

    def parts(self) -> Iterator[Form]:
        """The child."""
        yield self.child

    def arity(self, theta: Tensor) -> int:
        """The child's."""
        return self.child.arity(theta[..., self.own :])

    def low_rank(self, theta: Tensor) -> bool:
        """Whether the child is."""
        return self.child.low_rank(theta[..., self.own :])

    def stationary(self, theta: Tensor) -> bool:
        """Whether the child is."""
        return self.child.stationary(theta[..., self.own :])

    def tasks(self, theta: Tensor, dimension: int) -> Tasks:
        """The child's."""
        return self.child.tasks(theta[..., self.own :], dimension)

    def cross(self, a: Embedding, b: Embedding, theta: Tensor) -> Tensor:
        """The child's covariances."""
        return self.child.cross(a, b, theta[..., self.own :])

    def diagonal(self, a: Embedding, theta: Tensor) -> Tensor:
        """The child's variances."""
        return self.child.diagonal(a, theta[..., self.own :])


class ScaleForm(Wrapper):
    """k(x, z) = weight child(x, z)."""

    def __init__(self, child: Form) -> None:
        super().__init__(1, child)

    def embed(self, x: Tensor, theta: Tensor) -> Embedding:
        """The child's embedding."""
        return self.child.embed(x, theta[..., 1:])

    def cross(self, a: Embedding, b: Embedding, theta: Tensor) -> Tensor:
        """The child's covariances, scaled."""
        return column(theta[..., 0]) * super().cross(a, b, theta)

    def diagonal(self, a: Embedding, theta: Tensor) -> Tensor:
        """The child's variances, scaled."""
        return theta[..., :1] * super().diagonal(a, theta)

    def features(self, x: Tensor, theta: Tensor) -> Tensor:
        """The child's features, times the root of the weight."""
        return column(root(theta[..., 0])) * self.child.features(x, theta[..., 1:])


class PullbackForm(Wrapper):
    """k(x, z) = child(x M, z M) for a matrix M, d x q."""

    def __init__(self, shape: tuple[int, int], child: Form) -> None:
        super().__init__(shape[0] * shape[1], child)
        self.shape = shape

    def embed(self, x: Tensor, theta: Tensor) -> Embedding:
        """The child's embedding of the projected points."""
        return self.child.embed(self._project(x, theta), theta[..., self.own :])

    def features(self, x: Tensor, theta: Tensor) -> Tensor:
        """The child's features of the projected points."""
        return self.child.features(self._project(x, theta), theta[..., self.own :])

    def tasks(self, theta: Tensor, dimension: int) -> Tasks:
        """The child's, where the matrix hands a column on as it is."""
        matrix = rows_of(theta)[0, : self.own].reshape(self.shape).detach()
        found: Tasks = {}
        for place, values in self.child.tasks(theta[..., self.own :], self.shape[1]).items():
            (sources,) = matrix[:, place].nonzero(as_tuple=True)
            if len(sources) == 1 and float(matrix[sources[0], place]) == 1.0:
                found[int(sources[0])] = values
        return found

    def _project(self, x: Tensor, theta: Tensor) -> Tensor:
        if x.shape[-1] != self.shape[0]:
            raise InputError(f"Expected points of {self.shape[0]} coordinates, the matrix's rows. Got {x.shape[-1]}.")
        return x @ theta[..., : self.own].unflatten(-1, self.shape)
