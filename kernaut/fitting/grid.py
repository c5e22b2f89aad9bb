"""Amplitude and noise on a grid of sixteen, from one symmetric eigendecomposition for each episode.

The model is ``y = f + e`` with ``f ~ GP(0, a k)`` and ``e ~ N(0, s)``; the kernel and its own parameters stay frozen.  With ``K = V diag(w) V'`` every grid
point's matrix ``a K + s I`` has the eigenvalues ``a w + s``, which gives all log marginal likelihoods, predictions and the condition number.
Without gradient: for that see :mod:`kernaut.fitting.objective`.

Shapes: ``E`` episodes, ``n`` fitting and ``q`` query points.  Reference: Rasmussen and Williams (2006), equations 2.25, 2.26 and 5.8.

Measured on one core for ten 12 x 12 to 24 x 24 float64 matrices: batched ``eigh`` of torch takes 0.20 to 0.77 ms, of NumPy 0.23 to 0.90 ms, of SciPy one by one
0.74 to 1.45 ms.  Everything else is small and faster in NumPy (0.3 ms a group) than in torch (0.9 ms).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

AMPLITUDES = (0.1, 0.3, 1.0, 3.0)
NOISES = (1e-4, 1e-3, 1e-2, 1e-1)
GRID: tuple[tuple[float, float], ...] = tuple((a, s) for a in AMPLITUDES for s in NOISES)
"""Pairs of signal variance and noise variance, amplitude outermost; on a tie of likelihoods the first wins."""
VARIANCE_FLOOR = 1e-10
NOT_DEFINITE = "the fitting Gram matrix is not finite, or not positive definite at any grid point"
NOT_FINITE = "a prediction is not finite"

_GRID = np.array(GRID)
_EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class GridFit:
    """The grid point of largest marginal likelihood of each episode, and the eigendecomposition behind it.

    Args:
        amplitude: ``E`` signal variances.
        noise: ``E`` noise variances.
        log_likelihood: ``E x 16``, in the order of :data:`GRID`; -inf where the matrix is not positive definite.
        chosen: ``E`` indices into :data:`GRID`.
        failed: ``E`` flags: no grid point has a positive definite matrix.
        eigenvalues: ``E x n`` of the symmetrized Gram matrix, without amplitude and noise.
        eigenvectors: ``E x n x n``, in columns.
        projected: ``E x n`` targets in the eigenvectors' coordinates.
    """

    amplitude: Array
    noise: Array
    log_likelihood: Array
    chosen: NDArray[np.int64]
    failed: Flags
    eigenvalues: Array
    eigenvectors: Array
    projected: Array

    @property
    def best_log_likelihood(self) -> Array:
        """``E`` log marginal likelihoods at the chosen grid points [nats]."""
        return self.log_likelihood[np.arange(len(self.chosen)), self.chosen]

    @cached_property
    def spectrum(self) -> Array:
        """``E x n`` eigenvalues of ``a K + s I`` at the chosen grid points (1 where the fit failed)."""
        spectrum = self.amplitude[:, None] * self.eigenvalues + self.noise[:, None]
        return np.where(self.failed[:, None], 1.0, spectrum) if self.failed.any() else spectrum

    def condition(self) -> Array:
        """``E`` condition numbers in the 1-norm of ``a K + s I`` at the chosen grid points."""
        transposed = self.eigenvectors.swapaxes(-1, -2)
        matrix = (self.eigenvectors * self.spectrum[:, None, :]) @ transposed
        inverse = (self.eigenvectors / self.spectrum[:, None, :]) @ transposed
        return np.asarray(np.abs(matrix).sum(-2).max(-1) * np.abs(inverse).sum(-2).max(-1))


def fit_grid(gram: Array, targets: Array) -> GridFit:
    """Fit amplitude and noise of each episode by its marginal likelihood.

    A grid point whose matrix is not positive definite to working precision (smallest eigenvalue at most machine epsilon times the largest) is skipped.

    Args:
        gram: ``E x n x n`` fitting Gram matrices; symmetrized here.
        targets: ``E x n`` standardized fitting targets.

    Returns:
        The fit; episodes with a Gram matrix that is not finite or never positive definite are flagged in ``failed``.
    """
    gram = 0.5 * (gram + gram.swapaxes(-1, -2))
    finite = np.asarray(np.isfinite(gram).all(axis=(-1, -2)))
    if not finite.all():
        gram = np.where(finite[:, None, None], gram, np.eye(gram.shape[-1]))
    eigenvalues, eigenvectors = _eigh(gram, finite)
    projected = (targets[:, None, :] @ eigenvectors)[:, 0]
    spectra = _GRID[:, 0, None] * eigenvalues[:, None, :] + _GRID[:, 1, None]
    definite = np.asarray((spectra[..., 0] > _EPSILON * spectra[..., -1]) & finite[:, None])
    if not definite.all():
        spectra = np.where(definite[..., None], spectra, 1.0)
    misfit = (np.reciprocal(spectra) @ (projected**2)[..., None])[..., 0]
    constant = targets.shape[-1] * math.log(2.0 * math.pi)
    log_likelihood = -0.5 * (misfit + np.log(spectra).sum(-1) + constant)
    if not definite.all():
        log_likelihood = np.where(definite, log_likelihood, -np.inf)
    chosen = log_likelihood.argmax(-1)
    return GridFit(
        amplitude=_GRID[chosen, 0],
        noise=_GRID[chosen, 1],
        log_likelihood=log_likelihood,
        chosen=chosen,
        failed=np.asarray(~definite.any(-1)),
        eigenvalues=eigenvalues,
        eigenvectors=eigenvectors,
        projected=projected,
    )


def _eigh(gram: Array, finite: Flags) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors; a matrix on which LAPACK does not converge is unflagged in ``finite`` and stands for the identity."""
    try:
        values, vectors = torch.linalg.eigh(torch.from_numpy(gram))
        return values.numpy(), vectors.numpy()
    except torch.linalg.LinAlgError:  # type: ignore[attr-defined]
        if len(gram) == 1:
            finite[0] = False
            return np.ones(gram.shape[:2]), np.eye(gram.shape[-1])[None]
    parts = [_eigh(gram[place : place + 1], finite[place : place + 1]) for place in range(len(gram))]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def predict(fit: GridFit, query_fit: Array, query_variance: Array) -> tuple[Array, Array]:
    """Predictive mean and variance of *observations* at query points, each by itself (marginal).

    Args:
        fit: of the fitting points.
        query_fit: ``E x q x n`` kernel values between query and fitting points, without amplitude.
        query_variance: ``E x q`` kernel values of each query point with itself, without amplitude.

    Returns:
        Means and variances, ``E x q`` each; variances hold the noise and are at least 1e-10.
    """
    inverse = np.reciprocal(fit.spectrum)
    rotated = query_fit @ fit.eigenvectors
    amplitude = fit.amplitude[:, None]
    mean = amplitude * (rotated @ (fit.projected * inverse)[..., None])[..., 0]
    explained = amplitude**2 * (rotated**2 @ inverse[..., None])[..., 0]
    variance = amplitude * query_variance + fit.noise[:, None] - explained
    return mean, np.maximum(variance, VARIANCE_FLOOR)
