"""Seeded bootstrap intervals of means over episodes, and of paired differences of two kernels on the same episodes.

Percentile intervals (Efron and Tibshirani, 1993, chapter 13).  Episodes are resampled, so an interval speaks of other episodes of the same families, not of
other families.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from kernaut.seeds import generator

Array = NDArray[np.float64]

RESAMPLES = 2000
LEVEL = 0.95
_CHUNK = 1_000_000


@dataclass(frozen=True)
class PairedDifference:
    """How two kernels differ on the same episodes.

    Args:
        mean: mean of first minus second; below 0 the first is better where lower is better.
        lower: lower end of its 95 % bootstrap interval.
        upper: upper end.
        episodes: number of pairs.
        first_better: share of episodes where the first has the lower score.
    """

    mean: float
    lower: float
    upper: float
    episodes: int
    first_better: float

    @property
    def decided(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.upper < 0.0 or self.lower > 0.0

    def to_json(self) -> dict[str, float | int]:
        """All fields."""
        return asdict(self)


def bootstrap_interval(
    values: Sequence[float] | Array, *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL
) -> tuple[float, float]:
    """Percentile interval of the mean.

    Args:
        values: ``n`` scores, one an episode.
        seed: of the resampling; equal seeds give equal intervals.
        resamples: number of bootstrap samples.
        level: probability between the two ends.

    Returns:
        Lower and upper end.

    Raises:
        ValueError: for no values.
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or len(sample) == 0:
        raise ValueError(f"Expected at least one value in one dimension. Got shape {sample.shape}.")
    rng = generator("bootstrap", seed, len(sample))
    rows = max(1, _CHUNK // len(sample))
    means: list[Array] = []
    for start in range(0, resamples, rows):
        index = rng.integers(0, len(sample), (min(rows, resamples - start), len(sample)))
        means.append(sample[index].mean(axis=1))
    tail = 0.5 * (1.0 - level)
    lower, upper = np.quantile(np.concatenate(means), [tail, 1.0 - tail])
    return float(lower), float(upper)


def paired_difference(
    first: Sequence[float] | Array, second: Sequence[float] | Array, *, seed: int = 0, resamples: int = RESAMPLES
) -> PairedDifference:
    """Compare two kernels on the same episodes in the same order.

    Args:
        first: ``n`` scores.
        second: ``n`` scores.
        seed: of the resampling.
        resamples: number of bootstrap samples.

    Raises:
        ValueError: when the two differ in length, or are empty.
    """
    one, two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.shape != two.shape:
        raise ValueError(f"Expected scores of the same episodes. Got {one.shape} and {two.shape}.")
    difference = one - two
    lower, upper = bootstrap_interval(difference, seed=seed, resamples=resamples)
    return PairedDifference(float(difference.mean()), lower, upper, len(difference), float((difference < 0).mean()))
