"""What a policy is: something that queries a task within its budget and names a final output.  Untrusted side.

A package adds one with an entry point in the group ``kernaut.policies`` that names a subclass of :class:`Policy`.  A policy runs in a confined
process: it sees one public task and the answers to its queries, starts each episode with no memory, and may use no file but Python's
packages, no network and no other process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.errors import InputError
from kernaut.sealed.manifest import PublicTask

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Answer:
    """What a query brought.

    Args:
        value: raw J; None when the output repeats an earlier query.
        difference: from the previous J; None for the first.
        steps_used: queries used.
        remaining: queries left.
    """

    value: float | None
    difference: float | None
    steps_used: int
    remaining: int


Evaluate = Callable[[Array], Answer]
"""Queries an output; raises :class:`kernaut.errors.BudgetSpent` when no query is left."""


class Policy(ABC):
    """A way to choose outputs.

    Args:
        options: a JSON object.

    Raises:
        InputError: for an option the policy does not know.

    Attributes:
        known_options: names of the options it takes.
    """

    known_options: tuple[str, ...] = ()

    def __init__(self, options: Mapping[str, Any]) -> None:
        if unknown := sorted(set(options) - set(self.known_options)):
            known = ", ".join(self.known_options) or "none"
            raise InputError(f"Expected options of {type(self).__name__}: {known}. Got {', '.join(unknown)}.")
        self.options = options

    @abstractmethod
    def act(self, task: PublicTask, evaluate: Evaluate, rng: np.random.Generator) -> Array:
        """Play one episode.

        Args:
            task: the public task.
            evaluate: queries an output.
            rng: a stream of this policy, task and seed.

        Returns:
            The final output: one that was queried, or a new one that the last query is spent on.
        """


class Trail:
    """The queries of one episode, scored so that larger is better whatever the task's direction.

    Args:
        task: the public task.
        evaluate: queries an output.

    Attributes:
        outputs: queried outputs that had a J.
        scores: J, negated when minimizing.
        remaining: queries left.
    """

    def __init__(self, task: PublicTask, evaluate: Evaluate) -> None:
        self._sign = 1.0 if task.maximizing else -1.0
        self._evaluate = evaluate
        self.outputs: list[Array] = []
        self.scores: list[float] = []
        self.remaining = task.horizon_budget

    def query(self, output: Array) -> float | None:
        """The score of an output; None when it repeats an earlier one."""
        answer = self._evaluate(output)
        self.remaining = answer.remaining
        if answer.value is None:
            return None
        self.outputs.append(output)
        self.scores.append(self._sign * answer.value)
        return self.scores[-1]

    @property
    def best(self) -> Array:
        """The queried output of the largest score, the first of equal ones."""
        return self.outputs[int(np.argmax(self.scores))]

    @property
    def best_score(self) -> float:
        """The largest score."""
        return max(self.scores)
