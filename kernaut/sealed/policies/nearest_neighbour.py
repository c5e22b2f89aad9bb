"""Nearest neighbour: believe that a new output is worth what the nearest queried one was worth.

Of many random draws the next query is the one whose nearest queried output scored best; among those, the nearest.  The first queries are the space's
centre and random draws.
"""

from __future__ import annotations

import numpy as np

from kernaut.sealed.manifest import PublicTask
from kernaut.sealed.policy import Array, Evaluate, Policy, Trail

DRAWS = 256
FIRST = 3
SHRINK = 0.5


class NearestNeighbour(Policy):
    """Searches around the best output found, with draws pulled half-way towards it."""

    def act(self, task: PublicTask, evaluate: Evaluate, rng: np.random.Generator) -> Array:
        """Play one episode."""
        trail = Trail(task, evaluate)
        trail.query(task.space.centre())
        while trail.remaining:
            if len(trail.outputs) < min(FIRST, task.horizon_budget):
                trail.query(task.space.sample(rng))
                continue
            draws = np.array([task.space.sample(rng) for _ in range(DRAWS)])
            pulled = SHRINK * draws + (1.0 - SHRINK) * trail.best
            flat = np.concatenate([draws, pulled]).reshape(2 * DRAWS, -1)
            known = np.array(trail.outputs).reshape(len(trail.outputs), -1)
            distance = ((flat[:, None, :] - known[None, :, :]) ** 2).sum(axis=2)
            nearest = distance.argmin(axis=1)
            belief = np.array(trail.scores)[nearest]
            order = np.lexsort((distance.min(axis=1), -belief))
            trail.query(task.space.project(flat[order[0]]))
        return trail.best
