"""Exact enumeration against a slow twin, hand-computed ties, and the size that was promised."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernaut.digest import content_id
from kernaut.errors import InputError
from kernaut.operators.composition import best_votes, compose, reduced, subset_count, subsets, tallies, vote


def slow(
    flags: np.ndarray, names: list[str], correct: np.ndarray, votes: int, most: int
) -> tuple[int, list[tuple[str, ...]]]:
    good, bad = int(correct.sum()), int((~correct).sum())
    best, found = None, []
    for size in range(votes, min(most, len(names)) + 1):
        for subset in combinations(range(len(names)), size):
            flagged = [sum(bool(flags[i, c]) for i in subset) >= votes for c in range(len(correct))]
            true = sum(f and not right for f, right in zip(flagged, correct, strict=True))
            false = sum(f and right for f, right in zip(flagged, correct, strict=True))
            value = good * true - bad * false
            if best is None or value > best:
                best, found = value, []
            if value == best:
                found.append(tuple(sorted(names[i] for i in subset)))
    assert best is not None
    return best, found


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 7), st.integers(2, 150), st.integers(1, 4))
def test_agrees_with_the_slow_twin(seed: int, count: int, candidates: int, votes: int) -> None:
    rng = np.random.default_rng(seed)
    flags = rng.random((count, candidates)) < 0.4
    correct = rng.random(candidates) < 0.6
    correct[:2] = [True, False]
    names = [f"o{number}" for number in range(count)]
    found = compose(flags, names, correct, votes=votes, most=max(votes, 5))
    if count < votes:
        assert found is None
        return
    best, equal = slow(flags, names, correct, votes, max(votes, 5))
    assert found is not None
    good, bad = int(correct.sum()), int((~correct).sum())
    assert good * found.true_positives - bad * found.false_positives == best
    assert found.objective == pytest.approx(best / good)
    assert found.equal == len(equal)
    assert found.operators == min(equal, key=lambda subset: content_id(sorted(subset)))
    assert (
        found.searched == subset_count(count, votes, max(votes, 5)) == len(list(subsets(count, votes, max(votes, 5))))
    )


def test_hand_computed_with_two_votes() -> None:
    flags = np.array([[1, 1, 0, 0, 1], [1, 0, 1, 0, 0], [0, 1, 1, 0, 1]], dtype=bool)
    correct = np.array([0, 0, 0, 1, 1], dtype=bool)
    found = compose(flags, ["a", "b", "c"], correct)
    assert found is not None
    # a+b: flags 0 (1 TP); a+c: flags 1 and 4 (1 TP, 1 FP); b+c: flags 2; a+b+c: 0, 1, 2 and 4 (3 TP, 1 FP): 3 - 1.5 = 1.5
    assert found.operators == ("a", "b", "c")
    assert (found.true_positives, found.false_positives, found.objective) == (3, 1, 1.5)


def test_equal_subsets_are_counted_and_the_smallest_digest_is_used() -> None:
    flags = np.array([[1, 0], [1, 0], [1, 0]], dtype=bool)
    found = compose(flags, ["a", "b", "c"], np.array([False, True]))
    assert found is not None
    assert found.equal == 4
    assert found.operators == min(
        (("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")), key=lambda s: content_id(list(s))
    )


def test_nothing_can_be_composed_without_operators_or_with_one_label() -> None:
    assert compose(np.zeros((0, 4), dtype=bool), [], np.array([1, 1, 0, 0], dtype=bool)) is None
    assert compose(np.ones((3, 2), dtype=bool), ["a", "b", "c"], np.array([True, True])) is None


def test_a_given_weight_replaces_the_class_ratio() -> None:
    flags = np.array([[1, 1, 1, 0], [1, 0, 0, 0]], dtype=bool)
    correct = np.array([0, 0, 1, 1], dtype=bool)
    mild = compose(flags, ["wide", "narrow"], correct, votes=1, weight=0.5)
    strict = compose(flags, ["wide", "narrow"], correct, votes=1, weight=3.0)
    assert mild is not None
    assert strict is not None
    assert "wide" in mild.operators
    assert strict.operators == ("narrow",)


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_a_pool_too_large_loses_copies_first_which_loses_nothing(seed: int, votes: int) -> None:
    rng = np.random.default_rng(seed)
    different = rng.random((3, 40)) < 0.4
    flags = np.concatenate([different[rng.integers(0, 3, 12)], np.zeros((2, 40), dtype=bool)])
    correct = np.arange(40) % 3 > 0
    names = [f"o{number}" for number in rng.permutation(14)]
    whole = compose(flags, names, correct, votes=votes, limit=14)
    less = compose(flags, names, correct, votes=votes, limit=4 * votes)
    assert whole is not None
    assert less is not None
    assert less.objective == whole.objective
    assert (less.pool, less.left_out) == (14, ())
    assert less.repeated >= 14 - 4 * votes
    assert (whole.repeated, whole.searched) == (0, subset_count(14, votes))


def test_what_a_pool_too_large_loses_beyond_that_is_said() -> None:
    flags = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 0]], dtype=bool)
    correct = np.array([0, 0, 1, 1], dtype=bool)
    assert reduced(flags, list("dcba"), np.array([2, 2, -2, -2]), votes=1, limit=2) == ([0, 3], [1, 2])
    found = compose(flags, list("dcba"), correct, votes=1, limit=2)
    assert found is not None
    assert found.left_out == ("c", "b")
    assert found.to_json()["left_out"] == ["c", "b"]


def test_the_best_number_of_votes_is_chosen_by_the_same_objective() -> None:
    correct = np.array([0, 0, 0, 1, 1, 1], dtype=bool)
    apart = np.array([[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]], dtype=bool)
    noisy = np.array([[1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 1, 0]], dtype=bool)
    union, pair = best_votes(apart, list("abc"), correct), best_votes(noisy, list("de"), correct)
    assert union is not None
    assert pair is not None
    assert (union.votes, union.objective) == (1, 3.0)
    assert (pair.votes, pair.objective) == (2, 3.0)
    equal = best_votes(np.array([[1, 0], [1, 0]], dtype=bool), list("ab"), np.array([False, True]))
    assert equal is not None
    assert equal.votes == 2
    assert best_votes(np.zeros((0, 2), dtype=bool), [], np.array([False, True])) is None
    with pytest.raises(InputError, match="Expected 1 to 6 operators"):
        best_votes(apart, list("abc"), correct, most=0)


def test_numbers_of_votes_are_compared_by_whole_numbers() -> None:
    """3 of 3 wrong and 7 of 9 right ones are worth what 1 and 1 are, which floats would not say."""
    flags = np.array(
        [[letter == "1" for letter in row] for row in ("010101100110", "010010011011", "011110011000")], dtype=bool
    )
    correct = np.arange(12) < 9
    one, two = (compose(flags, list("abc"), correct, votes=votes) for votes in (1, 2))
    assert one is not None
    assert two is not None
    assert 9 * one.true_positives - 3 * one.false_positives == 9 * two.true_positives - 3 * two.false_positives
    assert one.objective > two.objective
    assert best_votes(flags, list("abc"), correct) == two


@pytest.mark.parametrize(("votes", "most"), [(0, 6), (5, 6), (2, 7), (3, 2)])
def test_votes_and_sizes_out_of_range_are_errors(votes: int, most: int) -> None:
    with pytest.raises(InputError, match="Expected"):
        compose(np.ones((3, 2), dtype=bool), ["a", "b", "c"], np.array([True, False]), votes=votes, most=most)


def test_thirty_five_operators_give_two_million_subsets() -> None:
    assert subset_count(35, 2) == 2_007_292
    rng = np.random.default_rng(5)
    flags, correct = rng.random((35, 400)) < 0.1, rng.random(400) < 0.5
    best, count = -1, 0
    for chosen, true, false in tallies(flags, correct, votes=2, most=4):
        count += len(chosen)
        assert (true + false <= 400).all()
        place = int((true - false).argmax())
        if true[place] - false[place] > best:
            best, subset = int(true[place] - false[place]), chosen[place]
    assert count == subset_count(35, 2, 4)
    flagged = vote(flags[subset], 2)
    assert int((flagged & ~correct).sum()) - int((flagged & correct).sum()) == best
