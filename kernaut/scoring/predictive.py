"""Scores of Gaussian predictions, all marginal: each query point is scored by itself, correlations play no part.

Shapes: ``mean``, ``sd`` and ``target`` are ``... x q`` float64 arrays of equal shape; element-wise scores return ``... x q``, the others
reduce the last axis to ``...``.  Lower is better, except for coverage, whose ideal is the level itself.

CRPS comes from the maintained ``scoringrules`` package, whose NumPy digits are those of the closed form.  Its torch back end is not used:
it takes ``sqrt(2)`` and ``sqrt(pi)`` in single precision (error 8e-8), so the differentiable form is written out here.

Reference: Gneiting and Raftery (2007), "Strictly proper scoring rules, prediction, and estimation", equation 21.
"""

from __future__ import annotations

import math

import numpy as np
import scoringrules
import torch
from numpy.typing import NDArray
from scipy.special import ndtri
from torch import Tensor

Array = NDArray[np.float64]

LEVEL = 0.95
"""Probability of the central interval behind coverage and width."""


def crps_gaussian(mean: Array, sd: Array, target: Array) -> Array:
    """Marginal continuous ranked probability score of a Gaussian, element by element.

    ``sd * (z (2 Phi(z) - 1) + 2 phi(z) - 1/sqrt(pi))`` with ``z = (target - mean) / sd``, in the units of the target.

    Args:
        mean: ``... x q`` predictive means.
        sd: ``... x q`` predictive standard deviations, above 0.
        target: ``... x q`` observed values.

    Returns:
        ``... x q`` scores.
    """
    return np.asarray(scoringrules.crps_normal(target, mean, sd, backend="numpy"), dtype=np.float64)


def crps_gaussian_tensor(mean: Tensor, sd: Tensor, target: Tensor) -> Tensor:
    """:func:`crps_gaussian` on tensors, differentiable in all three arguments.

    Args:
        mean: ``... x q`` predictive means.
        sd: ``... x q`` predictive standard deviations, above 0.
        target: ``... x q`` observed values.

    Returns:
        ``... x q`` scores.
    """
    z = (target - mean) / sd
    density = torch.exp(-0.5 * z.square()) / math.sqrt(2.0 * math.pi)
    return sd * (z * torch.erf(z / math.sqrt(2.0)) + 2.0 * density - 1.0 / math.sqrt(math.pi))


def nlpd_gaussian(mean: Array, sd: Array, target: Array) -> Array:
    """Marginal negative log predictive density of a Gaussian, element by element [nats].

    Args:
        mean: ``... x q`` predictive means.
        sd: ``... x q`` predictive standard deviations, above 0.
        target: ``... x q`` observed values.

    Returns:
        ``... x q`` scores.
    """
    z = (target - mean) / sd
    return np.asarray(0.5 * z**2 + np.log(sd) + 0.5 * math.log(2.0 * math.pi))


def rmse(mean: Array, target: Array) -> Array:
    """Marginal root mean squared error over the last axis, in the units of the target."""
    return np.asarray(np.sqrt(np.mean((target - mean) ** 2, axis=-1)))


def nmse(mean: Array, target: Array, variance: Array | float) -> Array:
    """Marginal mean squared error over the last axis, divided by a reference variance in the same squared units."""
    return np.asarray(np.mean((target - mean) ** 2, axis=-1) / variance)


def coverage(mean: Array, sd: Array, target: Array, level: float = LEVEL) -> Array:
    """Share of targets within the marginal central interval of the given probability, over the last axis."""
    return np.asarray(np.mean(np.abs(target - mean) <= _half_width(level) * sd, axis=-1))


def interval_width(sd: Array, level: float = LEVEL) -> Array:
    """Mean width of the marginal central interval over the last axis, in the units of the target."""
    return np.asarray(np.mean(2.0 * _half_width(level) * sd, axis=-1))


def predictive_scores(mean: Array, sd: Array, target: Array) -> dict[str, Array]:
    """All marginal scores, averaged over the query points.

    Args:
        mean: ``... x q`` predictive means.
        sd: ``... x q`` predictive standard deviations, above 0.
        target: ``... x q`` observed values.

    Returns:
        ``crps``, ``nlpd``, ``rmse``, ``coverage95`` and ``width95``, each ``...``.
    """
    return {
        "crps": crps_gaussian(mean, sd, target).mean(axis=-1),
        "nlpd": nlpd_gaussian(mean, sd, target).mean(axis=-1),
        "rmse": rmse(mean, target),
        "coverage95": coverage(mean, sd, target),
        "width95": interval_width(sd),
    }


def _half_width(level: float) -> float:
    return float(ndtri(0.5 + 0.5 * level))
