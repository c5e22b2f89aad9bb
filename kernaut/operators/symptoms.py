"""Measurable symptoms: small readable functions of a candidate that return a number, from which the offline author composes operators.

A symptom is written once, as source: it is measured in the sandbox on training candidates, and the same text is the body of the operators that use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kernaut.operators.records import Flags, Operator

MOST_BOUNDS = 24


@dataclass(frozen=True)
class Symptom:
    """One symptom.

    Args:
        name: the function's name.
        words: what it measures, in words that complete "the candidate's ...".
        level: 1 or 2.
        source: ``def <name>(task, candidate)``, at level 2 with ``ctx``; returns a number, or None where it cannot be measured.
        imports: modules its source needs.
    """

    name: str
    words: str
    level: int
    source: str
    imports: tuple[str, ...] = ()

    def probe(self) -> str:
        """A source whose ``op`` returns the symptom itself."""
        arguments = "task, candidate, ctx" if self.level == 2 else "task, candidate"
        return (
            f"{_imports([self])}{self.source.strip()}\n\n\ndef op({arguments}):\n    return {self.name}({arguments})\n"
        )


Side = Literal["above", "below"]


@dataclass(frozen=True)
class Threshold:
    """A symptom beyond a bound.

    Args:
        symptom: the symptom.
        side: on which side of the bound a candidate is suspicious.
        bound: the bound.
    """

    symptom: Symptom
    side: Side
    bound: float

    def passed(self, values: NDArray[np.float64]) -> Flags:
        """Which of ``n`` measured values lie beyond the bound; what could not be measured (NaN) does not."""
        with np.errstate(invalid="ignore"):
            return np.asarray(values > self.bound if self.side == "above" else values < self.bound)

    def words(self) -> str:
        """In words."""
        return f"{self.symptom.words} {self.side} {self.bound:.4g}"


def thresholds_of(symptom: Symptom, values: NDArray[np.float64]) -> list[Threshold]:
    """Thresholds on both sides of bounds between ``n`` measured values, 24 bounds at most."""
    known = np.unique(values[np.isfinite(values)])
    middles = (known[1:] + known[:-1]) / 2.0
    if len(middles) > MOST_BOUNDS:
        middles = np.quantile(middles, np.linspace(0.0, 1.0, MOST_BOUNDS))
    sides: tuple[Side, ...] = ("above", "below")
    bounds = dict.fromkeys(float(f"{middle:.6g}") for middle in middles)
    return [Threshold(symptom, side, bound) for bound in bounds for side in sides]


def operator_of(thresholds: tuple[Threshold, ...], origin: str = "offline") -> Operator:
    """A readable operator that flags when all thresholds are passed, and abstains when a symptom cannot be measured.

    Args:
        thresholds: one or more.
        origin: who wrote it.
    """
    level = max(threshold.symptom.level for threshold in thresholds)
    arguments = "task, candidate, ctx" if level == 2 else "task, candidate"
    symptoms = list(dict.fromkeys(threshold.symptom for threshold in thresholds))
    lines = [_imports(symptoms)]
    lines += [f"{symptom.source.strip()}\n\n" for symptom in symptoms]
    defect = " and ".join(threshold.words() for threshold in thresholds)
    body = [f"def op({arguments}):", f'    """Flags: {defect}."""']
    for threshold in thresholds:
        symptom = threshold.symptom
        call = f"{symptom.name}({'task, candidate, ctx' if symptom.level == 2 else 'task, candidate'})"
        sign = ">" if threshold.side == "above" else "<"
        body += [f"    value = {call}", "    if value is None:", '        return "abstain"']
        body += [f"    if not value {sign} {threshold.bound!r}:", '        return "pass"']
    body.append('    return "flag"')
    return Operator("\n".join([*lines, *body]).lstrip("\n") + "\n", level, defect, origin)


def _imports(symptoms: list[Symptom]) -> str:
    names = sorted({name for symptom in symptoms for name in symptom.imports})
    return "".join(f"import {name}\n" for name in names) + ("\n\n" if names else "")
