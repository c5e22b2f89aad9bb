"""What J is worth: the random policy's J, the worst J, and regret.  Trusted side.

With eps = 1e-9, regret is 0 at J_star and 1 at J_random: ``(J_star - J) / (J_star - J_random + eps)`` when maximizing (satisfy tasks too),
``(J - J_star) / (J_random - J_star + eps)`` when minimizing.  J_worst is where it is 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kernaut.errors import InputError
from kernaut.evaluation.statistics import bootstrap_interval
from kernaut.sealed.families.family import Family
from kernaut.sealed.manifest import Direction, PublicTask
from kernaut.seeds import generator

EPSILON = 1e-9
WORST_REGRET = 2.0
"""Raw regret of J_worst, by its definition exactly."""
LEAST_SPREAD = 0.05
"""Instances whose J_star and J_random are closer than this are not calibrated."""
ROLLOUTS = 200
LEAST_ROLLOUTS = 100


@dataclass(frozen=True)
class RandomLevel:
    """The random policy's J.

    Args:
        mean: J_random.
        lower: lower end of its 95 % interval.
        upper: upper end.
        rollouts: how many episodes of the random policy.
        stream: names of the seeded stream.
        estimator: what ``mean`` and the interval are.
    """

    mean: float
    lower: float
    upper: float
    rollouts: int
    stream: str
    estimator: str = "mean of rollouts; percentile bootstrap of 2000 resamples"

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)


def random_level(family: Family, task: PublicTask, targets: Mapping[str, Any], rollouts: int = ROLLOUTS) -> RandomLevel:
    """Roll the random policy out: uniform in a box, Dirichlet(1, .., 1) a row.

    Raises:
        InputError: for fewer than 100 rollouts.
    """
    if rollouts < LEAST_ROLLOUTS:
        raise InputError(f"Expected at least {LEAST_ROLLOUTS} rollouts of the random policy. Got {rollouts}.")
    rng = generator("sealed", "random", task.task_id, task.seed)
    values = np.array([family.value(task, targets, task.space.sample(rng)) for _ in range(rollouts)])
    lower, upper = bootstrap_interval(values, seed=task.seed)
    return RandomLevel(float(values.mean()), lower, upper, rollouts, f"sealed|random|{task.task_id}|{task.seed}")


def worst(direction: Direction, star: float, random: float) -> float:
    """J_worst."""
    edge = EPSILON if direction == "minimize" else -EPSILON
    return 2.0 * (random + edge) - star


def regret(direction: Direction, value: float, star: float, random: float) -> float:
    """Raw normalized regret; 0 is the optimum, 1 the random policy, and it may lie outside [0, 1]."""
    if direction == "minimize":
        return (value - star) / (random - star + EPSILON)
    return (star - value) / (star - random + EPSILON)


def clipped(raw: float) -> float:
    """Regret cut to [0, 1], which hides how badly a policy fails."""
    return min(1.0, max(0.0, raw))


def is_calibrated(star: float, random: float) -> bool:
    """Whether the random policy is far enough from the optimum for regret to mean something."""
    return abs(star - random) >= LEAST_SPREAD
