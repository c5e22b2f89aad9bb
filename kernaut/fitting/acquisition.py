"""Expected improvement of a maximization, analytic.

Reference: Jones, Schonlau and Welch (1998), equation 15.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Array = NDArray[np.float64]


def expected_improvement(mean: Array, sd: Array, best: Array) -> Array:
    """``E max(Y - best, 0)`` for ``Y ~ N(mean, sd^2)``, marginal.

    ``sd (z Phi(z) + phi(z))`` with ``z = (mean - best) / sd``; ``Phi`` keeps its relative accuracy in the far tail, so that poor candidates are still ranked.
    ``argmax`` of the result takes the first of equal candidates.

    Args:
        mean: ``... x m`` predictive means.
        sd: ``... x m`` predictive standard deviations, above 0.
        best: ``...`` the best value observed so far.

    Returns:
        ``... x m`` expected improvements, at least 0.
    """
    z = (mean - best[..., None]) / sd
    density = np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
    return np.asarray(np.maximum(sd * (z * ndtr(z) + density), 0.0))
