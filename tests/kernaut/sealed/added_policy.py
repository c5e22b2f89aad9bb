"""A policy that a package adds in the tests; apart from its families, which a policy's process cannot read."""

from __future__ import annotations

import numpy as np

from kernaut.sealed.manifest import PublicTask
from kernaut.sealed.policy import Evaluate, Policy


class Still(Policy):
    """Names the centre of the space."""

    def act(self, task: PublicTask, evaluate: Evaluate, rng: np.random.Generator) -> np.ndarray:
        return task.space.centre()
