from __future__ import annotations

import numpy as np
import pytest

from kernaut.episodes.table_splits import SplitRule, held_out
from kernaut.errors import InputError


def test_every_row_is_held_out_once_and_equal_inputs_stay_together() -> None:
    inputs = np.random.default_rng(0).integers(0, 4, size=(53, 2)).astype(float)
    rule = SplitRule(4)
    seen: list[int] = []
    for part in range(4):
        train, test = held_out(inputs, rule, part)
        assert sorted([*train, *test]) == list(range(53))
        twins = {tuple(row) for row in inputs[train]} & {tuple(row) for row in inputs[test]}
        assert not twins
        seen += test.tolist()
    assert sorted(seen) == list(range(53))
    assert rule.label(1) == "fold-2-of-4"


def test_folds_are_of_equal_size_where_rows_differ() -> None:
    inputs = np.arange(22.0)[:, None]
    sizes = [len(held_out(inputs, SplitRule(5), part)[1]) for part in range(5)]
    assert sorted(sizes) == [4, 4, 4, 5, 5]
    assert held_out(inputs, SplitRule(5), 0)[1].tolist() != list(range(5))  # shuffled


def test_time_order_holds_out_the_last_fifth() -> None:
    train, test = held_out(np.arange(11.0)[:, None], SplitRule(), 0)
    assert train.tolist() == list(range(9))
    assert test.tolist() == [9, 10]
    assert (SplitRule().count, SplitRule().label(0)) == (1, "later-rows")


def test_what_cannot_be_split() -> None:
    with pytest.raises(InputError, match="at least 2 folds"):
        SplitRule(1)
    with pytest.raises(InputError, match="distinct rows of inputs, 3"):
        held_out(np.array([[1.0], [2.0], [2.0], [3.0]]), SplitRule(4), 0)
    with pytest.raises(InputError, match="part from 0 to 1"):
        held_out(np.arange(9.0)[:, None], SplitRule(2), 2)
