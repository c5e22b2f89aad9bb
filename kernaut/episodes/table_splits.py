"""Held-out rows of a user's table: K folds, or the last part of rows that are in the order of time.

Partitions never depend on the search's seed.  Rows with equal inputs stay in one fold, so that no held-out row has a twin among those that are learnt from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernaut.errors import InputError
from kernaut.seeds import generator

Places = NDArray[np.int64]

LATER_SHARE = 0.2
"""Share of the rows that ``--time-order`` holds out."""


@dataclass(frozen=True)
class SplitRule:
    """How rows are held out.

    Args:
        folds: number of folds, at least 2; None for rows in the order of time.

    Raises:
        InputError: for fewer than 2 folds.
    """

    folds: int | None = None

    def __post_init__(self) -> None:
        if self.folds is not None and (isinstance(self.folds, bool) or self.folds < 2):
            raise InputError(f"Expected at least 2 folds. Got {self.folds!r}.")

    @property
    def count(self) -> int:
        """How many parts are held out in turn."""
        return 1 if self.folds is None else self.folds

    def label(self, part: int) -> str:
        """A name for one part, such as ``fold-2-of-5``."""
        return "later-rows" if self.folds is None else f"fold-{part + 1}-of-{self.folds}"


def held_out(inputs: NDArray[np.float64], rule: SplitRule, part: int) -> tuple[Places, Places]:
    """Rows to learn from, and held-out rows, both in the table's order.

    Args:
        inputs: ``n x d``.
        rule: how rows are held out.
        part: which part, from 0.

    Raises:
        InputError: for more folds than distinct rows, or a part that does not exist.
    """
    if not 0 <= part < rule.count:
        raise InputError(f"Expected a part from 0 to {rule.count - 1}. Got {part!r}.")
    count = len(inputs)
    if rule.folds is None:
        cut = count - max(1, round(LATER_SHARE * count))
        return np.arange(cut), np.arange(cut, count)
    _, group = np.unique(inputs, axis=0, return_inverse=True)
    group = group.reshape(-1)
    groups = int(group.max()) + 1
    if groups < rule.folds:
        raise InputError(f"Expected at most as many folds as distinct rows of inputs, {groups}. Got {rule.folds}.")
    order = generator("table-folds", rule.folds).permutation(groups)
    fold = np.empty(groups, dtype=np.int64)
    fold[order] = np.arange(groups) % rule.folds
    mine = fold[group] == part
    return np.flatnonzero(~mine), np.flatnonzero(mine)
