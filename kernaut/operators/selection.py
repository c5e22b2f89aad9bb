"""Selection accuracy: what a rule's flags are worth to someone who draws a candidate from those it keeps.

For a task t, V(t) are the candidates that pass the visible checks, duplicates kept.  A rule keeps the unflagged ones (all flagged: all of V(t) again); the accuracy on
t is the share of correct ones among the kept, and the endpoint its mean over tasks with a non-empty V(t).  Decidable tasks hold a correct and an incorrect candidate.

Shapes: ``n`` candidates in V, ``T`` tasks; leading axes of flags are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.errors import InputError
from kernaut.operators.records import Electorate, Flags

Array = NDArray[np.float64]


def require_choice(electorate: Electorate) -> None:
    """Check that an electorate has candidates to choose among.

    Raises:
        InputError: when none passes the visible checks.
    """
    if not electorate.visible.any():
        raise InputError(
            f"Expected candidates that pass the visible checks in the electorate {electorate.name}. "
            f"Got none of {len(electorate.candidates)} on {len(electorate.tasks)} tasks.",
            hint="Add tasks, or candidates; a task whose own solution fails its tests in the sandbox is left out.",
        )


@dataclass(frozen=True, eq=False)
class Panel:
    """The labelled candidates in V of an electorate.

    Args:
        task: ``n`` task numbers, 0 to T - 1, each of them present.
        correct: ``n`` labels.

    Raises:
        InputError: for an empty panel or unequal lengths.
    """

    task: NDArray[np.int64]
    correct: Flags

    def __post_init__(self) -> None:
        if len(self.task) == 0 or self.task.shape != self.correct.shape:
            raise InputError(f"Expected at least one labelled candidate. Got {self.task.shape}, {self.correct.shape}.")

    @staticmethod
    def of(electorate: Electorate) -> Panel:
        """The candidates of an electorate that pass the visible checks; tasks without any are left out.

        Raises:
            InputError: when there are none.
        """
        require_choice(electorate)
        _, task = np.unique(electorate.task_places[electorate.visible], return_inverse=True)
        return Panel(task.astype(np.int64), electorate.correct[electorate.visible])

    @property
    def tasks(self) -> int:
        """Number of tasks, T."""
        return int(self.task.max()) + 1

    @cached_property
    def _membership(self) -> Array:
        table = np.zeros((len(self.task), self.tasks))
        table[np.arange(len(self.task)), self.task] = 1.0
        return table

    @cached_property
    def baseline(self) -> Array:
        """``T`` accuracies with nothing flagged."""
        return self.accuracy(np.zeros(len(self.task), dtype=bool))

    @cached_property
    def perfect(self) -> Array:
        """``T`` accuracies of a filter that flags exactly the incorrect ones."""
        return self.accuracy(~self.correct)

    @cached_property
    def decidable(self) -> Flags:
        """``T`` flags: tasks that hold a correct and an incorrect candidate."""
        return np.asarray((self.baseline > 0.0) & (self.baseline < 1.0))

    def accuracy(self, flags: Flags) -> Array:
        """Selection accuracy by task.

        Args:
            flags: ``... x n``.

        Returns:
            ``... x T`` probabilities.
        """
        kept = (~flags).astype(np.float64)
        count = kept @ self._membership
        right = (kept * self.correct) @ self._membership
        everyone = self._membership.sum(0)
        share = (self.correct @ self._membership) / everyone
        return np.where(count > 0, right / np.maximum(count, 1.0), share)


@dataclass(frozen=True)
class Effect:
    """What a rule does to the endpoint on one panel.

    Args:
        baseline: accuracy with nothing flagged.
        accuracy: accuracy of the rule.
        change: their difference.
        change_decidable: the difference on decidable tasks alone (0 when there are none).
        headroom: perfect filter minus nothing flagged.
        share: the change as a share of headroom (0 without headroom).
        helped: tasks whose accuracy rises.
        hurt: tasks whose accuracy falls.
        tasks: tasks of the panel.
        decidable: decidable tasks.
        true_positives: incorrect candidates flagged.
        false_positives: correct candidates flagged.
        incorrect: incorrect candidates.
        correct: correct candidates.
    """

    baseline: float
    accuracy: float
    change: float
    change_decidable: float
    headroom: float
    share: float
    helped: int
    hurt: int
    tasks: int
    decidable: int
    true_positives: int
    false_positives: int
    incorrect: int
    correct: int

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return dict(self.__dict__)


def effect(panel: Panel, flags: Flags) -> Effect:
    """Measure a rule.

    Args:
        panel: labelled candidates.
        flags: ``n`` flags of the rule.
    """
    by_task = panel.accuracy(flags)
    difference = by_task - panel.baseline
    decidable = panel.decidable
    headroom = float((panel.perfect - panel.baseline).mean())
    change = float(difference.mean())
    return Effect(
        baseline=float(panel.baseline.mean()),
        accuracy=float(by_task.mean()),
        change=change,
        change_decidable=float(difference[decidable].mean()) if decidable.any() else 0.0,
        headroom=headroom,
        share=change / headroom if headroom > 0 else 0.0,
        helped=int((difference > 1e-12).sum()),
        hurt=int((difference < -1e-12).sum()),
        tasks=panel.tasks,
        decidable=int(decidable.sum()),
        true_positives=int((flags & ~panel.correct).sum()),
        false_positives=int((flags & panel.correct).sum()),
        incorrect=int((~panel.correct).sum()),
        correct=int(panel.correct.sum()),
    )
