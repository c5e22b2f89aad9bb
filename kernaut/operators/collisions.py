"""Signatures and collisions: which candidates the present operators cannot tell apart.

The signature of a candidate is the tuple of the pool's verdicts; an empty pool gives all candidates one signature.  A class of candidates with one signature that holds
both labels is a collision; the largest is the next target.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from kernaut.digest import content_id
from kernaut.operators.records import LETTERS, Electorate, Verdicts


@dataclass(frozen=True)
class Collision:
    """A signature class that holds both labels.

    Args:
        signature: letters of the pool's verdicts, in the pool's order.
        correct: positions of its correct candidates.
        incorrect: positions of its incorrect candidates.
        digest: identifier of its members; breaks ties, and knows a class again when the pool has grown without splitting it.
    """

    signature: str
    correct: tuple[int, ...]
    incorrect: tuple[int, ...]
    digest: str

    @property
    def size(self) -> int:
        """Number of members."""
        return len(self.correct) + len(self.incorrect)

    def to_json(self) -> dict[str, Any]:
        """The record as JSON."""
        return {
            "signature": self.signature,
            "digest": self.digest,
            "size": self.size,
            "correct": list(self.correct),
            "incorrect": list(self.incorrect),
        }


def signatures(pool: Sequence[Verdicts], count: int) -> list[str]:
    """The signature of each candidate.

    Args:
        pool: verdicts of the operators, in the pool's order.
        count: number of candidates, n.

    Returns:
        ``n`` strings of one letter an operator.
    """
    return ["".join(LETTERS[int(verdicts.codes[place])] for verdicts in pool) for place in range(count)]


def collisions(electorate: Electorate, pool: Sequence[Verdicts], within: Collection[int]) -> list[Collision]:
    """All collisions, largest first, ties by smallest digest.

    Args:
        electorate: the labelled candidates.
        pool: verdicts over the electorate.
        within: positions that take part.
    """
    written = signatures(pool, len(electorate.candidates))
    classes: dict[str, list[int]] = {}
    for place in sorted(within):
        classes.setdefault(written[place], []).append(place)
    found = []
    for signature, members in classes.items():
        correct = tuple(place for place in members if electorate.candidates[place].correct)
        incorrect = tuple(place for place in members if not electorate.candidates[place].correct)
        if correct and incorrect:
            names = [f"{electorate.candidates[place].task}/{electorate.candidates[place].id}" for place in members]
            digest = content_id(names)
            found.append(Collision(signature, correct, incorrect, digest))
    return sorted(found, key=lambda collision: (-collision.size, collision.digest))
