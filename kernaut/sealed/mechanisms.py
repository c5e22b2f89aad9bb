"""The stated mechanisms of the built-in families: public formulas, used by the families to judge and by policies to plan.

Nothing here is hidden; hidden are the signal, the perturbation and the labels that go in.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from kernaut.errors import InputError

Array = NDArray[np.float64]


@cache
def haar_matrix(length: int) -> Array:
    """Matrix of the orthonormal Haar transform, which maps a signal to its coefficients, coarsest first.

    Args:
        length: d, a power of two.

    Returns:
        ``d x d``, with ``H H' = I`` (Haar, 1910; Mallat, 1989).

    Raises:
        InputError: when the length is no power of two.
    """
    if length < 1 or length & (length - 1):
        raise InputError(f"Expected a power of two as the length of a Haar transform. Got {length}.")
    if length == 1:
        matrix = np.ones((1, 1))
    else:
        coarse = np.kron(haar_matrix(length // 2), [1.0, 1.0])
        fine = np.kron(np.eye(length // 2), [1.0, -1.0])
        matrix = np.vstack([coarse, fine]) / np.sqrt(2.0)
    matrix.flags.writeable = False
    return matrix


def haar_spread(length: int) -> Array:
    """Standard deviations of the hidden coefficients: 1.2 for the coarsest two, falling by sqrt(0.6) a level.

    Args:
        length: d, a power of two.
    """
    level = np.floor(np.log2(np.maximum(np.arange(length), 1)))
    return np.asarray(1.2 * 0.6 ** (0.5 * level))


def haar_estimate(copies: Array, noise: float) -> Array:
    """Posterior mean of the coefficients given noisy copies of the signal.

    Args:
        copies: ``n x d``.
        noise: standard deviation of the noise on each.
    """
    count, length = copies.shape
    prior = haar_spread(length) ** 2
    return np.asarray(haar_matrix(length) @ copies.mean(axis=0) * prior / (prior + noise**2 / count))


def attention(tokens: Array, perturbation: Array, temperature: float) -> Array:
    """Row softmax of ``H (I + E) H' / temperature``.

    Args:
        tokens: H, ``n x d``.
        perturbation: E, ``d x d``.
        temperature: positive.

    Returns:
        ``n x n``, rows sum to 1.
    """
    logits = tokens @ (np.eye(tokens.shape[1]) + perturbation) @ tokens.T / temperature
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def kernel_loss(theta: Array, gram: Array, labels: Array, ridge: float) -> float:
    """Mean hinge loss plus ridge: ``(1/m) sum max(0, 1 - y_i f_i) + lambda |theta|^2``, ``f = gram @ theta``.

    Args:
        theta: ``p`` weights.
        gram: ``m x p`` kernel values between points and anchors.
        labels: ``m`` of -1 and 1.
        ridge: lambda.
    """
    hinge = np.maximum(0.0, 1.0 - labels * (gram @ theta))
    return float(hinge.mean() + ridge * (theta @ theta))
