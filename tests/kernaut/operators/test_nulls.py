"""Chance against exact distributions and hand-computed cases."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import hypergeom

from kernaut.operators.nulls import across_null, benjamini_hochberg, shuffle_null, sign_flips
from kernaut.operators.selection import Panel


def test_shuffles_keep_counts_and_have_the_hypergeometric_law() -> None:
    panel = Panel(np.array([0] * 6 + [1] * 4), np.array([1, 1, 0, 0, 0, 0, 1, 0, 0, 1], dtype=bool))
    flags = np.array([0, 0, 1, 1, 0, 0, 0, 1, 0, 0], dtype=bool)
    p, null = shuffle_null(panel, flags, np.random.default_rng(1), 20_000)
    first, second = hypergeom(6, 2, 4), hypergeom(4, 2, 3)
    exact = {round((a / 4 + b / 3) / 2, 9): first.pmf(a) * second.pmf(b) for a in range(3) for b in range(1, 3)}
    for value, probability in exact.items():
        assert (np.abs(null - value) < 1e-8).mean() == pytest.approx(probability, abs=0.015)
    observed = panel.accuracy(flags).mean()
    assert p == pytest.approx(sum(q for value, q in exact.items() if value >= observed - 1e-9), abs=0.015)


def test_shuffles_across_tasks_ask_whether_a_rule_knows_the_task() -> None:
    """Two tasks of three candidates, all permutations by hand: each candidate's two flags stay or change places."""
    panel = Panel(np.array([0, 0, 0, 1, 1]), np.array([1, 0, 0, 0, 1], dtype=bool))
    visible = np.array([1, 1, 1, 1, 1, 0], dtype=bool)
    flags = np.array(
        [0, 1, 1, 1, 0, 1], dtype=bool
    )  # a perfect rule; the last candidate of the second task is not in V
    p = across_null(panel, flags, visible, 2, np.random.default_rng(0), 4000)
    table, worse = flags.reshape(2, 3), 0
    for swaps in product((False, True), repeat=3):
        shuffled = np.array([table[::-1, k] if swap else table[:, k] for k, swap in enumerate(swaps)]).T.ravel()
        worse += panel.accuracy(shuffled[visible]).mean() < panel.accuracy(flags[visible]).mean()
    assert p == pytest.approx(1.0 - worse / 8, abs=0.03)
    assert worse
    same = np.array([1, 0, 0] * 2, dtype=bool)
    assert across_null(panel, same, visible, 2, np.random.default_rng(0)) == 1.0


def test_a_rule_that_flags_nothing_is_no_better_than_chance_and_seeds_repeat() -> None:
    panel = Panel(np.array([1, 0, 0, 1]), np.array([1, 0, 1, 0], dtype=bool))
    nothing = np.zeros(4, dtype=bool)
    assert shuffle_null(panel, nothing, np.random.default_rng(0))[0] == 1.0
    rule = np.array([0, 1, 0, 1], dtype=bool)
    again = [shuffle_null(panel, rule, np.random.default_rng(7))[0] for _ in range(2)]
    assert again[0] == again[1] == pytest.approx(0.25, abs=0.05)


def test_sign_flips_are_exact_for_few_tasks() -> None:
    rng = np.random.default_rng(0)
    assert sign_flips(np.array([1.0, 1.0, 1.0, 0.0]), rng) == pytest.approx(2 / 8)
    assert sign_flips(np.array([2.0, -1.0]), rng) == pytest.approx(1.0)
    assert sign_flips(np.zeros(5), rng) == 1.0
    assert sign_flips(np.full(20, 0.5), rng) == pytest.approx(
        1 / 10_001, rel=3
    )  # 2 of 2**20 exactly, at most a few of 10 000 drawn


def test_benjamini_hochberg_by_hand() -> None:
    assert benjamini_hochberg([0.5, 0.01, 0.049, 0.9]) == [False, True, True, False]
    assert benjamini_hochberg([0.06, 0.06]) == [True, True]
    assert benjamini_hochberg([0.2, 0.3]) == [False, False]
    assert benjamini_hochberg([]) == []
