"""Test functions of global optimization, as objectives to *maximize* (the negative of the usual form where one exists).

Each takes ``n x d`` points of its domain and returns ``n`` values.  Forms follow Surjanovic and Bingham, "Virtual Library of Simulation
Experiments" (www.sfu.ca/~ssurjano), save for the middle term of Levy and the signs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_HARTMANN_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN_A = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
_HARTMANN_P = 1e-4 * np.array(
    [
        [1312.0, 1696.0, 5569.0, 124.0, 8283.0, 5886.0],
        [2329.0, 4135.0, 8307.0, 3736.0, 1004.0, 9991.0],
        [2348.0, 1451.0, 3522.0, 2883.0, 3047.0, 6650.0],
        [4047.0, 8828.0, 8732.0, 5743.0, 1091.0, 381.0],
    ]
)


def branin(x: Array) -> Array:
    """Branin, d = 2."""
    u, v = x[:, 0], x[:, 1]
    bowl = v - 5.1 / (4.0 * math.pi**2) * u**2 + 5.0 / math.pi * u - 6.0
    return -(bowl**2 + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * np.cos(u) + 10.0)


def ackley(x: Array) -> Array:
    """Ackley with a = 20, b = 0.2, c = 2 pi."""
    radius = np.sqrt(np.mean(x**2, axis=1))
    return 20.0 * np.exp(-0.2 * radius) + np.exp(np.mean(np.cos(2.0 * math.pi * x), axis=1)) - 20.0 - math.e


def cosine(x: Array) -> Array:
    """Cosine mixture, maximized at the corners: sum of ``x^2 - 0.1 cos(5 pi x)``."""
    return np.asarray(np.sum(x**2 - 0.1 * np.cos(5.0 * math.pi * x), axis=1))


def hartmann(x: Array) -> Array:
    """Hartmann, d = 6."""
    inner = np.sum(_HARTMANN_A * (x[:, None, :] - _HARTMANN_P) ** 2, axis=2)
    return np.asarray(np.exp(-inner) @ _HARTMANN_ALPHA)


def levy(x: Array) -> Array:
    """Levy, with middle terms ``(w_i - 1)^2 (1 + 10 sin^2(pi w_i + 1))``."""
    w = 1.0 + (x - 1.0) / 4.0
    first = np.sin(math.pi * w[:, 0]) ** 2
    middle = np.sum((w[:, :-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(math.pi * w[:, :-1] + 1.0) ** 2), axis=1)
    last = (w[:, -1] - 1.0) ** 2 * (1.0 + np.sin(2.0 * math.pi * w[:, -1]) ** 2)
    return np.asarray(-(first + middle + last))


def bukin(x: Array) -> Array:
    """Bukin N.6, d = 2."""
    u, v = x[:, 0], x[:, 1]
    return np.asarray(-(100.0 * np.sqrt(np.abs(v - 0.01 * u**2)) + 0.01 * np.abs(u + 10.0)))


def dropwave(x: Array) -> Array:
    """Drop wave, d = 2."""
    square = np.sum(x**2, axis=1)
    return np.asarray((1.0 + np.cos(12.0 * np.sqrt(square))) / (0.5 * square + 2.0))


def griewank(x: Array) -> Array:
    """Griewank."""
    root = np.sqrt(np.arange(1, x.shape[1] + 1, dtype=np.float64))
    return np.asarray(-(np.sum(x**2, axis=1) / 4000.0 - np.prod(np.cos(x / root), axis=1) + 1.0))


def holdertable(x: Array) -> Array:
    """Hoelder table, d = 2."""
    u, v = x[:, 0], x[:, 1]
    return np.asarray(np.abs(np.sin(u) * np.cos(v) * np.exp(np.abs(1.0 - np.sqrt(u**2 + v**2) / math.pi))))


def rosenbrock(x: Array) -> Array:
    """Rosenbrock."""
    return np.asarray(-np.sum(100.0 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (x[:, :-1] - 1.0) ** 2, axis=1))


def rastrigin(x: Array) -> Array:
    """Rastrigin."""
    return np.asarray(-(10.0 * x.shape[1] + np.sum(x**2 - 10.0 * np.cos(2.0 * math.pi * x), axis=1)))


@dataclass(frozen=True)
class Objective:
    """A test function with its domain and maximum.

    Args:
        name: its family's name.
        function: ``n x d`` points of the domain to ``n`` values.
        lower: ``d`` lower bounds.
        upper: ``d`` upper bounds.
        maximum: its largest value on the domain.
    """

    name: str
    function: Callable[[Array], Array]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    maximum: float

    @property
    def dimension(self) -> int:
        """d, before nuisance coordinates."""
        return len(self.lower)


def _cube(name: str, function: Callable[[Array], Array], d: int, low: float, high: float, maximum: float) -> Objective:
    return Objective(name, function, (low,) * d, (high,) * d, maximum)


OBJECTIVES: dict[str, Objective] = {
    objective.name: objective
    for objective in (
        Objective("branin", branin, (-5.0, 0.0), (10.0, 15.0), -0.39788735772973816),
        _cube("ackley", ackley, 2, -32.768, 32.768, 0.0),
        _cube("cosine", cosine, 8, -1.0, 1.0, 8.8),
        _cube("hartmann", hartmann, 6, 0.0, 1.0, 3.322368011415515),
        _cube("levy", levy, 6, -10.0, 10.0, 0.0),
        Objective("bukin", bukin, (-15.0, -3.0), (-5.0, 3.0), 0.0),
        _cube("dropwave", dropwave, 2, -5.12, 5.12, 1.0),
        _cube("griewank", griewank, 5, -600.0, 600.0, 0.0),
        _cube("holdertable", holdertable, 2, -10.0, 10.0, 19.20850256788675),
        _cube("rosenbrock", rosenbrock, 6, -5.0, 10.0, 0.0),
        _cube("rastrigin", rastrigin, 6, -5.12, 5.12, 0.0),
    )
}
