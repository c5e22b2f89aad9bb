"""Bayesian optimization with any Kernaut kernel as surrogate.

Amplitude and noise are refitted on the grid after every answer; the next query has the largest expected improvement among random draws and
perturbations of the best output.  Outputs are compared on the unit scale of their space.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from kernaut.fitting.acquisition import expected_improvement
from kernaut.fitting.grid import fit_grid, predict
from kernaut.kernels.kernel import KernautKernel
from kernaut.sealed.inline_kernels import InlinePool
from kernaut.sealed.kernel_records import kernel_of
from kernaut.sealed.manifest import PublicTask
from kernaut.sealed.policy import Array, Evaluate, Policy, Trail
from kernaut.sealed.spaces import Box

FIRST = 3
DRAWS, PERTURBED = 256, 256
WIDTHS = (0.02, 0.05, 0.1, 0.2)
DEFAULT_KERNEL = {"kind": "matern52", "lengthscale": 1.0}
_FLOOR = 1e-8


class BayesianOptimization(Policy):
    """Expected improvement under a Gaussian process.

    Args:
        options: ``kernel``, a base node or a candidate record; Matern-5/2 by default.
    """

    known_options = ("kernel",)

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._kernel = kernel_of(options.get("kernel") or DEFAULT_KERNEL, pool=InlinePool())

    def act(self, task: PublicTask, evaluate: Evaluate, rng: np.random.Generator) -> Array:
        """Play one episode."""
        space, trail = task.space, Trail(task, evaluate)
        trail.query(space.centre())
        while trail.remaining:
            if len(trail.outputs) < min(FIRST, task.horizon_budget):
                trail.query(space.sample(rng))
                continue
            draws = [space.sample(rng) for _ in range(DRAWS)]
            widths = rng.choice(WIDTHS, PERTURBED) * space.scale()
            noise = rng.standard_normal((PERTURBED, space.size)) * widths[:, None]
            near = [space.project(trail.best.ravel() + shift) for shift in noise]
            candidates = np.array(draws + near)
            gain = improvement(
                self._kernel, scaled(task, np.array(trail.outputs)), np.array(trail.scores), scaled(task, candidates)
            )
            trail.query(candidates[int(gain.argmax())])
        return trail.best


def scaled(task: PublicTask, outputs: Array) -> Array:
    """Outputs ``n x shape`` as points ``n x size`` of the unit cube."""
    space = task.space
    flat = outputs.reshape(len(outputs), -1)
    return (flat - space.lower) / space.scale() if isinstance(space, Box) else flat


@torch.no_grad()
def improvement(kernel: KernautKernel, points: Array, scores: Array, candidates: Array) -> Array:
    """Expected improvement of each candidate; zeros where the kernel cannot be fitted.

    Args:
        kernel: the surrogate.
        points: ``n x d`` queried points.
        scores: ``n`` scores.
        candidates: ``m x d``.
    """
    deviation = scores.std()
    standardized = ((scores - scores.mean()) / (deviation if deviation > _FLOOR else 1.0))[None]
    known, fresh = kernel.embed(torch.from_numpy(points)[None]), kernel.embed(torch.from_numpy(candidates)[None])
    fit = fit_grid(kernel.cross(known, known).numpy(), standardized)
    mean, variance = predict(fit, kernel.cross(fresh, known).numpy(), kernel.diagonal(fresh).numpy())
    gain = expected_improvement(mean, np.sqrt(variance), standardized.max(-1))[0]
    return np.where(np.isfinite(gain), gain, 0.0) if not fit.failed[0] else np.zeros(len(candidates))
