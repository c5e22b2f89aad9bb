"""The floor: uniform draws in a box, Dirichlet(1, .., 1) rows.

``random`` names its last draw whatever the answers were, so that its mean regret is 1; ``random_search`` names its best.
"""

from __future__ import annotations

import numpy as np

from kernaut.sealed.manifest import PublicTask
from kernaut.sealed.policy import Array, Evaluate, Policy, Trail


class RandomDraw(Policy):
    """Queries draws until the budget is used, and names the last."""

    def act(self, task: PublicTask, evaluate: Evaluate, rng: np.random.Generator) -> Array:
        """Play one episode."""
        output = task.space.sample(rng)
        for _ in range(task.horizon_budget):
            output = task.space.sample(rng)
            evaluate(output)
        return output


class RandomSearch(Policy):
    """Queries draws until the budget is used, and names the best."""

    def act(self, task: PublicTask, evaluate: Evaluate, rng: np.random.Generator) -> Array:
        """Play one episode."""
        trail = Trail(task, evaluate)
        for _ in range(task.horizon_budget):
            trail.query(task.space.sample(rng))
        return trail.best
