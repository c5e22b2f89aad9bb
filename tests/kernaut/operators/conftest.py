"""Small electorates with known labels, and an operator that flags what it is told to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kernaut.operators.code.bank import synthetic_bank
from kernaut.operators.code.domain import CodeDomain
from kernaut.operators.code.tasks import load_tasks
from kernaut.operators.records import FLAG, PASS, Candidate, Electorate, Flags, Operator, Task, Verdicts
from kernaut.operators.symptoms import Symptom
from kernaut.seeds import stable_seed


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
    interface: str = "A task has a prompt, a candidate a mark."

    def reported(self) -> Sequence[str]:
        return ("train", "unseen")

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

    def worth(self, electorate: Electorate, flags: Flags) -> dict[str, Any]:
        return {}

    def show(self, electorate: Electorate, place: int) -> dict[str, Any]:
        return dict(electorate.candidates[place].content)


def flagging(places: Sequence[int], level: int = 1) -> Operator:
    """An operator of :class:`SmallDomain`."""
    return Operator(f"# {' '.join(map(str, places))}\ndef op(task, candidate):\n    return 'pass'\n", level, "made up")


@pytest.fixture
def small_domain() -> SmallDomain:
    return SmallDomain()


TASKS = {
    "largest": ("values", "best = values[0]\n    for value in values[1:]:\n        if value > best:\n            best = value\n    return best",
                ["([1, 5, 2]) == 5", "([3, 9]) == 9", "([-4, -2, -8]) == -2", "([7]) == 7", "([0, 0, 1]) == 1"]),
    "count_even": ("values", "total = 0\n    for value in values:\n        if value % 2 == 0:\n            total += 1\n    return total",
                   ["([1, 2, 3]) == 1", "([4, 6]) == 2", "([]) == 0", "([1, 3, 5]) == 0", "([0, -2, 7, 10]) == 3"]),
    "initials": ("text", "words = text.split()\n    return ''.join(word[0].upper() for word in words if len(word) > 1)",
                 ["('ada lovelace') == 'AL'", "('grace hopper') == 'GH'", "('a bc') == 'B'", "('') == ''", "('x y zz ww') == 'ZW'"]),
    "clamp": ("value, low, high", "if value < low:\n        return low\n    if value > high:\n        return high\n    return value",
              ["(5, 0, 10) == 5", "(20, 0, 10) == 10", "(-3, 0, 10) == 0", "(0, 0, 10) == 0", "(10, 1, 10) == 10"]),
    "running": ("values", "total, found = 0, []\n    for value in values:\n        total += value\n        found.append(total)\n    return found",
                ["([1, 2, 3]) == [1, 3, 6]", "([5]) == [5]", "([]) == []", "([2, -2, 4]) == [2, 0, 4]", "([0, 1]) == [0, 1]"]),
    "gap": ("values", "ordered = sorted(values)\n    best = 0\n    for place in range(1, len(ordered)):\n        best = max(best, ordered[place] - ordered[place - 1])\n    return best",
            ["([1, 4, 9]) == 5", "([2, 3]) == 1", "([8, 1, 5]) == 4", "([3]) == 0", "([10, 10, 2]) == 8"]),
}  # fmt: skip
"""Six small tasks: arguments, body, assertions."""


def task_records() -> list[dict[str, str]]:
    found = []
    for name, (arguments, body, checks) in TASKS.items():
        prompt = f'def {name}({arguments}):\n    """Give the {name} of the arguments.\n\n    >>> {name}{checks[0].split(" == ")[0]}\n    {checks[0].split(" == ")[1]}\n    """\n'
        test = "def check(candidate):\n" + "".join(f"    assert candidate{check}\n" for check in checks)
        found.append(
            {
                "task_id": f"own/{name}",
                "prompt": prompt,
                "entry_point": name,
                "canonical_solution": f"    {body}\n",
                "test": test,
            }
        )
    return found


@pytest.fixture(scope="session")
def tasks_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tasks") / "tasks.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in task_records()), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def code_domain(tasks_file: Path, tmp_path_factory: pytest.TempPathFactory) -> CodeDomain:
    """Own tasks with a synthetic bank, all of them training tasks but those the hash puts elsewhere."""
    tasks, _ = load_tasks(tasks_file)
    bank = synthetic_bank(tasks, size=14, cache=tmp_path_factory.mktemp("cache"))
    seed = next(s for s in range(100) if sum(stable_seed("cegar split", s, t.id) % 2 == 0 for t in tasks) == 4)
    return CodeDomain(tasks, {"first": bank}, split_seed=seed)
