"""Chance: shuffled flags, sign-flips of paired differences, and the Benjamini-Hochberg procedure.

References: Phipson and Smyth (2010) for ``(1 + b) / (1 + B)``; Benjamini and Hochberg (1995).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from kernaut.operators.records import Flags
from kernaut.operators.selection import Panel

RESAMPLES = 1000
RATE = 0.1
_EXACT_BELOW = 13

Array = NDArray[np.float64]


def shuffle_null(
    panel: Panel, flags: Flags, rng: np.random.Generator, resamples: int = RESAMPLES
) -> tuple[float, Array]:
    """Shuffle a rule's flags within each task, counts kept.

    Args:
        panel: labelled candidates.
        flags: ``n`` flags.
        rng: the seeded stream.
        resamples: B.

    Returns:
        ``p = (1 + resamples at least as accurate) / (1 + B)``, and the B accuracies.
    """
    order = np.lexsort((np.arange(len(panel.task)), panel.task))
    keys = rng.random((resamples, len(panel.task))) + panel.task[order]
    places = np.argsort(keys, axis=1)  # tasks stay together, their members are shuffled
    shuffled = np.empty((resamples, len(panel.task)), dtype=bool)
    shuffled[:, order] = flags[order][places]
    observed = panel.accuracy(flags).mean()
    null = panel.accuracy(shuffled).mean(-1)
    return (1.0 + float((null >= observed - 1e-12).sum())) / (1.0 + resamples), null


def across_null(
    panel: Panel, flags: Flags, visible: Flags, tasks: int, rng: np.random.Generator, resamples: int = RESAMPLES
) -> float:
    """Shuffle each candidate's flags over tasks, where every task has the same candidates, such as one set of kernels on all episodes.

    A rule that flags the same candidates on every task, and so knows them but no task, gets 1.

    Args:
        panel: labelled candidates, those that are visible.
        flags: ``tasks * S`` flags, task by task.
        visible: as many; which of them the panel holds.
        tasks: number of tasks.
        rng: the seeded stream.
        resamples: B.

    Returns:
        ``(1 + resamples at least as accurate) / (1 + B)``.
    """
    table = flags.reshape(tasks, -1)
    if not (table.any(0) & ~table.all(0)).any():
        return 1.0  # nothing to shuffle
    observed = panel.accuracy(flags[visible]).mean()
    shuffled = rng.permuted(np.broadcast_to(table, (resamples, *table.shape)), axis=1).reshape(resamples, -1)
    null = panel.accuracy(shuffled[:, visible]).mean(-1)
    return (1.0 + float((null >= observed - 1e-12).sum())) / (1.0 + resamples)


def sign_flips(differences: Array, rng: np.random.Generator, resamples: int = 10_000) -> float:
    """Two-sided p-value of a mean paired difference under random signs of the tasks; exact for up to 12 tasks that differ.

    Args:
        differences: ``T`` differences of two rules by task.
        rng: the seeded stream, used beyond 12 tasks.
        resamples: how many sign vectors are drawn then.
    """
    moved = np.asarray(differences)[np.abs(differences) > 1e-12]
    if not len(moved):
        return 1.0
    observed = abs(moved.sum())
    if len(moved) < _EXACT_BELOW:
        signs = np.array(list(product((1.0, -1.0), repeat=len(moved)))).reshape(-1, len(moved))
        return float((np.abs(signs @ moved) >= observed - 1e-12).mean())
    signs = rng.integers(0, 2, (resamples, len(moved))) * 2.0 - 1.0
    return (1.0 + float((np.abs(signs @ moved) >= observed - 1e-12).sum())) / (1.0 + resamples)


def benjamini_hochberg(values: Sequence[float], rate: float = RATE) -> list[bool]:
    """Which of a batch of p-values are discoveries at a false discovery rate.

    Args:
        values: p-values, in any order.
        rate: the rate.
    """
    count = len(values)
    order = sorted(range(count), key=lambda i: values[i])
    largest = max((rank for rank, i in enumerate(order, 1) if values[i] <= rate * rank / count), default=0)
    found = [False] * count
    for i in order[:largest]:
        found[i] = True
    return found
