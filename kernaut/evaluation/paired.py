"""Paired tests of one kernel against several on the same episodes, with Holm's correction for their number.

The test flips the signs of paired differences, seeded; it asks whether the mean difference could come from episodes on which neither kernel is better.
References: Good (2005), chapter 3; Holm (1979), Scand. J. Statist. 6, 65-70.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernaut.evaluation.statistics import PairedDifference, paired_difference
from kernaut.seeds import generator

Array = NDArray[np.float64]

FLIPS = 9_999


@dataclass(frozen=True)
class PairedTest:
    """One comparison.

    Args:
        name: what the kernel is compared with.
        difference: mean of kernel minus other, with its bootstrap interval; below 0 the kernel is better where lower is.
        p: two-sided p-value of the sign-flip test.
        adjusted: Holm's adjusted p-value over all comparisons.
    """

    name: str
    difference: PairedDifference
    p: float
    adjusted: float


def sign_flip_p(first: Sequence[float] | Array, second: Sequence[float] | Array, *, seed: int = 0) -> float:
    """Two-sided p-value of the mean paired difference, ``(1 + at least as large) / (1 + flips)``.

    Raises:
        ValueError: when the two differ in length, or are empty.
    """
    one, two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.shape != two.shape or one.ndim != 1 or len(one) == 0:
        raise ValueError(f"Expected scores of the same episodes. Got shapes {one.shape} and {two.shape}.")
    difference = one - two
    signs = generator("sign-flips", seed, len(difference)).integers(0, 2, (FLIPS, len(difference))) * 2 - 1
    means = np.abs(signs @ difference)
    return float((1 + np.sum(means >= abs(difference.sum()) * (1.0 - 1e-12))) / (1 + FLIPS))


def holm(values: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the order given."""
    order = np.argsort(values, kind="stable")
    adjusted = np.empty(len(values))
    running = 0.0
    for rank, place in enumerate(order):
        running = max(running, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = running
    return adjusted.tolist()


def paired_tests(
    scores: Sequence[float], others: Sequence[tuple[str, Sequence[float]]], *, seed: int = 0
) -> list[PairedTest]:
    """Compare one kernel with each of several on the same episodes.

    Args:
        scores: the kernel's, one an episode; failures at their penalty.
        others: names and scores of the others, on the same episodes in the same order.
        seed: of resampling and flips.
    """
    values = [sign_flip_p(scores, other, seed=seed) for _, other in others]
    return [
        PairedTest(name, paired_difference(scores, other, seed=seed), p, adjusted)
        for (name, other), p, adjusted in zip(others, values, holm(values), strict=True)
    ]
