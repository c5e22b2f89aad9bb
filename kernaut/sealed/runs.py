"""Runs and episodes as the service keeps them.  Trusted side.

An episode is one task with one seed in one run; everything is counted on it.  Its outcome is ``returned`` (with the number of the query whose
output was final), or one of the failures that score J_worst.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.sealed.results import EpisodeResult, Outcome
from kernaut.sealed.spaces import SAME

Array = NDArray[np.float64]


@dataclass(eq=False)
class Episode:
    """One task with one seed in one run.

    Args:
        task_id: the task.
        seed: the episode's seed.
        horizon: most queries.
        compute: most seconds [s].
        outputs: the queries so far, flattened.
        answers: J of each query, None for repeated ones.
        seconds: thinking time up to each query [s].
        opened: how often it was begun; more than once when a runner was broken off in the middle of it.
        since: monotonic time of the last answer; None before the first and after a restart of the service.
        thought: thinking time so far [s].
        outcome: how it ended; None while it goes on.
        final: number of the query whose output was final.
        reason: why it failed, as the runner says.
    """

    task_id: str
    seed: int
    horizon: int
    compute: float
    outputs: list[Array] = field(default_factory=list)
    answers: list[float | None] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    opened: int = 0
    since: float | None = None
    thought: float = 0.0
    outcome: Outcome | None = None
    final: int | None = None
    reason: str = ""

    @property
    def used(self) -> int:
        """Queries used."""
        return len(self.outputs)

    def same_as(self, output: Array) -> int | None:
        """The number of the first query within 1e-9 of an output, None when it is new."""
        for index, earlier in enumerate(self.outputs):
            if earlier.shape == output.shape and np.abs(earlier - output).max() <= SAME:
                return index
        return None

    def result(self, index: int) -> EpisodeResult:
        """The answer to one query."""
        value = self.answers[index]
        before = [answer for answer in self.answers[:index] if answer is not None]
        difference = value - before[-1] if value is not None and before else None
        return EpisodeResult(value, index + 1, {"J": value, "difference": difference})

    def final_value(self) -> float | None:
        """J of the final output; None when the episode failed or goes on."""
        if self.outcome != "returned" or self.final is None:
            return None
        return self.answers[self.final]


@dataclass(eq=False)
class Run:
    """One policy on one split.

    Args:
        id: its identifier.
        policy: the policy's name, as registered.
        split: the split.
        seeds: episode seeds.
        options: the policy's options, as registered.
        request: the registration's own number, so that a repeated one makes no second run.
        number: its place among the runs of this ledger.
        episodes: by task and seed.
        closed: whether it is over.
    """

    id: str
    policy: str
    split: str
    seeds: tuple[int, ...]
    options: Mapping[str, Any]
    request: str
    number: int
    episodes: dict[tuple[str, int], Episode] = field(default_factory=dict)
    closed: bool = False
