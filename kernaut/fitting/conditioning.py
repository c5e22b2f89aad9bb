"""Predictions that also condition on context observations: seen before the queries, but not part of the fit of amplitude and noise.

The posterior of context and query points given the fitting points comes from the fit's eigendecomposition; conditioning on the few context observations is then a small
solve, so that no second factorization of the fitting points is needed.

Shapes: ``E`` episodes, ``n`` fitting, ``c`` context and ``q`` query points.  Reference: Rasmussen and Williams (2006), equation A.6.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernaut.fitting.grid import VARIANCE_FLOOR, GridFit, predict

Array = NDArray[np.float64]


def predict_after(
    fit: GridFit, cross: Array, prior: Array, variances: Array, context_targets: Array
) -> tuple[Array, Array]:
    """Predictive mean and variance of observations at query points, each by itself, given fitting and context observations.

    Args:
        fit: of the fitting points.
        cross: ``E x (c + q) x n`` kernel values between context and query points, in this order, and fitting points, without amplitude.
        prior: ``E x c x (c + q)`` kernel values between context points and all of these, without amplitude.
        variances: ``E x (c + q)`` kernel values of each of these with itself, without amplitude.
        context_targets: ``E x c``, standardized as the fitting targets are.

    Returns:
        Means and variances, ``E x q`` each; variances hold the noise and are at least 1e-10.
    """
    count = context_targets.shape[-1]
    mean, variance = predict(fit, cross, variances)
    if count == 0:
        return mean, variance
    rotated = cross @ fit.eigenvectors
    amplitude = fit.amplitude[:, None, None]
    explained = (rotated[:, :count] / fit.spectrum[:, None, :]) @ rotated.swapaxes(-1, -2)
    joint = amplitude * prior - amplitude**2 * explained
    within = joint[:, :, :count] + fit.noise[:, None, None] * np.eye(count)
    residual = (context_targets - mean[:, :count])[..., None]
    solved = np.linalg.solve(within, np.concatenate([joint[:, :, count:], residual], axis=-1))
    gain, weight = solved[..., :-1], solved[..., -1:]
    later = joint[:, :, count:]
    mean = mean[:, count:] + (later.swapaxes(-1, -2) @ weight)[..., 0]
    return mean, np.maximum(variance[:, count:] - (later * gain).sum(-2), VARIANCE_FLOOR)
