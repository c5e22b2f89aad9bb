"""Admission: a new operator enters the pool when the decision that is deployed during the loop, the union of admitted operators, gets better on training labels.

Selection accuracy must rise, at least three tasks must be helped, and more helped than hurt.  There is no recall floor, except in the arm that is gated by recall.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from kernaut.errors import InputError
from kernaut.operators.collisions import Collision
from kernaut.operators.records import Electorate, Flags, Verdicts
from kernaut.operators.selection import Panel

Arm = Literal["collision", "target-only", "direct", "recall-gated", "narrow"]
ARMS: tuple[Arm, ...] = get_args(Arm)
MIN_HELPED = 3
MIN_RECALL = 0.3
MOST_ALARMS = 0.02


@dataclass(frozen=True)
class Consultation:
    """One consultation of the gate.

    Args:
        accuracy_before: training selection accuracy of the union so far.
        accuracy_after: the same with the new operator.
        helped: tasks it helps against the union so far.
        hurt: tasks it hurts.
        recall: share of the still missed candidates of the kind that it flags.
        alarms: share of correct candidates in V that it flags.
        splits: whether it flags an incorrect member of the target and spares a correct one.
        admitted: the decision.
        admitted_with_two: what the decision would be if two helped tasks were enough.
        reason: why not.
    """

    accuracy_before: float
    accuracy_after: float
    helped: int
    hurt: int
    recall: float
    alarms: float
    splits: bool
    admitted: bool
    admitted_with_two: bool
    reason: str

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return dict(self.__dict__)


def splits(arm: Arm) -> bool:
    """Whether the gate of an arm asks that the target is separated."""
    return arm in ("collision", "narrow")


def gate_words(arm: Arm, min_helped: int) -> str:
    """What the gate of an arm asks for, in a sentence."""
    if arm == "recall-gated":
        return f"It admits an operator that flags at least {MIN_RECALL:.0%} of the fault kind and at most {MOST_ALARMS:.0%} of correct candidates."
    apart = "and, of the candidates that all operators judge as they do the pair, it flags a wrong one and spares a correct one"
    split = f", {apart}" if splits(arm) else ""
    return (
        "It admits an operator when, over all training tasks, a candidate drawn from those that no admitted operator flags is correct more often than before, at least "
        f"{min_helped} task{'s are' if min_helped != 1 else ' is'} helped, more are helped than hurt{split}."
    )


def union(pool: Sequence[Verdicts], count: int) -> Flags:
    """``n`` flags of any operator of a pool; none for an empty pool."""
    flags = np.zeros(count, dtype=bool)
    for verdicts in pool:
        flags |= verdicts.flags
    return flags


def consult(
    arm: Arm,
    electorate: Electorate,
    pool: Sequence[Verdicts],
    new: Verdicts,
    target: Collision | None,
    missed: Collection[int],
    min_helped: int = MIN_HELPED,
) -> Consultation:
    """Ask the gate of an arm.

    Args:
        arm: which gate.
        electorate: the training electorate.
        pool: verdicts of the admitted operators.
        new: those of the new one.
        target: the collision it was written for; None in the arm without target.
        missed: positions of the incorrect candidates of the requested kind that the pool misses.
        min_helped: fewest tasks helped.

    Raises:
        InputError: for an unknown arm.
    """
    if arm not in ARMS:
        raise InputError(f"Expected an arm of {', '.join(ARMS)}. Got {arm!r}.")
    panel, visible = Panel.of(electorate), electorate.visible
    before = panel.accuracy(union(pool, len(visible))[visible])
    after = panel.accuracy((union(pool, len(visible)) | new.flags)[visible])
    difference = after - before
    helped, hurt = int((difference > 1e-12).sum()), int((difference < -1e-12).sum())
    correct = visible & electorate.correct
    recall = float(new.flags[list(missed)].mean()) if missed else 0.0
    alarms = float(new.flags[correct].mean()) if correct.any() else 0.0
    apart = target is not None and any(new.flags[list(target.incorrect)]) and not all(new.flags[list(target.correct)])
    rises = bool(difference.mean() > 1e-12)

    def refusal(least: int) -> str:
        if arm == "recall-gated":
            return (
                ""
                if recall >= MIN_RECALL and alarms <= MOST_ALARMS
                else f"recall {recall:.2f}, false alarms {alarms:.3f}"
            )
        if splits(arm) and not apart:
            return "the target collision is not separated"
        if not rises:
            return "selection accuracy does not rise"
        if helped < least:
            return f"{helped} tasks helped, at least {least} are needed"
        return "" if helped > hurt else f"{helped} tasks helped and {hurt} hurt"

    reason = refusal(min_helped)
    return Consultation(
        float(before.mean()),
        float(after.mean()),
        helped,
        hurt,
        recall,
        alarms,
        apart,
        not reason,
        not refusal(min(2, min_helped)),
        reason,
    )
