"""Points that a kernel is verified on, stacked into two requests a dimension, and the five relations between their matrices.

A kernel made of a program that sees one point at a time must give equal covariances of equal points, whatever other points are asked about, in whatever order.

Shapes: 8 trials of 12 points of dimension ``d``; the relations use the first 2 trials.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernaut.fitting.embedding import EmbeddedKernel, Embedding
from kernaut.kernels.inspection import task_columns, with_tasks
from kernaut.seeds import generator

Array = NDArray[np.float64]

TRIALS = 8
POINTS = 12
RELATION_TRIALS = 2
SUBSET = 7
EXTENSION = 3
RELATIONS = ("determinism", "permutation", "subset", "extension", "duplicate")


@dataclass(frozen=True, eq=False)
class Probe:
    """Points of one input dimension.

    Args:
        points: ``8 x 12 x d`` draws from N(0, I).
        extra: ``2 x 3 x d`` further points.
        order: ``2 x 12`` permutations.
        kept: ``2 x 7`` places of a subset, ascending.
        doubled: ``2`` places of the point that is repeated.
    """

    points: Tensor
    extra: Tensor
    order: NDArray[np.int64]
    kept: NDArray[np.int64]
    doubled: NDArray[np.int64]

    @property
    def dimension(self) -> int:
        """Input dimension d."""
        return int(self.points.shape[-1])


def probe(seed: int, dimension: int) -> Probe:
    """Draw the points of one dimension from their own stream."""
    rng = generator("verification", seed, dimension)
    return Probe(
        points=torch.from_numpy(rng.standard_normal((TRIALS, POINTS, dimension))),
        extra=torch.from_numpy(rng.standard_normal((RELATION_TRIALS, EXTENSION, dimension))),
        order=np.stack([rng.permutation(POINTS) for _ in range(RELATION_TRIALS)]),
        kept=np.stack([np.sort(rng.choice(POINTS, SUBSET, replace=False)) for _ in range(RELATION_TRIALS)]),
        doubled=rng.integers(0, POINTS, RELATION_TRIALS),
    )


def with_task_columns(kernel: object, drawn: Probe) -> Probe:
    """The same draws, each of which chooses a task in a column of the kernel that names tasks.

    Raises:
        SandboxFailure: when the kernel's program gives no tree.
    """
    columns = list(task_columns(kernel, drawn.dimension))
    if not columns:
        return drawn
    points, extra = drawn.points.clone(), drawn.extra.clone()
    for part in (points, extra):
        part[..., columns] = with_tasks(kernel, torch.special.ndtr(part))[..., columns]
    return replace(drawn, points=points, extra=extra)


def trial_matrices(kernel: EmbeddedKernel, points: Tensor) -> Array:
    """Matrices ``8 x 12 x 12`` of the trials alone, from one request.

    Raises:
        SandboxFailure: when the kernel's program gives no value.
    """
    embedding = _shaped(kernel.embed(points.reshape(-1, points.shape[-1])), points.shape[:-1])
    return kernel.cross(embedding, embedding).numpy()


@dataclass(frozen=True, eq=False)
class StackedEmbedding:
    """Embeddings of all blocks of one request: ``T`` trials as they are, and two trials rearranged."""

    trials: Embedding
    permuted: Embedding
    subset: Embedding
    extended: Embedding
    duplicated: Embedding


def stacked_embedding(kernel: EmbeddedKernel, drawn: Probe) -> StackedEmbedding:
    """Embed the trials and their rearrangements in one request.

    Raises:
        SandboxFailure: when the kernel's program gives no value.
    """
    two = drawn.points[:RELATION_TRIALS]
    pick = torch.arange(RELATION_TRIALS)
    blocks = [
        drawn.points,
        two[pick[:, None], torch.from_numpy(drawn.order)],
        two[pick[:, None], torch.from_numpy(drawn.kept)],
        torch.cat([two, drawn.extra], dim=1),
        torch.cat([two, two[pick, torch.from_numpy(drawn.doubled)][:, None]], dim=1),
    ]
    whole = kernel.embed(torch.cat([block.reshape(-1, drawn.dimension) for block in blocks]))
    found, start = [], 0
    for block in blocks:
        count = block.shape[0] * block.shape[1]
        found.append(_shaped(tuple(part[start : start + count] for part in whole), block.shape[:-1]))
        start += count
    return StackedEmbedding(*found)


def relation_errors(
    kernel: EmbeddedKernel, drawn: Probe, stacked: StackedEmbedding, again: Callable[[Tensor], Array]
) -> dict[str, float]:
    """The largest error of each relation over the two trials.

    Args:
        kernel: the kernel that ``stacked`` came from.
        drawn: its points.
        stacked: their embeddings.
        again: matrices of ``2 x 12 x d`` points from a new execution.

    Raises:
        SandboxFailure: when the kernel's program gives no value in the new execution.
    """

    def matrices(embedding: Embedding) -> Array:
        return kernel.cross(embedding, embedding).numpy()

    base = matrices(stacked.trials)[:RELATION_TRIALS]
    pick = np.arange(RELATION_TRIALS)[:, None, None]
    places = np.concatenate([np.tile(np.arange(POINTS), (RELATION_TRIALS, 1)), drawn.doubled[:, None]], axis=1)
    pairs = {
        "determinism": (again(drawn.points[:RELATION_TRIALS]), base),
        "permutation": (matrices(stacked.permuted), _rearranged(base, pick, drawn.order)),
        "subset": (matrices(stacked.subset), _rearranged(base, pick, drawn.kept)),
        "extension": (matrices(stacked.extended)[:, :POINTS, :POINTS], base),
        "duplicate": (matrices(stacked.duplicated), _rearranged(base, pick, places)),
    }
    return {name: max(map(relative_error, *pair)) for name, pair in pairs.items()}


def relative_error(found: Array, expected: Array) -> float:
    """``max |found - expected| / max(max |expected|, 1)``."""
    return float(np.abs(found - expected).max() / max(float(np.abs(expected).max()), 1.0))


def _rearranged(base: Array, pick: NDArray[np.int64], places: NDArray[np.int64]) -> Array:
    """Rows and columns of each matrix at some places."""
    return np.asarray(base[pick, places[:, :, None], places[:, None, :]])


def _shaped(embedding: Embedding, shape: torch.Size) -> Embedding:
    """Parts ``N x k`` to ``*shape x k``."""
    return tuple(part.reshape(*shape, part.shape[-1]) for part in embedding)
