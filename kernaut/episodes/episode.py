"""One episode of a benchmark: fitting observations, and query observations that only the scorer sees.

Shapes: ``n`` fitting points and ``q`` query points of dimension ``d``.  Targets are standardized by the *fitting* targets alone; ``target_mean`` and
``target_scale`` lead back to the benchmark's units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kernaut.errors import InputError

Array = NDArray[np.float64]
Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")
SPLIT_OFFSETS: Mapping[str, int] = {"train": 0, "validation": 10_000, "test": 20_000}
MAX_PER_FAMILY = 999
"""Seeds of neighbouring families are 1 000 apart."""


@dataclass(frozen=True, eq=False)
class Episode:
    """A regression task of a hidden function.

    Args:
        name: unique within the benchmark.
        benchmark: the benchmark's name.
        split: ``train``, ``validation`` or ``test``.
        family: the function family, the unit of transfer.
        seed: what its random draws started from.
        fit_inputs: ``n x d``.
        fit_targets: ``n``, standardized.
        query_inputs: ``q x d``; without any, the episode is scored by the marginal likelihood of its fitting observations.
        query_targets: ``q``, standardized by the fitting targets.
        target_mean: mean of the fitting targets, in the benchmark's units.
        target_scale: their standard deviation (or its floor), in the benchmark's units.
        tags: further facts of the episode, for reports.
        context_inputs: ``c x d`` observations that predictions are conditioned on, beside the fitting ones; they enter neither standardization nor fit.
        context_targets: ``c``, standardized by the fitting targets.

    Raises:
        InputError: when shapes disagree or a number is not finite.
    """

    name: str
    benchmark: str
    split: str
    family: str
    seed: int
    fit_inputs: Array
    fit_targets: Array
    query_inputs: Array
    query_targets: Array
    target_mean: float = 0.0
    target_scale: float = 1.0
    tags: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    context_inputs: Array | None = None
    context_targets: Array | None = None

    def __post_init__(self) -> None:
        if self.context_inputs is None or self.context_targets is None:
            object.__setattr__(self, "context_inputs", np.empty((0, *np.shape(self.fit_inputs)[1:])))
            object.__setattr__(self, "context_targets", np.empty(0))
        for name in ("fit_inputs", "fit_targets", "query_inputs", "query_targets", "context_inputs", "context_targets"):
            array = np.array(getattr(self, name), dtype=np.float64)
            if not np.isfinite(array).all():
                raise InputError(f"Expected finite {name} in episode {self.name}. Got {array[~np.isfinite(array)][0]}.")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        shapes = (self.fit_inputs.shape, self.fit_targets.shape, self.query_inputs.shape, self.query_targets.shape)
        if (
            self.fit_inputs.ndim != 2
            or self.query_inputs.ndim != 2
            or self.fit_inputs.shape[1] != self.query_inputs.shape[1]
            or self.fit_targets.shape != self.fit_inputs.shape[:1]
            or self.query_targets.shape != self.query_inputs.shape[:1]
            or 0 in self.fit_inputs.shape
        ):
            raise InputError(f"Expected shapes n x d, n, q x d, q in episode {self.name}. Got {shapes}.")
        inputs, targets = self.context
        if inputs.shape != (len(targets), self.dimension):
            raise InputError(
                f"Expected context c x {self.dimension} and c in episode {self.name}. Got {inputs.shape}, {targets.shape}."
            )

    @property
    def context(self) -> tuple[Array, Array]:
        """Context inputs ``c x d`` and targets ``c``; c is 0 for most benchmarks."""
        assert self.context_inputs is not None
        assert self.context_targets is not None
        return self.context_inputs, self.context_targets

    @property
    def dimension(self) -> int:
        """Input dimension d."""
        return int(self.fit_inputs.shape[1])


@dataclass(frozen=True, eq=False)
class RolloutTask:
    """An optimization task on the unit cube: maximize a hidden objective of known maximum.

    Args:
        name: unique within the benchmark.
        benchmark: the benchmark's name.
        split: ``train``, ``validation`` or ``test``.
        family: the function family.
        seed: what its hidden transformation was drawn from.
        dimension: D, of the observed points.
        maximum: the objective's largest value, f*.
        evaluate: ``n x D`` points of the unit cube to ``n`` values, in the benchmark's units.
        stream_seed: seed of the initial points and candidates, which are drawn in this order.
        initial_count: number of initial points.
    """

    name: str
    benchmark: str
    split: str
    family: str
    seed: int
    dimension: int
    maximum: float
    evaluate: Callable[[Array], Array]
    stream_seed: int
    initial_count: int


def standardization(targets: Array, floor: float) -> tuple[float, float]:
    """Mean and population standard deviation of targets; a deviation under ``floor`` counts as 1.

    Args:
        targets: ``n`` fitting targets, the only ones that may enter.
        floor: smallest deviation that is divided by.

    Returns:
        The mean, and the scale to divide by.
    """
    deviation = float(targets.std())
    return float(targets.mean()), (1.0 if deviation < floor else deviation)


def episode_seed(split: str, family_index: int, episode_index: int) -> int:
    """``split_offset + 1000 * family_index + episode_index``."""
    return SPLIT_OFFSETS[require_split(split)] + 1000 * family_index + episode_index


def require_split(split: object) -> str:
    """Check a split's name.

    Raises:
        InputError: for anything but train, validation and test.
    """
    if not isinstance(split, str) or split not in SPLIT_OFFSETS:
        raise InputError(f"Expected a split of {', '.join(SPLITS)}. Got {split!r}.")
    return split


def require_per_family(count: object, most: int = MAX_PER_FAMILY) -> int:
    """Check a number of episodes per family.

    Args:
        count: the number.
        most: how many a family has; at most 999.

    Raises:
        InputError: below 1, or above 999, where the seed ranges of two families would overlap.
    """
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 1 <= count <= most:
        raise InputError(
            f"Expected 1 to {most} episodes per family. Got {count!r}.",
            hint="Seeds of neighbouring families are 1000 apart." if most == MAX_PER_FAMILY else None,
        )
    return int(count)
