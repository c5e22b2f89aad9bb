"""Regret of optimization runs that maximize an objective of known maximum.

Shapes: ``best`` is ``... x (T + 1)``, the best value found so far, first the best initial point, then after each of T steps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FLOOR = 1e-8
"""Smallest initial regret that is divided by."""


def regret_curve(best: Array, maximum: Array | float) -> Array:
    """Simple regret after each step as a share of the initial one: ``max(f* - best_t, 0) / max(f* - best_0, 1e-8)``.

    Args:
        best: ``... x (T + 1)`` running maxima.
        maximum: ``...`` the objective's maximum, f*.

    Returns:
        ``... x T`` normalized regrets r_1..r_T.
    """
    top = np.asarray(maximum, dtype=np.float64)[..., None]
    return np.asarray(np.maximum(top - best[..., 1:], 0.0) / np.maximum(top - best[..., :1], FLOOR))


def regret_auc(curve: Array) -> Array:
    """Mean of the normalized regrets over the steps: ``... x T`` to ``...``."""
    return np.asarray(curve.mean(axis=-1))


def final_regret(curve: Array) -> Array:
    """Normalized regret after the last step: ``... x T`` to ``...``."""
    return np.asarray(curve[..., -1])
