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

TASKS = """
def coregionalization(parameters):
    smooth = {"op": "base", "kind": "rbf", "lengthscale": 0.3}
    return {"factor": [1.0, 0.5, -1.0], "diagonal": [0.1, 0.1, 0.1], "kernel": smooth}
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


SENSORS = """import torch

def coregionalization(parameters):
    alike = parameters["alike"]
    smooth = {"op": "base", "kind": "matern52", "lengthscale": 0.3}
    return {"factor": [[1.0, 0.0], [alike, torch.sqrt(1.0 - alike**2)]], "kernel": smooth}
"""


def test_a_sparse_sensor_learns_from_a_dense_one() -> None:
    rng = np.random.default_rng(1)
    dense, sparse, new = np.linspace(20.0, 80.0, 40), np.array([22.0, 35.0, 77.0]), np.linspace(25.0, 75.0, 20)
    X = np.column_stack([np.r_[dense, sparse], np.r_[np.zeros(40), np.ones(3)]])
    y = np.r_[np.sin(dense / 7.0), -0.8 * np.sin(sparse / 7.0)] + 0.02 * rng.normal(size=43)
    space = parameter_space({"alike": {"type": "float", "scale": "linear", "lower": -0.99, "upper": 0.99}})
    program = KernelProgram("sensors", "coregionalized", SENSORS, {"alike": 0.0}, space=space)
    asked = np.column_stack([new, np.ones(20)])
    apart, together = fit(program, X, y), fit(program, X, y, tune=True)
    assert together.parameters()["alike"] < -0.9
    error = [np.abs(one.predict(asked).mean + 0.8 * np.sin(new / 7.0)).mean() for one in (apart, together)]
    assert error[1] < 0.4 * error[0]
    with pytest.raises(InputError, match="to name one of 2 tasks"):
        together.predict(np.column_stack([new, np.full(20, 0.5)]))


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


@pytest.mark.parametrize(
    ("sites", "values", "message"),
    [
        ((0, 1, 2), None, "0, 1, 2. Got 0, 1, 2, which become 0, 0.5, 1"),
        ((0, 1), [0.0, 0.5, 1.0], "all of them.*0, 0.5, 1. Got 0, 1, which become 0, 1"),
        ((3, 4, 5), [0.0, 0.5, 1.0], None),
    ],
)
def test_rows_name_every_task_of_a_program(
    sites: tuple[int, ...], values: list[float] | None, message: str | None, data: tuple[np.ndarray, np.ndarray]
) -> None:
    X = np.column_stack([data[0][:, 0], np.resize(sites, 60)])
    program = KernelProgram("sites", "coregionalized", TASKS, {} if values is None else {"task_values": values})
    if message is not None:
        with pytest.raises(InputError, match=message):
            fit(program, X, data[1])
        return
    fitted = fit(program, X, data[1])
    assert np.isfinite(fitted.predict(X[:3]).mean).all()
    with pytest.raises(InputError, match="Got 5") as caught:
        fitted.predict([[11.0, 13.0]])
    assert "brought to [0, 1]" in str(caught.value.hint)
