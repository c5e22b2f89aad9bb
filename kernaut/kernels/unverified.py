"""Unverified programs: the program's own matrix, for diagnostics only (contract ``unverified``); never accepted.

Nothing guarantees symmetry, positive semi-definiteness, or that entries depend on their own two points alone.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kernaut.errors import SandboxFailure
from kernaut.kernels.component import Component
from kernaut.kernels.form import Embedding, Form, broadcast, rows_of


class Unverified(Form):
    """Blocks of a program's matrix on all points that are asked about.

    Args:
        component: a ``kernel_matrix`` program, ``N x d -> N x N``.
    """

    def __init__(self, component: Component) -> None:
        self.component = component
        self.size = len(component.names)

    def embed(self, x: Tensor, theta: Tensor) -> Embedding:
        """The points themselves."""
        return (x,)

    def cross(self, a: Embedding, b: Embedding, theta: Tensor) -> Tensor:
        """The block of the matrix on the points of ``a`` and ``b`` together (on ``a`` alone where they are equal)."""
        left, right = a[0], b[0]
        n = left.shape[-2]
        if left is right or (left.shape == right.shape and torch.equal(left, right)):
            return self._matrices(left, theta)
        batch = broadcast(left.shape[:-2], right.shape[:-2])
        both = torch.cat([side.expand(*batch, *side.shape[-2:]) for side in (left, right)], dim=-2)
        return self._matrices(both, theta)[..., :n, n:]

    def diagonal(self, a: Embedding, theta: Tensor) -> Tensor:
        """The diagonal of the matrix on the points."""
        return self._matrices(a[0], theta).diagonal(dim1=-2, dim2=-1)

    def close(self) -> None:
        """End the child."""
        self.component.close()

    def _matrices(self, x: Tensor, theta: Tensor) -> Tensor:
        """One request for each batch element: ``*bp x n x n``."""
        n = x.shape[-2]
        batch = broadcast(x.shape[:-2], theta.shape[:-1])
        points = x.expand(*batch, *x.shape[-2:]).reshape(-1, *x.shape[-2:])
        rows = rows_of(theta.expand(*batch, theta.shape[-1]))
        matrices = [self.component.call(one, row)[0] for one, row in zip(points, rows, strict=True)]
        for matrix in matrices:
            if matrix.shape != (n, n):
                raise SandboxFailure("failed", f"Expected a matrix of {n} x {n}. Got {tuple(matrix.shape)}.")
        return torch.stack(matrices).reshape(*batch, n, n)
