"""Authoring requests, and the offline author that answers them from a grammar of symptoms.

A request covers the whole fault kind of a collision, with every correct candidate of the training electorate, never only the pair.  The offline author looks at measured
symptoms of those candidates, draws a few symptoms by the request's seed, and sets one or two thresholds where they separate best.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kernaut.authors.dialogue import Scribe
from kernaut.authors.spending import Spending
from kernaut.operators.domain import Domain
from kernaut.operators.judgement import Judgement
from kernaut.operators.records import Electorate, Operator
from kernaut.operators.symptoms import Symptom, Threshold, operator_of, thresholds_of
from kernaut.seeds import generator

DRAWN = 6
PENALTIES = (0.25, 0.5, 1.0, 2.0)
"""What a share of correct candidates flagged costs against a share of faulty ones; drawn for each request."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Attempt:
    """What became of an earlier attempt at the same target."""

    operator: Operator | None
    reason: str


@dataclass(frozen=True)
class Request:
    """What an author is asked for.

    Args:
        seed: of this request.
        target: the collision's digest, or the arm's word for "no target".
        kind: the fault kind to be told from correct candidates.
        level: 1 or 2.
        pair: a correct and an incorrect candidate that share a signature; None without a target.
        faulty: positions of the candidates of that kind that the pool still misses.
        correct: positions of every correct candidate in V.
        attempts: earlier attempts at this target.
        tried: identifiers of operators that were offered before, which are not offered again.
        flagged: positions of the candidates that the pool flags.
        members: positions of the target's candidates, none without a target.
    """

    seed: int
    target: str
    kind: str
    level: int
    pair: tuple[int, int] | None
    faulty: tuple[int, ...]
    correct: tuple[int, ...]
    attempts: tuple[Attempt, ...] = ()
    tried: frozenset[str] = frozenset()
    flagged: tuple[int, ...] = ()
    members: tuple[int, ...] = ()


@dataclass(frozen=True)
class Declined:
    """No operator, and why."""

    reason: str


class Desk(Scribe, Protocol):
    """What an author may use while it answers one request: a trial of drafts, and the transcript of this authoring call.

    Attributes:
        call: the call's number in its run.
        gate: what the gate asks for, in words.
        spent: what earlier calls of the run have cost.
    """

    call: int
    gate: str
    spent: Spending

    def trial(self, operator: Operator) -> Judgement:
        """What rules, gate and screens would say of a draft; the ledger keeps every trial."""


class OperatorAuthor(Protocol):
    """Who writes operators."""

    @property
    def name(self) -> str:
        """What ledgers call it."""

    def write(self, request: Request, domain: Domain, electorate: Electorate, desk: Desk) -> Operator | Declined | None:
        """Answer a request; None when it has nothing to offer.

        Raises:
            AllowanceSpent: when the run may spend no more; the call stays open.
            ModelFailure: when a model gives no answer; likewise.
        """


class OfflineAuthor:
    """Composes operators of one or two thresholds; the same request always gets the same answer.

    Args:
        drawn: symptoms considered in one attempt.
    """

    name = "offline"

    def __init__(self, drawn: int = DRAWN) -> None:
        self._drawn = drawn

    def write(
        self, request: Request, domain: Domain, electorate: Electorate, desk: Desk | None = None
    ) -> Operator | None:
        """The best new operator of a few drawn symptoms, by recall of the fault kind minus a drawn penalty on false alarms."""
        symptoms = list(domain.symptoms())
        table = domain.measure(electorate)
        able = [number for number, symptom in enumerate(symptoms) if symptom.level == request.level]
        if not able or not request.faulty:
            return None
        rng = generator("operator author", request.seed, request.target, request.level, len(request.attempts))
        weights = separations(table, request, able) + 1e-3
        size = min(self._drawn, len(able))
        chosen = rng.choice(able, size=size, replace=False, p=weights / weights.sum())
        penalty = float(rng.choice(PENALTIES))
        ranked = _singles(table, symptoms, request, [int(number) for number in chosen], penalty)
        best = sorted(ranked, key=lambda scored: -scored[0])[:4]
        pairs = [
            (_value(table, symptoms, request, (one, two), penalty), (one, two))
            for _, (one,) in best
            for _, (two,) in ranked
            if one.symptom is not two.symptom
        ]
        for _, thresholds in sorted([*ranked, *pairs], key=lambda scored: (-scored[0], len(scored[1]))):
            operator = operator_of(thresholds)
            if operator.id not in request.tried:
                return operator
        return None


def separations(table: Array, request: Request, able: list[int]) -> Array:
    """How far the means of faulty and correct candidates are apart for each symptom, as a share of its spread."""
    found = []
    for number in able:
        faulty, correct = table[list(request.faulty), number], table[list(request.correct), number]
        faulty, correct = faulty[np.isfinite(faulty)], correct[np.isfinite(correct)]
        spread = np.std(np.concatenate([faulty, correct])) if len(faulty) and len(correct) else 0.0
        found.append(abs(faulty.mean() - correct.mean()) / spread if spread > 0 else 0.0)
    return np.array(found)


def _singles(
    table: Array, symptoms: list[Symptom], request: Request, numbers: list[int], penalty: float
) -> list[tuple[float, tuple[Threshold, ...]]]:
    seen = [*request.faulty, *request.correct]
    found = [threshold for number in numbers for threshold in thresholds_of(symptoms[number], table[seen, number])]
    return [(_value(table, symptoms, request, (threshold,), penalty), (threshold,)) for threshold in found]


def _value(
    table: Array, symptoms: list[Symptom], request: Request, thresholds: tuple[Threshold, ...], penalty: float
) -> float:
    """Recall of the fault kind minus the penalty times the share of correct candidates flagged."""
    places: Mapping[str, int] = {symptom.name: number for number, symptom in enumerate(symptoms)}
    flags = np.ones(len(table), dtype=bool)
    for threshold in thresholds:
        flags &= threshold.passed(table[:, places[threshold.symptom.name]])
    recall = float(flags[list(request.faulty)].mean())
    alarms = float(flags[list(request.correct)].mean()) if request.correct else 0.0
    return recall - penalty * alarms
