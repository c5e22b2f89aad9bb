"""Small electorates with known labels, and an operator that flags what it is told to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kernaut.operators.records import FLAG, PASS, Candidate, Electorate, Operator, Task, Verdicts
from kernaut.operators.symptoms import Symptom


def electorate_of(table: Sequence[Sequence[int | str]], name: str = "small") -> Electorate:
    """Labels by task: 1 correct, 0 incorrect, "x" incorrect and not in V."""
    tasks, candidates = [], []
    for number, row in enumerate(table):
        tasks.append(Task(f"t{number}", {"prompt": f"task {number}"}))
        for place, label in enumerate(row):
            kind = "" if label == 1 else "visible checks" if label == "x" else "hidden tests only"
            candidates.append(Candidate(f"c{place}", f"t{number}", {"mark": place}, label != "x", label == 1, kind))
    return Electorate("small", name, tuple(tasks), tuple(candidates))


def verdicts_of(flagged: Sequence[int], count: int, abstained: Sequence[int] = ()) -> Verdicts:
    """Flags and abstentions at some positions, passes elsewhere."""
    codes = np.full(count, PASS, dtype=np.int8)
    codes[list(flagged)] = FLAG
    codes[list(abstained)] = -1
    return Verdicts(codes, dict.fromkeys(abstained, "asked to"))


@dataclass
class SmallDomain:
    """A domain whose operators are named by what they flag: the source's first comment holds positions."""

    screened: set[str] = field(default_factory=set)
    examined: list[str] = field(default_factory=list)
    name: str = "small"
    synthetic: str = "made up"

    def electorate(self, name: str) -> Electorate:
        return electorate_of([[1, 0, 0], [1, 1, 0], [1, 0]] * 2, name)

    def examine(self, operator: Operator, electorate: Electorate) -> Verdicts:
        self.examined.append(operator.id)
        words = operator.source.splitlines()[0].removeprefix("#").split()
        return verdicts_of([int(word) for word in words], len(electorate.candidates))

    def screen(self, operator: Operator, electorate: Electorate, verdicts: Verdicts) -> tuple[str, ...]:
        return ("a screen says no",) if operator.id in self.screened else ()

    def symptoms(self) -> Sequence[Symptom]:
        return ()

    def measure(self, electorate: Electorate) -> NDArray[np.float64]:
        return np.zeros((len(electorate.candidates), 0))

    def hand_written(self) -> Sequence[Operator]:
        return ()

    def show(self, electorate: Electorate, place: int) -> dict[str, Any]:
        return dict(electorate.candidates[place].content)


def flagging(places: Sequence[int], level: int = 1) -> Operator:
    """An operator of :class:`SmallDomain`."""
    return Operator(f"# {' '.join(map(str, places))}\ndef op(task, candidate):\n    return 'pass'\n", level, "made up")


@pytest.fixture
def small_domain() -> SmallDomain:
    return SmallDomain()
