"""What one kernel says about functions, as numbers: covariances around a point, sweeps along coordinates, a spectrum, its nearest references.

The pictures of these are in :mod:`kernaut.report.kernel_pictures`.  All on the unit cube, at frozen parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from kernaut.errors import InputError
from kernaut.evaluation.references import fixed_grid
from kernaut.fitting.embedding import EmbeddedKernel, rows
from kernaut.kernels.inspection import with_tasks
from kernaut.search.novelty import Fingerprint, distance, fingerprint

Array = NDArray[np.float64]

STATIONARY = 1e-6
"""Largest relative difference of k(x, x + h) between places x that counts as none."""
REACH = 8.0
"""How far the covariance is followed for a spectrum [input units]."""
MAX_FREQUENCY = 8.0


def coordinate_line(dimension: int, coordinate: int = 0, count: int = 120, through: Array | None = None) -> Array:
    """Points along one coordinate from 0 to 1.

    Args:
        dimension: d.
        coordinate: the one that varies.
        count: n.
        through: the other coordinates' values, ``d``; 0.5 each if absent.

    Returns:
        ``n x d``.
    """
    points = np.tile(np.full(dimension, 0.5) if through is None else through, (count, 1)).astype(np.float64)
    points[:, coordinate] = np.linspace(0.0, 1.0, count)
    return points


def square_grid(dimension: int, side: int) -> Array:
    """A grid over the first two coordinates (the only one twice in one dimension is refused), the others at 0.5.

    Returns:
        ``side^2 x d``, the first coordinate outermost.

    Raises:
        InputError: in fewer than two dimensions.
    """
    if dimension < 2:
        raise InputError(f"Expected at least 2 input dimensions for a map. Got {dimension}.")
    axis = np.linspace(0.0, 1.0, side)
    points = np.full((side * side, dimension), 0.5)
    points[:, :2] = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    return points


@torch.no_grad()
def covariance(kernel: EmbeddedKernel, points: Array, others: Array | None = None) -> Array:
    """Covariances of points, ``n x n``, or with others, ``n x m``; a column that names tasks is cut into equal parts, one a task.

    Raises:
        SandboxFailure: when the kernel's program gives no value there.
    """
    if others is None:
        embedding = kernel.embed(with_tasks(kernel, torch.tensor(points)))
        return np.asarray(kernel.cross(embedding, embedding).numpy())
    embedding = kernel.embed(with_tasks(kernel, torch.from_numpy(np.concatenate([points, others]))))
    first, second = rows(embedding, 0, len(points)), rows(embedding, len(points), len(points) + len(others))
    return np.asarray(kernel.cross(first, second).numpy())


def smallest_eigenvalue(gram: Array) -> float:
    """Of the symmetric part of a matrix; below -1e-8 no function has these covariances."""
    return float(np.linalg.eigvalsh(0.5 * (gram + gram.T))[0])


def sweeps(kernel: EmbeddedKernel, anchor: Array, count: int = 121) -> tuple[Array, Array]:
    """Covariance of an anchor with points that differ from it in one coordinate.

    Args:
        kernel: the kernel.
        anchor: ``d``.
        count: n.

    Returns:
        ``n`` values of the coordinate, and ``d x n`` covariances.

    Raises:
        SandboxFailure: when the kernel's program gives no value there.
    """
    dimension = len(anchor)
    lines = np.concatenate([coordinate_line(dimension, i, count, anchor) for i in range(dimension)])
    values = covariance(kernel, np.asarray(anchor)[None], lines)[0]
    return np.linspace(0.0, 1.0, count), values.reshape(dimension, count)


@dataclass(frozen=True)
class Influence:
    """How much each input matters to a kernel's prior: mean change of correlation along it.

    Args:
        mean: ``d`` mean absolute differences ``1 - correlation`` along each coordinate, over several anchors.
    """

    mean: tuple[float, ...]


def influence(kernel: EmbeddedKernel, dimension: int, anchors: int = 5) -> Influence:
    """Average over some anchors how much the correlation drops along each coordinate.

    Raises:
        SandboxFailure: when the kernel's program gives no value there.
    """
    rng = np.random.default_rng(0)
    drops = []
    for anchor in rng.uniform(0.1, 0.9, size=(anchors, dimension)):
        lines = np.concatenate([coordinate_line(dimension, i, 25, anchor) for i in range(dimension)])
        points = np.concatenate([anchor[None], lines])
        gram = covariance(kernel, points)
        scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
        correlation = gram[0, 1:] / (scale[0] * scale[1:])
        drops.append(np.abs(1.0 - correlation).reshape(dimension, 25).mean(-1))
    return Influence(tuple(float(value) for value in np.mean(drops, axis=0)))


def stationary_gap(kernel: EmbeddedKernel, dimension: int) -> float:
    """Largest relative difference of k(x, x + h) between two places x; 0 for a stationary kernel.

    Raises:
        SandboxFailure: when the kernel's program gives no value there.
    """
    rng = np.random.default_rng(1)
    steps = rng.uniform(-0.3, 0.3, size=(12, dimension))
    starts = rng.uniform(0.3, 0.7, size=(4, dimension))
    points = np.concatenate([starts, (starts[:, None] + steps).reshape(-1, dimension)])
    gram = covariance(kernel, points)
    pairs = np.stack([gram[i, 4 + 12 * i : 16 + 12 * i] for i in range(4)])
    scale = float(np.abs(np.diag(gram)).max()) or 1.0
    return float(np.abs(pairs - pairs[0]).max() / scale)


def spectrum(kernel: EmbeddedKernel, dimension: int, coordinate: int = 0, count: int = 1024) -> tuple[Array, Array]:
    """Spectral density of a stationary kernel along one coordinate, up to a constant.

    The cosine transform of k(h) for h up to 8, under a Hann window, so that narrow lines come out about 0.2 cycles wide.

    Returns:
        Frequencies [cycles a unit] and densities, largest 1.

    Raises:
        InputError: for a kernel that is not stationary.
        SandboxFailure: when the kernel's program gives no value there.
    """
    gap = stationary_gap(kernel, dimension)
    if gap > STATIONARY:
        raise InputError(
            f"Expected a stationary kernel for a spectrum. Got one whose k(x, x + h) differs by {gap:.2g} from place to place.",
            hint="See the covariance around a point instead.",
        )
    points = np.full((count, dimension), 0.5)
    points[:, coordinate] = 0.5 + np.linspace(0.0, REACH, count)
    values = covariance(kernel, points[:1], points)[0]
    lags = points[:, coordinate] - 0.5
    weights = np.cos(0.5 * np.pi * lags / REACH) ** 2
    frequencies = np.linspace(0.0, MAX_FREQUENCY, 400)
    density = np.cos(2.0 * np.pi * frequencies[:, None] * lags) @ (values * weights)
    density = np.maximum(density, 0.0)
    return frequencies, density / (density.max() or 1.0)


def nearest_references(kernel: EmbeddedKernel, count: int = 6) -> list[tuple[str, float]]:
    """Reference kernels by fingerprint distance, the nearest first.

    Raises:
        SandboxFailure: when the kernel's program gives no value in 2, 5 or 8 dimensions.
    """
    own = fingerprint(kernel)
    found = [(name, distance(own, other)) for name, other in _reference_fingerprints()]
    return sorted(found, key=lambda pair: (pair[1], pair[0]))[:count]


@lru_cache(maxsize=1)
def _reference_fingerprints() -> tuple[tuple[str, Fingerprint], ...]:
    return tuple((subject.name, fingerprint(subject.kernel())) for subject in fixed_grid())
