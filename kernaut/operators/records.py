"""Operators, verdicts, tasks, candidates and the electorate: the frozen records of evaluator evolution.

An *operator* is a small Python function that flags one named defect of a candidate, passes it, or abstains.  An *electorate* is the set of tasks and raw
candidates that verdicts are formed over; since a level-2 operator looks at the other candidates of a task, its verdicts hold for one electorate only, which its
digest names.  Labels are kept beside what operators see and never enter a request to the sandbox.

Shapes: ``n`` candidates in the order of the electorate; verdicts are int8 vectors of :data:`FLAG`, :data:`PASS`, :data:`ABSTAIN`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.digest import content_id, freeze, require_json
from kernaut.errors import InputError

FLAG, PASS, ABSTAIN = 1, 0, -1
WORDS = {FLAG: "flag", PASS: "pass", ABSTAIN: "abstain"}
CODES = {word: code for code, word in WORDS.items()}
LETTERS = {code: word[0] for code, word in WORDS.items()}
_BY_LETTER = {letter: code for code, letter in LETTERS.items()}
MAX_LINES = 80

Codes = NDArray[np.int8]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Operator:
    """A program that judges candidates; its identifier covers source and level.

    Args:
        source: Python text that defines ``op(task, candidate)``, at level 2 ``op(task, candidate, ctx)``; at most 80 lines.
        level: 1 sees one candidate, 2 its peers and a runner, too.
        defect: the defect it flags, in words.
        origin: who wrote it.

    Raises:
        InputError: for another level, an empty or an over-long source.
    """

    source: str
    level: int
    defect: str
    origin: str = "offline"

    def __post_init__(self) -> None:
        if self.level not in (1, 2):
            raise InputError(f"Expected an operator of level 1 or 2. Got {self.level!r}.")
        lines = len(self.source.strip().splitlines())
        if not 0 < lines <= MAX_LINES:
            raise InputError(f"Expected an operator of 1 to {MAX_LINES} lines. Got {lines}.")

    @cached_property
    def id(self) -> str:
        """Content identifier of source and level."""
        return content_id({"source": self.source, "level": self.level})

    def to_json(self) -> dict[str, Any]:
        """The record as JSON, with its identifier."""
        return {
            "id": self.id,
            "source": self.source,
            "level": self.level,
            "defect": self.defect,
            "origin": self.origin,
        }

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> Operator:
        """Read what :meth:`to_json` wrote.

        Raises:
            InputError: for a record of another shape.
        """
        try:
            return Operator(
                str(record["source"]), int(record["level"]), str(record["defect"]), str(record.get("origin", "file"))
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"Expected an operator with source, level and defect. Got: {error!r}.") from error


@dataclass(frozen=True)
class Verdicts:
    """One operator's verdicts over an electorate.

    Args:
        codes: ``n`` codes.
        reasons: why it abstained, by candidate position.
    """

    codes: Codes
    reasons: Mapping[int, str] = field(default_factory=dict)

    @property
    def flags(self) -> Flags:
        """``n`` flags; an abstention flags nothing."""
        return np.asarray(self.codes == FLAG)

    def to_json(self) -> dict[str, Any]:
        """Letters in the electorate's order, and reasons."""
        return {
            "letters": "".join(LETTERS[int(code)] for code in self.codes),
            "reasons": {str(place): reason for place, reason in sorted(self.reasons.items())},
        }

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> Verdicts:
        """Read what :meth:`to_json` wrote."""
        codes = np.array([_BY_LETTER[letter] for letter in record["letters"]], dtype=np.int8)
        return Verdicts(codes, {int(place): str(reason) for place, reason in record["reasons"].items()})


@dataclass(frozen=True)
class Task:
    """A task as operators see it.

    Args:
        id: unique within the electorate.
        content: JSON, without labels, hidden tests or query targets.
    """

    id: str
    content: Mapping[str, Any]

    def __post_init__(self) -> None:
        require_json(self.content, f"task {self.id}")
        object.__setattr__(self, "content", freeze(self.content))


@dataclass(frozen=True)
class Candidate:
    """A raw candidate of a task.

    Args:
        id: unique within its task.
        task: the task's identifier.
        content: JSON that operators see.
        visible: whether it passes the visible checks.
        correct: its label.
        kind: the fault kind of an incorrect candidate, empty for a correct one.
    """

    id: str
    task: str
    content: Mapping[str, Any]
    visible: bool
    correct: bool
    kind: str = ""

    def __post_init__(self) -> None:
        require_json(self.content, f"candidate {self.id}")
        object.__setattr__(self, "content", freeze(self.content))
        if self.correct == bool(self.kind):
            raise InputError(f"Expected a fault kind for incorrect candidates alone. Got {self.kind!r} for {self.id}.")


@dataclass(frozen=True, eq=False)
class Electorate:
    """Tasks and all their raw candidates, in a fixed order.

    Args:
        domain: the domain's name.
        name: what it is called in reports.
        tasks: tasks.
        candidates: raw candidates, grouped by task in the order of ``tasks``, duplicates kept.

    Raises:
        InputError: when a candidate's task is missing, or candidates are not grouped in the order of tasks.
    """

    domain: str
    name: str
    tasks: tuple[Task, ...]
    candidates: tuple[Candidate, ...]

    def __post_init__(self) -> None:
        places = {task.id: place for place, task in enumerate(self.tasks)}
        if len(places) != len(self.tasks):
            raise InputError(f"Expected each task once in electorate {self.name}.")
        order = [places.get(candidate.task, -1) for candidate in self.candidates]
        if order != sorted(order) or -1 in order:
            raise InputError(f"Expected candidates grouped by the tasks of electorate {self.name}, in their order.")

    @cached_property
    def digest(self) -> str:
        """Identifier of everything that verdicts depend on (tasks and raw candidates in order), without labels."""
        return content_id(
            {
                "domain": self.domain,
                "tasks": [{"id": task.id, "content": task.content} for task in self.tasks],
                "candidates": [{"task": c.task, "id": c.id, "content": c.content} for c in self.candidates],
            }
        )

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """Positions of each task's candidates, by task."""
        found: dict[str, list[int]] = {task.id: [] for task in self.tasks}
        for place, candidate in enumerate(self.candidates):
            found[candidate.task].append(place)
        return tuple(tuple(found[task.id]) for task in self.tasks)

    @cached_property
    def visible(self) -> Flags:
        """``n`` flags: in V(t), the candidates that the deployed decision chooses among."""
        return np.array([candidate.visible for candidate in self.candidates], dtype=bool)

    @cached_property
    def correct(self) -> Flags:
        """``n`` labels."""
        return np.array([candidate.correct for candidate in self.candidates], dtype=bool)

    @cached_property
    def task_places(self) -> NDArray[np.int64]:
        """``n`` positions of the candidates' tasks."""
        places = {task.id: place for place, task in enumerate(self.tasks)}
        return np.array([places[candidate.task] for candidate in self.candidates], dtype=np.int64)
