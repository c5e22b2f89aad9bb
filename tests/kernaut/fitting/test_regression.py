from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from kernaut.errors import InputError
from kernaut.fitting.regression import fit
from kernaut.kernels.adapters import gram
from kernaut.kernels.library import leaf
from kernaut.program.parameters import parameter_space
from kernaut.program.program import KernelProgram

SOURCE = """import torch

def transform_point(x, parameters):
    return x * torch.exp(parameters["stretch"])
"""


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform([10.0, -300.0], [12.0, 500.0], (60, 2))
    return X, 1000.0 + 40.0 * np.sin(3.0 * X[:, 0]) + 4.0 * rng.normal(size=60)


def test_predictions_are_in_the_users_units(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    fitted = fit(leaf("rbf", lengthscale=0.3), X[:50], y[:50])
    predicted = fitted.predict(X[50:])
    assert np.abs(predicted.mean - y[50:]).mean() < 12.0
    assert fitted.noise_sd == pytest.approx(4.0, rel=0.5)
    assert np.allclose(norm(predicted.mean, predicted.sd).cdf(predicted.upper), 0.975)
    assert np.allclose(norm(predicted.mean, predicted.sd).cdf(fitted.predict(X[50:], level=0.5).lower), 0.25)
    moved = fit(leaf("rbf", lengthscale=0.3), X[:50] * 7.0 - 3.0, y[:50] * 0.01 + 5.0).predict(X[50:] * 7.0 - 3.0)
    assert np.allclose(moved.mean, predicted.mean * 0.01 + 5.0)
    assert np.allclose(moved.sd, predicted.sd * 0.01)


def test_the_mean_is_the_textbooks(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    fitted = fit(leaf("matern52", lengthscale=0.5), X, y)
    low, width = X.min(axis=0), np.ptp(X, axis=0)
    K = fitted.fit.amplitude * gram(fitted.kernel, (X - low) / width)
    weights = np.linalg.solve(K + fitted.fit.noise * np.eye(60), (y - y.mean()) / y.std())
    assert np.allclose(fitted.predict(X).mean, y.mean() + y.std() * (K @ weights))


def test_tuning_climbs_within_the_declared_range(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    space = parameter_space({"stretch": {"type": "float", "scale": "linear", "lower": -1.0, "upper": 1.5}})
    program = KernelProgram("stretch", "input_transform", SOURCE, {"stretch": -1.0}, space=space)
    plain, tuned = fit(program, X, y), fit(program, X, y, tune=True)
    assert tuned.fit.log_marginal > plain.fit.log_marginal + 1.0
    assert -1.0 < tuned.parameters()["stretch"] <= 1.5
    assert plain.parameters() == {"stretch": -1.0}
    with pytest.raises(InputError, match="ranges of float parameters"):
        fit(leaf("rbf"), X, y, tune=True)


def test_data_that_cannot_be_fitted(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    with pytest.raises(InputError, match="60 finite targets"):
        fit(leaf("rbf"), X, y[:9])
    with pytest.raises(InputError, match="X to be a finite n x d matrix"):
        fit(leaf("rbf"), np.full((4, 2), np.inf), y[:4])
    with pytest.raises(InputError, match="targets that vary"):
        fit(leaf("rbf"), X, np.ones(60))
    fitted = fit(leaf("rbf"), X, y)
    with pytest.raises(InputError, match="2 columns in X_new"):
        fitted.predict(X[:, :1])
    with pytest.raises(InputError, match="level between 0 and 1"):
        fitted.predict(X, level=95)
