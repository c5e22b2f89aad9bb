from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from kernaut.episodes.objectives import OBJECTIVES

MAXIMIZERS = {
    "branin": [[-np.pi, 12.275], [np.pi, 2.275], [9.42477796, 2.475]],
    "ackley": [[0.0, 0.0]],
    "cosine": [[1.0] * 8, [-1.0] * 8, [1.0, -1.0] * 4],
    "hartmann": [[0.20168952, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730054]],
    "levy": [[1.0] * 6],
    "bukin": [[-10.0, 1.0]],
    "dropwave": [[0.0, 0.0]],
    "griewank": [[0.0] * 5],
    "holdertable": [[8.05502347, 9.66459002], [-8.05502347, 9.66459002]],
    "rosenbrock": [[1.0] * 6],
    "rastrigin": [[0.0] * 6],
}


@pytest.mark.parametrize("name", list(OBJECTIVES))
def test_the_stated_maximum_is_reached_at_the_known_points(name: str) -> None:
    objective = OBJECTIVES[name]
    np.testing.assert_allclose(objective.function(np.array(MAXIMIZERS[name])), objective.maximum, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", list(OBJECTIVES))
def test_nothing_lies_above_the_stated_maximum(name: str) -> None:
    objective = OBJECTIVES[name]
    lower, upper = np.array(objective.lower), np.array(objective.upper)
    points = lower + (upper - lower) * np.random.default_rng(11).uniform(size=(20_000, objective.dimension))
    values = objective.function(points)
    assert values.shape == (20_000,)
    start = points[values.argmax()]
    climbed = minimize(
        lambda x: -float(objective.function(x[None])[0]), start, bounds=np.stack([lower, upper], 1), method="L-BFGS-B"
    )
    assert max(values.max(), -climbed.fun) <= objective.maximum + 1e-6


@pytest.mark.parametrize(
    ("name", "point", "value"),
    [
        ("branin", [1.0, 2.0], -21.62763539206238),
        ("levy", [0.0, 2.0, -1.0, 3.0, 0.5, -2.0], None),
        ("rosenbrock", [0.0, 1.0, 2.0, 0.5, -1.0, 3.0], None),
        ("griewank", [10.0, -20.0, 30.0, 5.0, 1.0], None),
    ],
)
def test_values_off_the_maximum(name: str, point: list[float], value: float | None) -> None:
    x = point
    if name == "levy":
        w = [1 + (u - 1) / 4 for u in x]
        value = -(
            np.sin(np.pi * w[0]) ** 2
            + sum((u - 1) ** 2 * (1 + 10 * np.sin(np.pi * u + 1) ** 2) for u in w[:-1])
            + (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2)
        )
    elif name == "rosenbrock":
        value = -sum(100 * (b - a**2) ** 2 + (1 - a) ** 2 for a, b in pairwise(x))
    elif name == "griewank":
        value = -(sum(u * u for u in x) / 4000 - np.prod([np.cos(u / np.sqrt(i)) for i, u in enumerate(x, 1)]) + 1)
    assert OBJECTIVES[name].function(np.array([x]))[0] == pytest.approx(value, rel=1e-12)
