"""An offline author that aims at what the gate asks for: it sets thresholds on symptoms where training selection accuracy rises most.

The author of :mod:`kernaut.operators.authoring` weighs recall of the fault kind against false alarms and does not know which candidates compete in one task; this one looks
at the same labelled training candidates task by task.  A rule is worth the mean rise over tasks minus a drawn number of standard errors, so that runs differ in how careful
they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.operators.admission import MIN_HELPED, MIN_RECALL, MOST_ALARMS, Arm, splits
from kernaut.operators.authoring import DRAWN, Request, separations
from kernaut.operators.domain import Domain
from kernaut.operators.records import Electorate, Flags, Operator
from kernaut.operators.selection import Panel
from kernaut.operators.symptoms import Symptom, Threshold, operator_of, thresholds_of
from kernaut.seeds import generator

CARES = (0.0, 0.5, 1.0, 2.0)
"""Standard errors that a rule's mean rise must stand above; drawn for each request."""
PAIRED = 4

Array = NDArray[np.float64]


class LiftAuthor:
    """Composes operators of one or two thresholds; the same request always gets the same answer.

    Args:
        min_helped: tasks that the gate asks an operator to help.
        arm: which gate.
        drawn: symptoms considered in one attempt.
    """

    name = "offline, by lift"

    def __init__(self, min_helped: int = MIN_HELPED, arm: Arm = "collision", drawn: int = DRAWN) -> None:
        self._min_helped, self._arm, self._drawn = min_helped, arm, drawn

    def write(self, request: Request, domain: Domain, electorate: Electorate, desk: Any = None) -> Operator | None:
        """The new operator of a few drawn symptoms by which training selection accuracy rises most; None when it rises by none."""
        symptoms, table = list(domain.symptoms()), domain.measure(electorate)
        able = [number for number, symptom in enumerate(symptoms) if symptom.level == request.level]
        if not able or not request.faulty or not request.correct:
            return None
        rng = generator("lift author", request.seed, request.target, request.level, len(request.attempts))
        weights = separations(table, request, able) + 1e-3
        drawn = rng.choice(able, size=min(self._drawn, len(able)), replace=False, p=weights / weights.sum())
        care = float(rng.choice(CARES))
        places = np.flatnonzero(electorate.visible)
        goal = Goal(electorate, request, care, self._min_helped, self._arm)
        thresholds, flags = _singles(table[places], symptoms, [int(number) for number in drawn])
        if not thresholds:
            return None
        worth = goal.worth(flags)
        best = np.argsort(-worth, kind="stable")[:PAIRED]
        pairs = [
            (int(one), two)
            for one in best
            for two in range(len(thresholds))
            if thresholds[one].symptom is not thresholds[two].symptom and _affordable(thresholds[one], thresholds[two])
        ]
        rules: list[tuple[Threshold, ...]] = [(threshold,) for threshold in thresholds]
        rules += [(thresholds[one], thresholds[two]) for one, two in pairs]
        both = flags[[one for one, _ in pairs]] & flags[[two for _, two in pairs]]
        worth = np.concatenate([worth, goal.worth(both)])
        for number in np.argsort(-worth, kind="stable"):
            if not worth[number] > 0.0:
                return None
            operator = operator_of(rules[int(number)])
            if operator.id not in request.tried:
                return operator
        return None


class Goal:
    """What a rule is worth beside the pool: the mean rise of selection accuracy over tasks minus some standard errors.

    In the arm that is gated by recall: recall of the fault kind minus as many times the share of false alarms.

    Args:
        electorate: the training electorate.
        request: its pool's flags, its fault kind and its target.
        care: how many standard errors.
        min_helped: fewest tasks helped.
        arm: whose gate the rule must pass.
    """

    def __init__(
        self,
        electorate: Electorate,
        request: Request,
        care: float,
        min_helped: int = MIN_HELPED,
        arm: Arm = "collision",
    ) -> None:
        seen = electorate.visible
        self._panel, self._care, self._min_helped, self._arm = Panel.of(electorate), care, min_helped, arm
        flagged, members, faulty = (
            _among(places, seen) for places in (request.flagged, request.members, request.faulty)
        )
        self._flagged, self._faulty = flagged, faulty
        self._members = members if splits(arm) else np.zeros_like(members)
        self._before = self._panel.accuracy(self._flagged)

    def worth(self, flags: Flags) -> Array:
        """``R`` numbers, minus one for what the gate would not admit.

        Args:
            flags: ``R x n`` flags over the candidates in V.
        """
        if self._arm == "recall-gated":
            recall, alarms = flags[:, self._faulty].mean(-1), flags[:, self._panel.correct].mean(-1)
            able = (recall >= MIN_RECALL) & (alarms <= MOST_ALARMS)
            return np.asarray(np.where(able, recall - self._care * alarms, -1.0))
        difference = self._panel.accuracy(flags | self._flagged) - self._before
        helped, hurt = (difference > 1e-12).sum(-1), (difference < -1e-12).sum(-1)
        worth = difference.mean(-1) - self._care * difference.std(-1) / np.sqrt(self._panel.tasks)
        able = (helped >= self._min_helped) & (helped > hurt)
        if self._members.any():
            faulty, correct = self._members & ~self._panel.correct, self._members & self._panel.correct
            able &= flags[:, faulty].any(-1) & ~flags[:, correct].all(-1)
        return np.asarray(np.where(able, worth, -1.0))


def _among(places: Sequence[int], seen: Flags) -> Flags:
    """Flags of some positions among the candidates in V."""
    found = np.zeros(len(seen), dtype=bool)
    found[list(places)] = True
    return found[seen]


def _affordable(one: Threshold, two: Threshold) -> bool:
    """Whether both symptoms fit one call's budget: two that run all peers would spend it, and the operator would abstain."""
    return not all("ctx.peers" in threshold.symptom.source for threshold in (one, two))


def _singles(table: Array, symptoms: list[Symptom], numbers: list[int]) -> tuple[list[Threshold], Flags]:
    """Thresholds between measured values, and their flags (``R x n``); what could not be measured is not flagged."""
    found = [
        (threshold, number) for number in numbers for threshold in thresholds_of(symptoms[number], table[:, number])
    ]
    flags = [threshold.passed(table[:, number]) for threshold, number in found]
    return [threshold for threshold, _ in found], np.array(flags, dtype=bool).reshape(len(found), len(table))
