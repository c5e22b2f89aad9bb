"""Black-box baseline: CMA-ES (Hansen, 2016) by the library ``cmaes``, on the unit cube mapped onto the output space."""

from __future__ import annotations

import numpy as np
from cmaes import CMA

from kernaut.sealed.manifest import PublicTask
from kernaut.sealed.policy import Array, Evaluate, Policy, Trail

SIGMA = 0.2
POPULATION = 4
"""The smallest with two parents; budgets are small."""


class CMAES(Policy):
    """CMA-ES with a small population."""

    def act(self, task: PublicTask, evaluate: Evaluate, rng: np.random.Generator) -> Array:
        """Play one episode."""
        space, trail = task.space, Trail(task, evaluate)
        bounds = np.tile([0.0, 1.0], (space.size, 1))
        search = CMA(
            mean=np.full(space.size, 0.5),
            sigma=SIGMA,
            bounds=bounds,
            population_size=POPULATION,
            seed=int(rng.integers(2**31)),
        )
        while trail.remaining:
            told = []
            for _ in range(min(POPULATION, trail.remaining)):
                point = search.ask()
                score = trail.query(space.from_unit(point))
                told.append((point, 1e9 if score is None else -score))
            if len(told) == POPULATION:
                search.tell(told)
        return trail.best
