"""Choice and mixture of kernels on one episode, by marginal likelihood among the kernels that a rule keeps.

The mixture is a linear pool of Gaussians; its CRPS is closed form.  Reference: Grimit et al. (2006), "The continuous ranked probability score for circular variables ...", for
``CRPS = sum w_i A(y - m_i, s_i^2) - 1/2 sum w_i w_j A(m_i - m_j, s_i^2 + s_j^2)`` with ``A(m, v) = 2 s phi(m / s) + m (2 Phi(m / s) - 1)``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Array = NDArray[np.float64]


def mixture_crps(weights: Array, mean: Array, sd: Array, target: Array) -> Array:
    """CRPS of a mixture of Gaussians at each query point.

    Args:
        weights: ``S``, non-negative, sum 1.
        mean: ``S x q``.
        sd: ``S x q``, above 0.
        target: ``q``.

    Returns:
        ``q`` scores; lower is better.
    """
    used = weights > 1e-12
    w, m, s = weights[used], mean[used], sd[used]
    first = (w[:, None] * _absolute(target - m, s)).sum(0)
    spread = np.sqrt(s[:, None] ** 2 + s[None] ** 2)
    second = (w[:, None, None] * w[None, :, None] * _absolute(m[:, None] - m[None], spread)).sum((0, 1))
    return np.asarray(first - 0.5 * second)


def _absolute(mean: Array, sd: Array) -> Array:
    """Expected absolute value of a Gaussian."""
    z = mean / sd
    return np.asarray(2.0 * sd * np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi) + mean * (2.0 * ndtr(z) - 1.0))


def likelihood_weights(log_likelihood: Array, kept: NDArray[np.bool_], prior: Array | None = None) -> Array:
    """Weights proportional to prior times likelihood among the kept kernels (all, when none is kept).

    Args:
        log_likelihood: ``S``, -inf for failed fits.
        kept: ``S`` flags.
        prior: ``S`` weights known before the episode; equal if absent.

    Returns:
        ``S`` weights that sum to 1.
    """
    able = np.isfinite(log_likelihood)
    chosen = kept & able
    if not chosen.any():
        chosen = able if able.any() else np.ones_like(able)
    score = np.where(np.isfinite(log_likelihood), log_likelihood, -1e300)
    score = score + (0.0 if prior is None else np.log(np.maximum(prior, 1e-300)))
    score = np.where(chosen, score, -np.inf)
    weights = np.exp(score - score[chosen].max())
    return np.asarray(weights / weights.sum())
