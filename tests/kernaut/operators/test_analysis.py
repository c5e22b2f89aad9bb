"""Analyses against hand-computed cases and slow twins."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from kernaut.operators.analysis import CRITERIA, SWEEP, duplication, jaccard, landscape, rarefaction, sweep, veto
from kernaut.operators.selection import Panel
from tests.kernaut.operators.conftest import flagging


def panel(count: int = 60, seed: int = 0) -> tuple[Panel, np.ndarray]:
    rng = np.random.default_rng(seed)
    correct = rng.random(count) < 0.6
    correct[:2] = [True, False]
    flags = rng.random((5, count)) < np.where(correct, 0.15, 0.4)
    return Panel(np.arange(count) % 10, correct), flags


def test_rarefaction_agrees_with_all_choices() -> None:
    sets = [{b"a", b"b"}, {b"a"}, {b"c", b"d"}, set()]
    for size in range(1, 5):
        twin = np.mean([len(set().union(*chosen)) for chosen in combinations(sets, size)])
        assert rarefaction(sets)[size - 1] == pytest.approx(twin)


def test_duplication_counts_flag_sets_not_sources() -> None:
    one, two, three = flagging([1]), flagging([1], level=2), flagging([2])
    flags = {one.id: np.array([0, 1, 0]), two.id: np.array([0, 1, 0]), three.id: np.array([0, 0, 1])}
    found = duplication([[one], [two, three]], {key: value.astype(bool) for key, value in flags.items()})
    assert (found["operators"], found["distinct_sources"], found["distinct_flag_sets"]) == (3, 3, 2)
    assert found["expected_new_in_one_more_run"] == pytest.approx(0.5)
    assert jaccard({"a"}, {"a", "b"}) == 0.5


def test_criteria_are_registered_and_placed_in_the_whole_landscape() -> None:
    assert sorted(criterion.predicted_rank for criterion in CRITERIA) == list(range(1, len(CRITERIA) + 1))
    train, flags = panel()
    far, far_flags = panel(seed=1)
    found = landscape(train, flags, far, far_flags, np.random.default_rng(0))
    assert found["subsets"] == found["looked_at"] == 26
    assert {row["name"] for row in found["criteria"]} >= {"tp - fp", "precision", "recall", "f1", "training accuracy"}
    for row in found["criteria"]:
        assert row["accuracy"] <= found["best"] + 1e-12
        assert 0.0 < row["percentile"] <= 100.0


def test_the_sweep_gets_stricter() -> None:
    train, flags = panel()
    rows = sweep(train, flags, list("abcde"), train, flags, votes=1)
    assert [row["lambda"] for row in rows] == list(SWEEP)
    assert len(rows[0]["operators"]) >= len(rows[-1]["operators"])


def test_veto_drops_copies_and_the_empty() -> None:
    flags = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 1, 1]], dtype=bool)
    assert veto(flags, list("abcd")) == [0, 3]
