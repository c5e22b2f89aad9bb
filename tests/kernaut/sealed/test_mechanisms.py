"""Public formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernaut.errors import InputError
from kernaut.sealed.mechanisms import attention, haar_estimate, haar_matrix, haar_spread, kernel_loss


def slow_haar(signal: list[float]) -> list[float]:
    """By repeated sums and differences of neighbours."""
    if len(signal) == 1:
        return signal
    pairs = list(zip(signal[::2], signal[1::2], strict=True))
    coarse = [(a + b) / math.sqrt(2) for a, b in pairs]
    return slow_haar(coarse) + [(a - b) / math.sqrt(2) for a, b in pairs]


@pytest.mark.parametrize("length", [1, 2, 8, 32])
def test_haar_is_orthonormal_and_equals_sums_and_differences(length: int, rng: np.random.Generator) -> None:
    matrix, signal = haar_matrix(length), rng.normal(size=length)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(length), atol=1e-12)
    np.testing.assert_allclose(matrix @ signal, slow_haar(list(signal)), atol=1e-12)


def test_haar_of_another_length_is_refused() -> None:
    with pytest.raises(InputError, match="power of two"):
        haar_matrix(12)


def test_the_estimate_shrinks_the_mean_of_the_copies(rng: np.random.Generator) -> None:
    copies = rng.normal(size=(3, 8))
    mean = slow_haar(list(copies.mean(axis=0)))
    spread = [1.2, 1.2, *[1.2 * math.sqrt(0.6)] * 2, *[1.2 * 0.6] * 4]
    np.testing.assert_allclose(haar_spread(8), spread)
    expected = [c * s**2 / (s**2 + 0.25 / 3) for c, s in zip(mean, spread, strict=True)]
    np.testing.assert_allclose(haar_estimate(copies, 0.5), expected)


def test_attention_by_hand() -> None:
    tokens, perturbation = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[0.5, 0.25], [0.0, -1.0]])
    # H (I + E) H' = [[1.5, 0.5], [0, 0]] at temperature 0.5: [[3, 1], [0, 0]]
    expected = np.array([[math.e**3, math.e], [1.0, 1.0]])
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(attention(tokens, perturbation, 0.5), expected)


def test_kernel_loss_by_hand() -> None:
    gram, labels = np.array([[1.0, 0.5], [0.2, 1.0], [0.0, 0.4]]), np.array([1.0, -1.0, 1.0])
    theta = np.array([2.0, -1.0])
    # f = 1.5, -0.6, -0.4; hinges 0, 0.4, 1.4
    assert kernel_loss(theta, gram, labels, 0.1) == pytest.approx((0 + 0.4 + 1.4) / 3 + 0.1 * 5)
