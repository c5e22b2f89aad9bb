"""Composition: the subset of operators whose vote separates the training labels best, by exact enumeration.

A candidate is flagged when at least ``m`` of the ``k`` chosen operators flag it.  The objective ``TP - lambda FP`` with ``lambda = incorrect / correct`` is compared as the
whole number ``correct * TP - incorrect * FP``, so that equal subsets are equal.  Flags are packed into 64-bit words and votes counted by saturating bit planes: plane j
says "at least j + 1 of the operators so far"; adding an operator to millions of prefixes takes a few word operations each.

Shapes: ``p`` operators, ``n`` candidates, ``W`` words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kernaut.digest import content_id
from kernaut.errors import InputError
from kernaut.operators.records import Flags

MOST_VOTES = 4
MOST_CHOSEN = 6
MOST_POOL = 35
VOTES_IN_ORDER = (2, 1, 3, 4)
"""The order in which numbers of votes are tried; a later one must be strictly better."""
_BLOCK = 1 << 15

Words = NDArray[np.uint64]
Votes = int | Literal["best"]


@dataclass(frozen=True)
class Composition:
    """A rule "flagged by at least ``votes`` of these operators".

    Args:
        operators: identifiers, sorted.
        votes: m.
        objective: TP - lambda FP on the training labels.
        true_positives: incorrect candidates flagged.
        false_positives: correct candidates flagged.
        equal: how many subsets reach the same objective, this one included.
        searched: how many subsets were compared.
        pool: how many operators there were.
        repeated: operators left out of a large pool since enough others flag the same; this loses no better subset.
        left_out: operators left out beyond that, so that a better subset may have been missed.
    """

    operators: tuple[str, ...]
    votes: int
    objective: float
    true_positives: int
    false_positives: int
    equal: int
    searched: int
    pool: int
    repeated: int = 0
    left_out: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The record as JSON."""
        return {**self.__dict__, "operators": list(self.operators), "left_out": list(self.left_out)}


def vote(flags: Flags, votes: int) -> Flags:
    """Which candidates at least ``votes`` of the operators flag.

    Args:
        flags: ``k x n``.
        votes: m.
    """
    return np.asarray(flags.sum(0) >= votes)


def compose(
    flags: Flags,
    names: Sequence[str],
    correct: Flags,
    *,
    votes: int = 2,
    most: int = MOST_CHOSEN,
    weight: float | None = None,
    limit: int = MOST_POOL,
) -> Composition | None:
    """The best subset of ``votes`` to ``most`` operators.

    Of a pool larger than ``limit`` all but ``votes`` of those that flag the same are left out first, which is exact; then, if that is not enough, those whose own flags
    are worth least, which is not and is said.

    Args:
        flags: ``p x n`` flags of the operators on labelled candidates in V.
        names: ``p`` identifiers.
        correct: ``n`` labels.
        votes: m, 1 to 4.
        most: largest subset, at most 6.
        weight: lambda; the class ratio if absent.
        limit: largest pool that is enumerated.

    Returns:
        The subset of largest objective, of equal ones that of smallest digest; None when there are fewer than ``votes`` operators, or when
        one label is missing, so that nothing can be separated.

    Raises:
        InputError: for votes or sizes out of range.
    """
    require_votes(votes, most)
    good, bad = int(correct.sum()), int((~correct).sum())
    if len(names) < votes or not good or not bad:
        return None
    reward, cost = _whole_weights(good, bad, weight)
    pool = len(names)
    kept, left_out = reduced(flags, names, reward * ~correct - cost * correct, votes=votes, limit=limit)
    repeated = pool - len(kept) - len(left_out)
    missing = tuple(names[i] for i in left_out)
    flags, names = flags[kept], [names[i] for i in kept]
    if len(names) < votes:
        return None
    best: int | None = None
    ties: list[tuple[int, ...]] = []
    searched = 0
    for chosen, true, false in tallies(flags, correct, votes=votes, most=most):
        searched += len(chosen)
        value = reward * true - cost * false
        top = int(value.max())
        if best is None or top > best:
            best, ties = top, []
        if top == best:
            ties += [tuple(int(i) for i in row if i >= 0) for row in chosen[value == top]]
    subset = min(ties, key=lambda chosen: content_id(sorted(names[i] for i in chosen)))
    flagged = vote(flags[list(subset)], votes)
    hits, alarms = int((flagged & ~correct).sum()), int((flagged & correct).sum())
    ratio = bad / good if weight is None else weight
    chosen_names = tuple(sorted(names[i] for i in subset))
    return Composition(
        chosen_names, votes, hits - ratio * alarms, hits, alarms, len(ties), searched, pool, repeated, missing
    )


def best_votes(
    flags: Flags, names: Sequence[str], correct: Flags, *, most: int = MOST_CHOSEN, limit: int = MOST_POOL
) -> Composition | None:
    """The composition of largest objective over all numbers of votes that fit ``most``; of equal ones that of two votes, then one, three, four.

    Raises:
        InputError: for a largest subset out of range.
    """
    require_votes(1, most)
    found = [
        compose(flags, names, correct, votes=votes, most=most, limit=limit) for votes in VOTES_IN_ORDER if votes <= most
    ]
    good, bad = int(correct.sum()), int((~correct).sum())
    return max(
        (one for one in found if one is not None),
        key=lambda one: good * one.true_positives - bad * one.false_positives,
        default=None,
    )


def reduced(
    flags: Flags, names: Sequence[str], worth: NDArray[np.int64], *, votes: int, limit: int
) -> tuple[list[int], list[int]]:
    """The operators of a pool that are enumerated, and those that a better subset may have needed.

    A pool within the limit is kept whole.  Of operators that flag the same, a subset needs no more than ``votes``.

    Args:
        flags: ``p x n``.
        names: ``p`` identifiers; of equal operators those of smallest identifier are kept.
        worth: ``n`` whole numbers, what flagging a candidate is worth.
        votes: m.
        limit: how many can be enumerated.

    Returns:
        Operator numbers kept, in the pool's order; numbers left out for want of room, by worth of their own flags.
    """
    if len(names) <= limit:
        return list(range(len(names))), []
    copies: dict[bytes, list[int]] = {}
    for number in sorted(range(len(names)), key=lambda i: names[i]):
        copies.setdefault(flags[number].tobytes(), []).append(number)
    needed = [number for equal in copies.values() for number in equal[:votes]]
    ranked = sorted(needed, key=lambda i: (-int(worth[flags[i]].sum()), names[i]))
    return sorted(ranked[:limit]), ranked[limit:]


def tallies(
    flags: Flags, correct: Flags, *, votes: int, most: int
) -> Iterator[tuple[NDArray[np.int16], NDArray[np.int64], NDArray[np.int64]]]:
    """All subsets of ``votes`` to ``most`` operators with their counts, in blocks.

    Yields:
        Operator numbers (``S x size``), incorrect candidates flagged (``S``), correct candidates flagged (``S``).
    """
    packed_bad, packed_good = _pack(flags[:, ~correct]), _pack(flags[:, correct])
    split = packed_bad.shape[1]
    packed = np.concatenate([packed_bad, packed_good], axis=1)
    count = len(packed)
    level = np.zeros((1, 0), dtype=np.int16)
    planes = np.zeros((1, votes, packed.shape[1]), dtype=np.uint64)
    yield from _grow(packed, level, planes, split, votes, min(most, count))


def _grow(
    packed: Words, chosen: NDArray[np.int16], planes: Words, split: int, votes: int, most: int
) -> Iterator[tuple[NDArray[np.int16], NDArray[np.int64], NDArray[np.int64]]]:
    """Extend prefixes by each later operator, depth first in blocks, so that memory stays small."""
    size = chosen.shape[1] + 1
    if size > most:
        return
    last = chosen[:, -1] if chosen.shape[1] else np.full(len(chosen), -1)
    parents, added = [], []
    for number in range(len(packed)):
        able = np.flatnonzero(last < number)
        parents.append(able)
        added.append(np.full(len(able), number))
    parent, new = np.concatenate(parents), np.concatenate(added)
    for start in range(0, len(parent), _BLOCK):
        which, operator = parent[start : start + _BLOCK], new[start : start + _BLOCK]
        bits = packed[operator]
        if size == most:  # only the last plane is wanted
            final = planes[which, votes - 1] | (bits & planes[which, votes - 2] if votes > 1 else bits)
            grown = None
        else:
            grown = planes[which]
            for plane in range(votes - 1, 0, -1):
                grown[:, plane] |= grown[:, plane - 1] & bits
            grown[:, 0] |= bits
            final = grown[:, votes - 1]
        subset = np.concatenate([chosen[which], operator[:, None].astype(np.int16)], axis=1)
        if size >= votes:
            ones = np.bitwise_count(final)
            yield subset, ones[:, :split].sum(1, dtype=np.int64), ones[:, split:].sum(1, dtype=np.int64)
        if grown is not None:
            yield from _grow(packed, subset, grown, split, votes, most)


def subset_count(operators: int, votes: int, most: int = MOST_CHOSEN) -> int:
    """How many subsets :func:`compose` compares."""
    return sum(comb(operators, size) for size in range(votes, min(most, operators) + 1))


def subsets(operators: int, votes: int, most: int = MOST_CHOSEN) -> Iterator[tuple[int, ...]]:
    """The same subsets one by one, for small pools and slow twins."""
    for size in range(votes, min(most, operators) + 1):
        yield from combinations(range(operators), size)


def require_votes(votes: int, most: int) -> None:
    """Check m and k.

    Raises:
        InputError: when out of range.
    """
    if not 1 <= votes <= MOST_VOTES:
        raise InputError(f"Expected 1 to {MOST_VOTES} votes. Got {votes!r}.")
    if not votes <= most <= MOST_CHOSEN:
        raise InputError(f"Expected {votes} to {MOST_CHOSEN} operators in a rule of {votes} votes. Got {most!r}.")


def _pack(flags: Flags) -> Words:
    rows, columns = flags.shape
    padded = np.zeros((rows, max(64, -(-columns // 64) * 64)), dtype=np.uint8)
    padded[:, :columns] = flags
    return np.packbits(padded, axis=1).view(np.uint64)


def _whole_weights(good: int, bad: int, weight: float | None) -> tuple[int, int]:
    """Whole numbers (reward of a TP, cost of an FP) in the ratio 1 : lambda; a given lambda is exact to 2**-20."""
    if weight is None:
        return good, bad
    return 1 << 20, round(weight * (1 << 20))
