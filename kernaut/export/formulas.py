"""Kernels in array code that NumPy and torch both run; exported modules carry the source text of the functions they use.

Everything takes ``... x n x d`` and ``... x m x d`` points and gives ``... x n x m`` covariances.  An exported module sets ``xp`` to its array library, and
``array_like`` and ``joined`` to what makes and joins arrays of it; here all are NumPy's.  Formulas as in :data:`kernaut.program.leaves.LEAF_KINDS`; the library proper is
:mod:`kernaut.kernels`, which these are tested against.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy as xp


def array_like(values: Any, x: Any) -> Any:
    """Numbers as a float64 array beside ``x``."""
    return np.asarray(values, dtype=np.float64)


def joined(*parts: Any) -> Any:
    """Columns side by side."""
    return np.concatenate(parts, axis=-1)


def differences(x: Any, z: Any) -> Any:
    """Every point of ``x`` minus every point of ``z``, ``... x n x m x d``."""
    return x[..., :, None, :] - z[..., None, :, :]


def distances(x: Any, z: Any) -> Any:
    """Euclidean distances, with a gradient of 0 where points coincide."""
    squares = (differences(x, z) ** 2).sum(-1)
    apart = squares > 0.0
    return xp.where(apart, xp.sqrt(xp.where(apart, squares, 1.0)), 0.0)


def scaled(x: Any, lengthscale: Any) -> Any:
    """Points in lengthscales: one for all coordinates, one a coordinate, or the ends of a geometric ramp."""
    if isinstance(lengthscale, dict):
        low, high, last = math.log(lengthscale["min"]), math.log(lengthscale["max"]), max(x.shape[-1] - 1, 1)
        lengthscale = [math.exp(low + (high - low) * place / last) for place in range(x.shape[-1])]
    return x / array_like(lengthscale, x)


def rbf(x: Any, z: Any, variance: float, lengthscale: Any) -> Any:
    """exp(-r^2/2)."""
    return variance * xp.exp(-0.5 * (differences(scaled(x, lengthscale), scaled(z, lengthscale)) ** 2).sum(-1))


def matern12(x: Any, z: Any, variance: float, lengthscale: Any) -> Any:
    """exp(-r)."""
    return variance * xp.exp(-distances(scaled(x, lengthscale), scaled(z, lengthscale)))


def matern32(x: Any, z: Any, variance: float, lengthscale: Any) -> Any:
    """(1 + sqrt(3) r) exp(-sqrt(3) r)."""
    r = math.sqrt(3.0) * distances(scaled(x, lengthscale), scaled(z, lengthscale))
    return variance * (1.0 + r) * xp.exp(-r)


def matern52(x: Any, z: Any, variance: float, lengthscale: Any) -> Any:
    """(1 + sqrt(5) r + 5 r^2/3) exp(-sqrt(5) r)."""
    r = math.sqrt(5.0) * distances(scaled(x, lengthscale), scaled(z, lengthscale))
    return variance * (1.0 + r + r**2 / 3.0) * xp.exp(-r)


def rq(x: Any, z: Any, variance: float, lengthscale: float, alpha: float) -> Any:
    """(1 + r^2/(2 alpha))^-alpha."""
    squares = (differences(x, z) ** 2).sum(-1) / lengthscale**2
    return variance * xp.exp(-alpha * xp.log1p(squares / (2.0 * alpha)))


def periodic(x: Any, z: Any, variance: float, lengthscale: float, period: float) -> Any:
    """prod_i exp(-2 sin^2(pi (x_i - z_i)/period)/lengthscale^2)."""
    waves = xp.sin(differences(x, z) * (math.pi / period)) ** 2
    return variance * xp.exp(-2.0 / lengthscale**2 * waves.sum(-1))


def cosine(x: Any, z: Any, variance: float, lengthscale: float, period: float) -> Any:
    """prod_i cos(pi (x_i - z_i)/(period lengthscale))."""
    return variance * xp.cos(differences(x, z) * (math.pi / (period * lengthscale))).prod(-1)


def linear(x: Any, z: Any, variance: float, lengthscale: float) -> Any:
    """X . z / lengthscale^2."""
    return variance / lengthscale**2 * (x @ z.mT)


def polynomial(x: Any, z: Any, variance: float, lengthscale: float, offset: float, power: int) -> Any:
    """(x . z / lengthscale^2 + offset)^power."""
    return variance * ((x @ z.mT) / lengthscale**2 + offset) ** power


def piecewise_polynomial(
    x: Any, z: Any, variance: float, lengthscale: float, q: int, dimension: int | None = None
) -> Any:
    """Wendland's polynomial of smoothness q, zero beyond r = 1."""
    r = distances(x / lengthscale, z / lengthscale)
    j = (dimension or x.shape[-1]) // 2 + q + 1
    shape = xp.ones_like(r)
    if q == 1:
        shape = 1.0 + (j + 1) * r
    elif q == 2:
        shape = 1.0 + (j + 2) * r + (j**2 + 4 * j + 3) / 3.0 * r**2
    elif q == 3:
        shape = (
            1.0 + (j + 3) * r + (6 * j**2 + 36 * j + 45) / 15.0 * r**2 + (j**3 + 9 * j**2 + 23 * j + 15) / 15.0 * r**3
        )
    return variance * xp.where(r < 1.0, 1.0 - r, 0.0) ** (j + q) * shape


def spectral_mixture(
    x: Any, z: Any, variance: float, lengthscale: float, weights: list[float], means: list[Any], scales: list[Any]
) -> Any:
    """sum_q weight_q prod_i exp(-2 pi^2 scale_qi^2 t_i^2) cos(2 pi mean_qi t_i)."""
    t = differences(x, z) / lengthscale
    total = 0.0
    for weight, mean, scale in zip(weights, means, scales, strict=True):
        decay = xp.exp(-2.0 * math.pi**2 * ((t * array_like(scale, x)) ** 2).sum(-1))
        total = total + weight * decay * xp.cos(2.0 * math.pi * t * array_like(mean, x)).prod(-1)
    return variance * total


def rff(
    x: Any,
    z: Any,
    variance: float,
    lengthscale: float,
    features: int = 0,
    seed: int = 0,
    omega: Any = None,
    bias: Any = None,
) -> Any:
    """phi(x) . phi(z), phi_j(x) = sqrt(2/m) cos(omega_j . x / lengthscale + bias_j)."""
    if omega is None:
        generator = np.random.default_rng(seed)
        omega = generator.standard_normal((features, x.shape[-1]))
        bias = generator.uniform(0.0, 2.0 * math.pi, features)
    omega, bias = array_like(omega, x), array_like(bias, x)
    left, right = (xp.cos((points / lengthscale) @ omega.mT + bias) for points in (x, z))
    return variance * (2.0 / len(bias)) * (left @ right.mT)


def state_space(
    x: Any,
    z: Any,
    feedback: list[list[float]],
    left: list[float],
    right: list[float],
    width: float,
    coordinate: Any = None,
) -> Any:
    """k(0) prod_i k(|x_i - z_i|)/k(0) for k(t) = left exp(feedback t) right, by Taylor's series around knots."""
    if coordinate is not None:
        x, z = x[..., coordinate, None], z[..., coordinate, None]
    steps = xp.abs(differences(x, z)) / width
    move = array_like(feedback, x) * width
    power = one = xp.eye(len(left), dtype=xp.float64)
    for order in range(24, 0, -1):
        power = one + move @ power / order
    rows, gone, reach = array_like(left, x)[:, None], False, 0.0 if 0 in steps.shape else steps.max().item()
    while rows.shape[-1] <= reach + 1.0 and not gone:
        if rows.shape[-1] >= 2**18:
            raise ValueError("Expected fast and slow states closer together, or inputs in another unit.")
        rows = joined(rows, power.T @ rows)
        power = power @ power
        gone = xp.abs(power).max().item() < 1e-20
    rows = joined(rows, 0.0 * rows[:, :1]) if gone else rows
    column, pieces = array_like(right, x), []
    for order in range(1, 17):
        pieces.append(column @ rows)
        column = move @ column / order
    place = xp.searchsorted(xp.arange(rows.shape[-1] - 1, dtype=xp.float64) + 0.5, steps)  # the nearest knot
    away = xp.clip(steps - place, -1.0, 1.0)
    value = pieces[-1][place]
    for piece in reversed(pieces[:-1]):
        value = value * away + piece[place]
    return pieces[0][0] * (value / pieces[0][0]).prod(-1)


def coregionalized(kernel: Any, x: Any, z: Any, covariance: list[list[float]], column: int, values: list[float]) -> Any:
    """covariance_ij kernel(x, z) for points of the tasks i and j, which one column names."""
    i, j = task(x, column, values), task(z, column, values)
    place = column % x.shape[-1]
    x, z = (joined(points[..., :place], points[..., place + 1 :]) for points in (x, z))
    return array_like(covariance, x)[i[..., :, None], j[..., None, :]] * kernel(x, z)


def task(x: Any, column: int, values: list[float]) -> Any:
    """The number of each point's task."""
    gaps = xp.abs(x[..., column, None] - array_like(values, x))
    if not bool((xp.amin(gaps, -1) <= 1e-6).all()):
        raise ValueError(f"Expected column {column} to hold one of {values}, which name tasks. Got something else.")
    return gaps.argmin(-1)
