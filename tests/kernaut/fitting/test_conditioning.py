from __future__ import annotations

import numpy as np

from kernaut.fitting.conditioning import predict_after
from kernaut.fitting.grid import fit_grid, predict

RNG = np.random.default_rng(11)


def drawn(n: int, c: int, q: int) -> tuple[np.ndarray, np.ndarray]:
    points = RNG.uniform(size=(2, n + c + q, 2))
    squares = ((points[:, :, None] - points[:, None]) ** 2).sum(-1)
    return np.exp(-2.0 * squares), RNG.standard_normal((2, n + c + q))


def test_predictions_after_context_equal_the_dense_posterior() -> None:
    n, c, q = 12, 3, 5
    gram, values = drawn(n, c, q)
    fit = fit_grid(gram[:, :n, :n], values[:, :n])
    mean, variance = predict_after(
        fit, gram[:, n:, :n], gram[:, n : n + c, n:], np.ones((2, c + q)), values[:, n : n + c]
    )
    for e in range(2):
        a, s = fit.amplitude[e], fit.noise[e]
        inverse = np.linalg.inv(a * gram[e, : n + c, : n + c] + s * np.eye(n + c))
        cross = a * gram[e, n + c :, : n + c]
        np.testing.assert_allclose(mean[e], cross @ inverse @ values[e, : n + c], rtol=1e-8)
        np.testing.assert_allclose(variance[e], a + s - np.diag(cross @ inverse @ cross.T), rtol=1e-7)


def test_without_context_it_is_the_plain_prediction() -> None:
    gram, values = drawn(10, 0, 4)
    fit = fit_grid(gram[:, :10, :10], values[:, :10])
    plain = predict(fit, gram[:, 10:, :10], np.ones((2, 4)))
    same = predict_after(fit, gram[:, 10:, :10], gram[:, :0, 10:], np.ones((2, 4)), np.empty((2, 0)))
    np.testing.assert_array_equal(plain[0], same[0])
    np.testing.assert_array_equal(plain[1], same[1])
