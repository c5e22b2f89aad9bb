from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from kernaut.fitting.marginal import log_marginal

X = np.random.default_rng(1).uniform(size=(9, 2))
Y = np.random.default_rng(2).normal(size=9)


def value(kernel: Any, amplitude: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    return log_marginal(kernel, torch.from_numpy(X), torch.from_numpy(Y), amplitude, noise)


@pytest.mark.parametrize("name", ["Matern", "Features"])
def test_it_is_the_density_of_the_targets(request: pytest.FixtureRequest, name: str) -> None:
    kernel = request.getfixturevalue(name)(0.7)
    embedding = kernel.embed(torch.from_numpy(X))
    covariance = 1.3 * kernel.cross(embedding, embedding).numpy() + 0.05 * np.eye(9)
    expected = stats.multivariate_normal.logpdf(Y, np.zeros(9), covariance)
    found = value(kernel, torch.tensor(1.3, dtype=torch.float64), torch.tensor(0.05, dtype=torch.float64))
    assert found.item() == pytest.approx(expected, rel=1e-10)


def test_gradients(Matern: Any) -> None:
    start = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (0.6, 1.3, 0.05)]
    assert torch.autograd.gradcheck(lambda scale, a, s: value(Matern(scale), a, s), start)


def test_an_indefinite_matrix_has_no_likelihood(Matern: Any) -> None:
    one = torch.tensor(1.0, dtype=torch.float64)
    assert value(Matern(), -one, 0.1 * one).item() == -np.inf
    assert value(Matern(), one * np.nan, one).item() == -np.inf
