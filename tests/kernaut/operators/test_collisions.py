"""Signatures and the largest class that holds both labels."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from kernaut.operators.collisions import collisions, signatures
from kernaut.operators.records import Verdicts
from tests.kernaut.operators.conftest import electorate_of, verdicts_of


def test_an_empty_pool_gives_all_candidates_one_signature() -> None:
    electorate = electorate_of([[1, 0], [0, "x"]])
    (only,) = collisions(electorate, [], [0, 1, 2])
    assert (only.signature, only.correct, only.incorrect, only.size) == ("", (0,), (1, 2), 3)


def test_classes_of_one_label_are_no_collisions() -> None:
    electorate = electorate_of([[1, 1, 0, 0]])
    perfect = verdicts_of([2, 3], 4)
    assert collisions(electorate, [perfect], range(4)) == []
    assert collisions(electorate_of([[1, 1]]), [], range(2)) == []


def test_abstaining_is_a_verdict_of_its_own() -> None:
    electorate = electorate_of([[1, 0, 1, 0]])
    pool = [verdicts_of([0], 4, abstained=[2, 3])]
    assert signatures(pool, 4) == ["f", "p", "a", "a"]
    (found,) = collisions(electorate, pool, range(4))
    assert (found.correct, found.incorrect) == ((2,), (3,))


def test_the_largest_comes_first_and_ties_go_to_the_smallest_digest() -> None:
    electorate = electorate_of([[1, 0, 1, 0, 0]])
    found = collisions(electorate, [verdicts_of([0, 1], 5)], range(5))
    assert [c.size for c in found] == [3, 2]
    tied = collisions(electorate, [verdicts_of([0, 1], 5)], range(4))
    assert [c.size for c in tied] == [2, 2]
    assert tied[0].digest < tied[1].digest


def test_agrees_with_a_pairwise_twin() -> None:
    rng = np.random.default_rng(3)
    for _ in range(30):
        labels = rng.integers(0, 2, 14).tolist()
        electorate = electorate_of([labels])
        pool = [Verdicts(rng.integers(-1, 2, 14).astype(np.int8)) for _ in range(int(rng.integers(0, 4)))]
        groups = defaultdict(list)
        for place in range(14):
            groups[tuple(int(v.codes[place]) for v in pool)].append(place)
        mixed = [members for members in groups.values() if len({labels[m] for m in members}) == 2]
        found = collisions(electorate, pool, range(14))
        assert sorted(sorted([*c.correct, *c.incorrect]) for c in found) == sorted(mixed)
        assert [c.size for c in found] == sorted((len(m) for m in mixed), reverse=True)
