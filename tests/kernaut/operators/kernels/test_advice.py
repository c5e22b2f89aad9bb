"""Kernels judged on a user's table."""

from __future__ import annotations

import numpy as np

from kernaut.episodes.table import Table
from kernaut.operators.kernels.advice import table_episode


def test_columns_of_levels_are_asked_at_levels_only() -> None:
    rng = np.random.default_rng(0)
    inputs = np.column_stack(
        [rng.uniform(3.0, 5.0, 30), np.resize([2.0, 3.0, 6.0], 30), np.resize(np.arange(16.0), 30)]
    )
    queries = table_episode(Table(inputs, rng.normal(size=30), ("a", "site", "day"))).query_inputs
    assert set(np.unique(queries[:, 1])) == {0.0, 0.25, 1.0}
    assert len(np.unique(queries[:, 0])) == len(np.unique(queries[:, 2])) == len(queries)
