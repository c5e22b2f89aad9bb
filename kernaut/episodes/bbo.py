"""Black-box optimization: eleven test functions behind hidden transformations of the unit cube.

Each episode draws nuisance coordinates, a permutation, reflections, powers and couplings between neighbouring coordinates; a kernel sees
points of [0, 1]^D and values only.  Meta-training and validation share five families, test has six others.

Reference: Suwandi, Yin and Murphy (2026), "Kernel Autoresearch for Open-Ended Model Discovery".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.episodes.benchmark import Benchmark
from kernaut.episodes.episode import Episode, RolloutTask, episode_seed, require_split, standardization
from kernaut.episodes.objectives import OBJECTIVES, Objective
from kernaut.seeds import generator, stable_seed

Array = NDArray[np.float64]

SEEN = ("branin", "ackley", "cosine", "hartmann", "levy")
UNSEEN = ("bukin", "dropwave", "griewank", "holdertable", "rosenbrock", "rastrigin")
MAX_DIMENSION = 8
SCALE_FLOOR = 1e-8
LOGIT_CLIP = 1e-12


@dataclass(frozen=True, eq=False)
class HiddenObjective:
    """A test function seen through one episode's transformation.

    Args:
        objective: the test function.
        dimension: D, observed coordinates, nuisance ones included.
        active: ``d`` indices of the observed coordinates that matter.
        permutation: ``d`` order in which they enter.
        reflected: ``d`` flags; u becomes 1 - u.
        powers: ``d`` exponents.
        couplings: ``d`` shifts of a coordinate's logit by its transformed neighbour; the first is 0.
    """

    objective: Objective
    dimension: int
    active: NDArray[np.int64]
    permutation: NDArray[np.int64]
    reflected: NDArray[np.bool_]
    powers: Array
    couplings: Array

    def transform(self, points: Array) -> Array:
        """``n x D`` points of the unit cube to ``n x d`` points of the unit cube of the test function."""
        u = points[:, self.active][:, self.permutation]
        u = np.clip(np.where(self.reflected, 1.0 - u, u), 0.0, 1.0) ** self.powers
        for i in range(1, u.shape[1]):
            inner = np.clip(u[:, i], LOGIT_CLIP, 1.0 - LOGIT_CLIP)
            logit = np.log(inner) - np.log1p(-inner) + self.couplings[i] * (u[:, i - 1] - 0.5)
            at_end = (u[:, i] == 0.0) | (u[:, i] == 1.0)
            u[:, i] = np.where(at_end, u[:, i], 1.0 / (1.0 + np.exp(-logit)))
        return u

    def __call__(self, points: Array) -> Array:
        """``n x D`` points of the unit cube to ``n`` objective values."""
        lower, upper = np.array(self.objective.lower), np.array(self.objective.upper)
        return self.objective.function(lower + (upper - lower) * self.transform(points))


def hidden_objective(family: str, seed: int) -> HiddenObjective:
    """Draw an episode's transformation; the order of draws is part of the protocol."""
    objective = OBJECTIVES[family]
    d = objective.dimension
    rng = np.random.default_rng(seed)
    dimension = d + min(int(rng.integers(0, 3)), max(0, MAX_DIMENSION - d))
    permutation = rng.permutation(d)
    reflected = rng.integers(0, 2, d).astype(bool)
    powers = rng.uniform(0.75, 1.25, d)
    active = rng.choice(dimension, size=d, replace=False)
    couplings = np.concatenate([[0.0], rng.uniform(-1.5, 1.5, d - 1)])
    return HiddenObjective(objective, dimension, active, permutation, reflected, powers, couplings)


class BlackBoxOptimization(Benchmark):
    """The BBO benchmark: predictive episodes of 8 + 2 D fitting and 32 query points, and optimization tasks of 4 + 2 D initial points."""

    name = "bbo"
    dimensions = (2, 5, 6, 8)
    metrics = ("predictive.mean_crps", "bo.regret_auc")
    has_rollouts = True

    def families(self, split: str) -> tuple[str, ...]:
        """Five families for train and validation, six others for test."""
        return UNSEEN if require_split(split) == "test" else SEEN

    def options(self) -> dict[str, Any]:
        """Sizes of an episode, D being the observed dimension."""
        return {"fitting_points": "8+2D", "query_points": 32, "initial_points": "4+2D"}

    def _episode(self, split: str, family_index: int, episode_index: int, tuning: bool) -> Episode:
        family = self.families(split)[family_index]
        seed = episode_seed(split, family_index, episode_index)
        name = f"{family}:seed-{seed}"
        hidden = hidden_objective(family, seed)
        dimension = hidden.dimension
        fitting, queries = (4 + 2 * dimension, 16) if tuning else (8 + 2 * dimension, 32)
        rng = generator(name, "predictive")
        fit_inputs = rng.uniform(size=(fitting, dimension))
        query_inputs = rng.uniform(size=(queries, dimension))
        fit_targets = hidden(fit_inputs)
        mean, scale = standardization(fit_targets, SCALE_FLOOR)
        return Episode(
            name=name,
            benchmark=self.name,
            split=split,
            family=family,
            seed=seed,
            fit_inputs=fit_inputs,
            fit_targets=(fit_targets - mean) / scale,
            query_inputs=query_inputs,
            query_targets=(hidden(query_inputs) - mean) / scale,
            target_mean=mean,
            target_scale=scale,
            tags={"active_dimension": hidden.objective.dimension},
        )

    def _rollout(self, split: str, family_index: int, episode_index: int) -> RolloutTask:
        family = self.families(split)[family_index]
        seed = episode_seed(split, family_index, episode_index)
        name = f"{family}:seed-{seed}"
        hidden = hidden_objective(family, seed)
        return RolloutTask(
            name=name,
            benchmark=self.name,
            split=split,
            family=family,
            seed=seed,
            dimension=hidden.dimension,
            maximum=hidden.objective.maximum,
            evaluate=hidden,
            stream_seed=stable_seed(name, "bo"),
            initial_count=4 + 2 * hidden.dimension,
        )
