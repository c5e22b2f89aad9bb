"""Optimization rollouts: all tasks of equal dimension advance together, one step in one batch.

Each step draws fresh candidates, standardizes all observations so far, refits amplitude and noise on the grid and queries the candidate of largest expected
improvement.  A point is embedded once: the rows of queried candidates are kept.

Shapes: ``E`` tasks, ``n`` initial points, ``m`` candidates a step, ``T`` steps, dimension ``D``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernaut.episodes.episode import RolloutTask
from kernaut.errors import InputError
from kernaut.fitting.acquisition import expected_improvement
from kernaut.fitting.embedding import EmbeddedKernel, append, gather
from kernaut.fitting.grid import NOT_DEFINITE, NOT_FINITE, fit_grid, predict

Array = NDArray[np.float64]

STEPS = 8
CANDIDATES = 128
DEVIATION_FLOOR = 1e-8


@dataclass(frozen=True, eq=False)
class RolloutGroup:
    """Tasks of equal dimension with the points that their random streams hold.

    Args:
        indices: the place of each task in the sequence that was stacked.
        tasks: the tasks themselves.
        initial: ``E x n x D``.
        initial_values: ``E x n`` objective values, in the benchmark's units.
        candidates: ``E x T x m x D``.
    """

    indices: tuple[int, ...]
    tasks: tuple[RolloutTask, ...]
    initial: Tensor
    initial_values: Array
    candidates: Tensor

    def take(self, places: Sequence[int]) -> RolloutGroup:
        """The tasks at some places of this group."""
        chosen = list(places)
        return RolloutGroup(
            indices=tuple(self.indices[place] for place in chosen),
            tasks=tuple(self.tasks[place] for place in chosen),
            initial=self.initial[chosen],
            initial_values=self.initial_values[chosen],
            candidates=self.candidates[chosen],
        )

    @staticmethod
    def stack(tasks: Sequence[RolloutTask], steps: int = STEPS, candidates: int = CANDIDATES) -> list[RolloutGroup]:
        """Group tasks of equal dimension and draw their points: initial points first, then the candidates of each step.

        Raises:
            InputError: unless there is at least one step and one candidate.
        """
        if steps < 1 or candidates < 1:
            raise InputError(
                f"Expected at least 1 step and 1 candidate. Got {steps} steps and {candidates} candidates."
            )
        places: dict[tuple[int, int], list[int]] = {}
        for index, task in enumerate(tasks):
            places.setdefault((task.dimension, task.initial_count), []).append(index)
        return [_stacked(tuple(indices), tasks, steps, candidates) for indices in places.values()]


@dataclass(frozen=True, eq=False)
class Trace:
    """What one rollout did.

    Args:
        best: ``T + 1`` running maxima in the benchmark's units, the best initial value first; shorter when the rollout failed.
        points: ``T x D`` queried points.
        amplitude: ``T`` fitted signal variances.
        noise: ``T`` fitted noise variances.
        reason: why the rollout stopped early; None when it did not.
    """

    best: Array
    points: Array
    amplitude: Array
    noise: Array
    reason: str | None = None


def rollout(
    kernel: EmbeddedKernel,
    tasks: Sequence[RolloutTask] | Sequence[RolloutGroup],
    steps: int = STEPS,
    candidates: int = CANDIDATES,
) -> list[Trace]:
    """Run every task to its end.

    Args:
        kernel: any kernel that embeds.
        tasks: tasks, or groups of them that were stacked before (``steps`` and ``candidates`` are then the groups').
        steps: queries of each task.
        candidates: fresh candidates a step.

    Returns:
        One trace for each task, in the order given.

    Raises:
        SandboxFailure: when the kernel's program gives no value.
    """
    groups = rollout_groups(tasks, steps, candidates)
    found = {i: trace for group in groups for i, trace in zip(group.indices, rollout_group(kernel, group), strict=True)}
    return [found[index] for index in sorted(found)]


def rollout_groups(
    tasks: Sequence[RolloutTask] | Sequence[RolloutGroup], steps: int = STEPS, candidates: int = CANDIDATES
) -> list[RolloutGroup]:
    """Stack tasks; groups pass through unchanged."""
    loose = [task for task in tasks if isinstance(task, RolloutTask)]
    ready = [group for group in tasks if isinstance(group, RolloutGroup)]
    if loose and ready:
        raise InputError("Expected either rollout tasks or stacked groups of them. Got both.")
    return ready or RolloutGroup.stack(loose, steps, candidates)


@torch.no_grad()
def rollout_group(kernel: EmbeddedKernel, group: RolloutGroup) -> list[Trace]:
    """Run the tasks of one group, in the group's order.

    Raises:
        SandboxFailure: when the kernel's program gives no value.
    """
    count, steps = group.candidates.shape[:2]
    every = np.arange(count)
    candidates = group.candidates.numpy()
    values = group.initial_values
    points, amplitudes, noises = [], [], []
    reasons: list[str | None] = [None] * count
    lengths = np.full(count, steps)
    observed = kernel.embed(group.initial)
    for step in range(steps):
        fresh = kernel.embed(group.candidates[:, step])
        scaled = _standardized(values)
        fit = fit_grid(kernel.cross(observed, observed).numpy(), scaled)
        mean, variance = predict(fit, kernel.cross(fresh, observed).numpy(), kernel.diagonal(fresh).numpy())
        gain = expected_improvement(mean, np.sqrt(variance), scaled.max(-1))
        finite = np.asarray(np.isfinite(gain).all(axis=-1))
        for index in np.nonzero((fit.failed | ~finite) & (lengths == steps))[0]:
            reasons[index] = f"{NOT_DEFINITE if fit.failed[index] else NOT_FINITE} (step {step + 1})"
            lengths[index] = step
        pick = np.where(finite[:, None], gain, 0.0).argmax(-1)
        chosen = candidates[every, step, pick]
        new = [float(task.evaluate(point[None])[0]) for task, point in zip(group.tasks, chosen, strict=True)]
        values = np.concatenate([values, np.array(new)[:, None]], axis=-1)
        observed = append(observed, gather(fresh, torch.from_numpy(pick)))
        points.append(chosen)
        amplitudes.append(fit.amplitude)
        noises.append(fit.noise)
    best = np.maximum.accumulate(values, axis=-1)[:, group.initial_values.shape[-1] - 1 :]
    return [
        Trace(
            best=best[index, : length + 1],
            points=np.array(points)[:length, index],
            amplitude=np.array(amplitudes)[:length, index],
            noise=np.array(noises)[:length, index],
            reason=reasons[index],
        )
        for index, length in enumerate(lengths)
    ]


def _standardized(values: Array) -> Array:
    """Each row of ``E x n`` observations, centred and divided by its population standard deviation (1 under the floor)."""
    deviation = values.std(-1, keepdims=True)
    return np.asarray((values - values.mean(-1, keepdims=True)) / np.where(deviation < DEVIATION_FLOOR, 1.0, deviation))


def _stacked(indices: tuple[int, ...], tasks: Sequence[RolloutTask], steps: int, candidates: int) -> RolloutGroup:
    chosen = tuple(tasks[index] for index in indices)
    initial, fresh = [], []
    for task in chosen:
        rng = np.random.default_rng(task.stream_seed)
        initial.append(rng.uniform(size=(task.initial_count, task.dimension)))
        fresh.append([rng.uniform(size=(candidates, task.dimension)) for _ in range(steps)])
    values = [task.evaluate(points) for task, points in zip(chosen, initial, strict=True)]
    return RolloutGroup(
        indices=indices,
        tasks=chosen,
        initial=torch.from_numpy(np.array(initial)),
        initial_values=np.array(values),
        candidates=torch.from_numpy(np.array(fresh)),
    )
