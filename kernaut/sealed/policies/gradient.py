"""Simple gradient: finite differences along random directions, as many as the budget allows, then steps uphill.

Two thirds of the budget go into differences along orthonormal directions from the space's centre; the remaining queries move along the estimated
gradient, doubling the step after a gain and halving it after a loss.
"""

from __future__ import annotations

import numpy as np

from kernaut.sealed.manifest import PublicTask
from kernaut.sealed.policy import Array, Evaluate, Policy, Trail

SHARE = 2.0 / 3.0
DIFFERENCE = 0.05
STEP = 0.25


class Gradient(Policy):
    """Ascent along a gradient estimated in a random subspace."""

    def act(self, task: PublicTask, evaluate: Evaluate, rng: np.random.Generator) -> Array:
        """Play one episode."""
        space, trail = task.space, Trail(task, evaluate)
        start = space.centre()
        base = trail.query(start)
        directions = min(space.size, max(1, int(SHARE * task.horizon_budget)))
        basis, _ = np.linalg.qr(rng.standard_normal((space.size, directions)))
        slope = np.zeros(space.size)
        for direction in basis.T:
            if not trail.remaining or base is None:
                break
            moved = space.project(start.ravel() + DIFFERENCE * space.scale() * direction)
            value = trail.query(moved)
            length = float(np.linalg.norm(moved.ravel() - start.ravel()))
            if value is not None and length > 0.0:
                slope += (value - base) / length * direction
        length = float(np.linalg.norm(slope))
        if length == 0.0:
            return trail.best
        uphill, step = slope / length, STEP * space.scale()
        point = trail.best
        while trail.remaining:
            before = trail.best_score
            value = trail.query(space.project(point.ravel() + step * uphill))
            if value is not None and value > before:
                point, step = trail.best, 2.0 * step
            else:
                step *= 0.5
        return trail.best
