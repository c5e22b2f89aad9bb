"""What fitting asks of a kernel: embed points once, then form any covariance from the embeddings' rows.

An embedding is a tuple of tensors ``... x n x k``, everything the kernel needs to know of ``n`` points; cutting and gathering rows along the
second last axis is legal.  Expensive work (a sandboxed program) happens in ``embed`` alone.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

Embedding = tuple[Tensor, ...]


class EmbeddedKernel(Protocol):
    """A kernel that separates looking at points from comparing them; every Kernaut kernel is one."""

    def embed(self, x: Tensor) -> Embedding:
        """``... x n x d`` points to tensors ``... x n x k``."""
        ...

    def cross(self, a: Embedding, b: Embedding) -> Tensor:
        """Covariances of two embedded sets, ``... x n x m``."""
        ...

    def diagonal(self, a: Embedding) -> Tensor:
        """Prior variances of embedded points, ``... x n``."""
        ...


def rows(embedding: Embedding, start: int, stop: int) -> Embedding:
    """Rows ``start`` to ``stop`` of every part."""
    return tuple(part[..., start:stop, :] for part in embedding)


def gather(embedding: Embedding, index: Tensor) -> Embedding:
    """One row for each batch element: parts ``E x n x k`` and indices ``E`` to parts ``E x 1 x k``."""
    batch = torch.arange(index.shape[0])
    return tuple(part[batch, index][:, None, :] for part in embedding)


def append(embedding: Embedding, more: Embedding) -> Embedding:
    """Parts ``... x n x k`` and ``... x m x k`` to ``... x (n + m) x k``."""
    return tuple(torch.cat([part, other], dim=-2) for part, other in zip(embedding, more, strict=True))


def select(embedding: Embedding, index: Tensor) -> Embedding:
    """Some batch elements: parts ``E x n x k`` and indices ``F`` to parts ``F x n x k``."""
    return tuple(part[index] for part in embedding)
