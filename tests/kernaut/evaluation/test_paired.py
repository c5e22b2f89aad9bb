from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernaut.evaluation.paired import holm, paired_tests, sign_flip_p


def test_a_sign_flip_test_agrees_with_every_flip_counted() -> None:
    rng = np.random.default_rng(5)
    first, second = rng.normal(0.35, 1.0, 9), rng.normal(0.0, 1.0, 9)
    difference = first - second
    signs = np.array(list(itertools.product((-1, 1), repeat=9)))
    exact = np.mean(np.abs(signs @ difference) >= abs(difference.sum()) * (1 - 1e-12))
    assert 0.05 < exact < 0.95
    assert sign_flip_p(first, second) == pytest.approx(exact, abs=0.02)


def test_equal_scores_are_no_difference_and_steady_ones_are() -> None:
    scores = list(np.linspace(0.2, 0.9, 20))
    assert sign_flip_p(scores, scores) == 1.0
    assert sign_flip_p(scores, [value + 0.01 for value in scores]) == pytest.approx(1 / 10_000)
    assert sign_flip_p(scores, scores[::-1], seed=1) == sign_flip_p(scores[::-1], scores, seed=1)


def test_scores_of_other_episodes_are_refused() -> None:
    with pytest.raises(ValueError, match="scores of the same episodes"):
        sign_flip_p([0.1, 0.2], [0.1])
    with pytest.raises(ValueError, match="scores of the same episodes"):
        sign_flip_p([], [])


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8))
def test_holm_never_lowers_a_p_value_nor_changes_their_order(values: list[float]) -> None:
    adjusted = holm(values)
    assert all(value <= other for value, other in zip(values, adjusted, strict=True))
    ranked = [adjusted[place] for place in np.argsort(values, kind="stable")]
    assert ranked == sorted(ranked)
    assert min(adjusted) == pytest.approx(min(1.0, len(values) * min(values)))


def test_comparisons_keep_their_names_and_signs() -> None:
    own = [0.30, 0.41, 0.52, 0.28, 0.39]
    tests = paired_tests(own, [("worse", [value + 0.2 for value in own]), ("better", [value - 0.1 for value in own])])
    assert [test.name for test in tests] == ["worse", "better"]
    assert [test.difference.mean for test in tests] == pytest.approx([-0.2, 0.1])
    assert [test.adjusted for test in tests] == pytest.approx(holm([test.p for test in tests]))
    assert tests[0].p == pytest.approx(2 / 32, abs=0.01)
