"""A user's table as a benchmark: one task, scored by the log marginal likelihood of its rows; nothing is held back from the fit.

With a split rule only the rows that may be learnt from are in it; the held-out ones are scored by :mod:`kernaut.search.table_run` after the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernaut.digest import content_id
from kernaut.episodes.benchmark import Benchmark
from kernaut.episodes.episode import Episode
from kernaut.episodes.table import Table, read_table, target_scale
from kernaut.episodes.table_splits import SplitRule, held_out
from kernaut.errors import InputError
from kernaut.seeds import generator

TUNING_ROWS = 200
"""Rows of the cheaper tuning tasks; their cost grows with the cube."""

FAMILY = "table"


class TableRegression(Benchmark):
    """One regression table.

    Args:
        data: its file.
        target: its target column; None for JSON.
        drop: columns to leave out.
        folds: hold out one of so many folds.
        time_order: hold out the last fifth of the rows.
        part: which part is held out, from 0; None holds nothing out.

    Raises:
        InputError: when the table cannot be used, or for folds and time order together.
    """

    name = "table"
    reference_grid = "tuned"
    most_per_family: ClassVar[int] = 1
    refinement_episodes: ClassVar[int] = 1

    def __init__(
        self,
        data: str,
        target: str | None = None,
        drop: Sequence[str] = (),
        folds: int | None = None,
        time_order: bool = False,
        part: int | None = None,
    ) -> None:
        if folds is not None and time_order:
            raise InputError("Expected folds or time order. Got both.")
        self._asked = {"data": data, "target": target, "drop": list(drop), "folds": folds, "time_order": time_order}
        self.part = part
        self.rule = SplitRule(folds) if folds is not None or time_order else None
        self.table: Table = read_table(data, target, drop=drop)
        self.dimensions = (len(self.table.columns),)
        if self.part is not None and self.rule is None:
            raise InputError("Expected folds or time order with a part. Got neither.")

    @cached_property
    def training(self) -> Table:
        """The rows that may be learnt from.

        Raises:
            InputError: for too few of them.
        """
        if self.rule is None or self.part is None:
            return self.table
        return self.table.rows(held_out(self.table.inputs, self.rule, self.part)[0])

    @property
    def testing(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Held-out inputs ``m x d`` and targets ``m``, as they were read; none without a part."""
        if self.rule is None or self.part is None:
            return self.table.inputs[:0], self.table.targets[:0]
        places = held_out(self.table.inputs, self.rule, self.part)[1]
        return self.table.inputs[places], self.table.targets[places]

    def families(self, split: str) -> tuple[str, ...]:
        """The table, on the train split.

        Raises:
            InputError: for another split: held-out rows are scored after the search.
        """
        if split != "train":
            raise InputError(
                f"Expected the train split of a table. Got {split!r}.",
                hint="Held-out scores of a table: kernaut run --folds 5, or --time-order.",
            )
        return (FAMILY,)

    def _episode(self, split: str, family_index: int, episode_index: int, tuning: bool) -> Episode:
        inputs, targets = self.training.unit_inputs(), self.training.targets
        name = f"{FAMILY}:rows"
        if tuning and len(targets) > TUNING_ROWS:
            places = np.sort(generator("table-tuning", len(targets)).permutation(len(targets))[:TUNING_ROWS])
            inputs, targets, name = inputs[places], targets[places], f"{FAMILY}:tuning-rows"
        mean, scale = target_scale(targets)
        dimension = inputs.shape[1]
        return Episode(
            name=name,
            benchmark=self.name,
            split=split,
            family=FAMILY,
            seed=0,
            fit_inputs=inputs,
            fit_targets=(targets - mean) / scale,
            query_inputs=np.empty((0, dimension)),
            query_targets=np.empty(0),
            target_mean=mean,
            target_scale=scale,
        )

    def options(self) -> dict[str, Any]:
        """What the benchmark was made with."""
        return {**self._asked, "part": self.part}

    def digest(self) -> str:
        """Identifier of the rows and of what is held out; where the file lies does not enter."""
        rule = None if self.rule is None else [self.rule.folds, self.part]
        return content_id({"benchmark": self.name, "version": self.version, "rows": self.table.digest(), "rule": rule})
