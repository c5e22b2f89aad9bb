"""Novelty of behaviour: how far a kernel's Gram matrices are from those of references and accepted programs.

A fingerprint is the centred Gram matrix of unit Frobenius norm on 16 fixed uniform points of [0,1]^d, for d in {2, 5, 8};
the distance of two fingerprints is the mean of the three Frobenius distances.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from kernaut.fitting.embedding import EmbeddedKernel
from kernaut.kernels.inspection import with_tasks
from kernaut.seeds import generator

DIMENSIONS = (2, 5, 8)
POINTS = 16
SMALLEST_NORM = 1e-12
BANDS = ((0.03, "duplicate"), (0.08, "near_reference"), (0.15, "distinct"))

Fingerprint = NDArray[np.float64]


@lru_cache(maxsize=1)
def fingerprint_points() -> tuple[torch.Tensor, ...]:
    """The fixed points, ``16 x d`` for each dimension."""
    return tuple(torch.from_numpy(generator("fingerprint", d).uniform(size=(POINTS, d))) for d in DIMENSIONS)


@torch.no_grad()
def fingerprint(kernel: EmbeddedKernel) -> Fingerprint:
    """Centred unit-norm Gram matrices, ``3 x 16 x 16``; a zero matrix where the centred norm is below 1e-12.

    Raises:
        SandboxFailure: when the kernel's program gives no value in one of the dimensions.
    """
    matrices = []
    for points in fingerprint_points():
        embedding = kernel.embed(with_tasks(kernel, points))
        matrices.append(_normalized(kernel.cross(embedding, embedding).numpy()))
    return np.stack(matrices)


def distance(first: Fingerprint, second: Fingerprint) -> float:
    """Mean over dimensions of the Frobenius distance."""
    return float(np.linalg.norm(first - second, axis=(-2, -1)).mean())


def nearest(found: Fingerprint, others: Iterable[tuple[str, Fingerprint]]) -> tuple[float, str]:
    """Smallest distance to any of the others, with its name (first on a tie).

    Raises:
        ValueError: when there are no others.
    """
    return min(((distance(found, other), name) for name, other in others), key=lambda pair: pair[0])


def band(value: float) -> str:
    """``duplicate``, ``near_reference``, ``distinct`` or ``strongly_distinct``."""
    return next((name for limit, name in BANDS if value < limit), "strongly_distinct")


def _normalized(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    centring = np.eye(len(gram)) - 1.0 / len(gram)
    centred = centring @ gram @ centring
    norm = float(np.linalg.norm(centred))
    return np.zeros_like(centred) if norm < SMALLEST_NORM else centred / norm
