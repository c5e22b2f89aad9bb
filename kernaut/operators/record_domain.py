"""Domains whose tasks and candidates are plain JSON, such as reports: a package describes them in one file, and this does the rest.

Operators, symptoms and an optional runner run in the sandbox as in Kernaut's own domains.  What a package gives: labelled electorates, what can be measured, operators by hand,
words for language models, and how candidates can be rewritten without changing what they say, for the screens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.digest import thaw
from kernaut.errors import InputError, SandboxFailure
from kernaut.operators.domain import unasked
from kernaut.operators.records import ABSTAIN, FLAG, PASS, Electorate, Flags, Operator, Verdicts
from kernaut.operators.screens import literal_findings
from kernaut.operators.source_rules import require_operator_source
from kernaut.operators.symptoms import Symptom
from kernaut.operators.trusted import Bench, trusted_source
from kernaut.sandbox.records import SandboxProgram

SCREENED_TASKS = 6
DEAD_TASKS = 2
"""An operator that ends its process on so many whole tasks is asked no further."""

_CODES = {"flag": FLAG, "pass": PASS, "abstain": ABSTAIN}

Record = dict[str, Any]
Rewrite = Callable[[Record, list[Record], Sequence[bool]], tuple[Record, list[Record]]]
"""From a task, its raw candidates and their labels to the same, rewritten."""


@dataclass(frozen=True)
class Screen:
    """A rewriting under which an honest operator's verdicts stay.

    Args:
        name: such as "syntax screen".
        words: what failing it means, a sentence about the operator.
        rewrite: rewrites a task and its candidates.
        share: how many of its flags may be lost, as a share; 0 lets no verdict change.
    """

    name: str
    words: str
    rewrite: Rewrite
    share: float = 0.0

    def catches(self, before: Sequence[int], after: Sequence[int]) -> bool:
        """Whether verdicts on rewritten candidates differ by more than they may."""
        if self.share == 0.0:
            return list(before) != list(after)
        flagged = [place for place, code in enumerate(before) if code == FLAG]
        lost = sum(after[place] != FLAG for place in flagged)
        return lost > self.share * len(flagged)


@dataclass
class RecordDomain:
    """A domain of plain records; see :class:`kernaut.operators.domain.Domain`.

    Args:
        name: as it is installed.
        electorates: labelled electorates by name, ``train`` first, ``unseen`` last.
        measured: symptoms that the offline author composes operators from.
        by_hand: operators written by hand.
        interface: what a task and a candidate hold, in words.
        synthetic: what reports must say about where candidates come from; empty when they are natural.
        screens: rewritings for the screens.
        runner: a trusted text of the standard library that defines ``observe(task, candidate, argument)``, for ``ctx.run``; none without.

    Raises:
        InputError: when the electorates lack ``train`` or ``unseen``, or belong to another domain.
    """

    name: str
    electorates: Mapping[str, Electorate]
    measured: Sequence[Symptom]
    by_hand: Sequence[Operator]
    interface: str
    synthetic: str = ""
    screens: Sequence[Screen] = ()
    runner: str = ""
    _verdicts: dict[tuple[str, str], Verdicts] = field(default_factory=dict)
    _tables: dict[str, NDArray[np.float64]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = list(self.electorates)
        if names[:1] != ["train"] or names[-1:] != ["unseen"] or len(names) < 2:
            raise InputError(f"Expected electorates from train to unseen. Got {', '.join(names) or 'none'}.")
        for name, electorate in self.electorates.items():
            if (electorate.domain, electorate.name) != (self.name, name):
                raise InputError(
                    f"Expected electorate {name} of domain {self.name}. Got {electorate.name} of {electorate.domain}."
                )

    def reported(self) -> Sequence[str]:
        """All electorates."""
        return tuple(self.electorates)

    def electorate(self, name: str) -> Electorate:
        """The electorate of a name.

        Raises:
            InputError: for an unknown name.
        """
        if name not in self.electorates:
            raise InputError(f"Expected an electorate of {', '.join(self.electorates)}. Got {name!r}.")
        return self.electorates[name]

    def examine(self, operator: Operator, electorate: Electorate) -> Verdicts:
        """Verdicts on the candidates in V, from one fresh child an operator.

        Raises:
            ProgramRefused: when the source breaks a rule.
        """
        require_operator_source(operator)
        key = (operator.id, electorate.digest)
        if key not in self._verdicts:
            codes, reasons = unasked(electorate).codes, {}
            for place, (verdict, reason) in self._judged(operator, electorate):
                codes[place] = _CODES[verdict]
                if verdict == "abstain":
                    reasons[place] = reason
            self._verdicts[key] = Verdicts(codes, reasons)
        return self._verdicts[key]

    def screen(self, operator: Operator, electorate: Electorate, verdicts: Verdicts) -> tuple[str, ...]:
        """Literals, then every rewriting, on the tasks where the operator flags most."""
        found = literal_findings(operator, (text for c in electorate.candidates for text in _texts(c.content)))
        counts = Counter(int(electorate.task_places[place]) for place in np.flatnonzero(verdicts.flags))
        chosen = [task for task, _ in counts.most_common(SCREENED_TASKS)]
        chosen += [task for task in range(len(electorate.tasks)) if task not in chosen]
        with Bench(self._program()) as bench:
            for screen in self.screens:
                before: list[int] = []
                after: list[int] = []
                for task in chosen[:SCREENED_TASKS]:
                    places = _able(electorate, task)
                    before += [int(verdicts.codes[place]) for place in places]
                    request = self._request(electorate, task, [_asked(operator)], screen.rewrite)
                    after += [_CODES[row[0]] for row in _one_by_one(bench, request)]
                if screen.catches(before, after):
                    found.append(f"{screen.name}: {screen.words}")
        return tuple(found)

    def symptoms(self) -> Sequence[Symptom]:
        """What can be measured."""
        return self.measured

    def measure(self, electorate: Electorate) -> NDArray[np.float64]:
        """``n x s`` symptoms of the candidates in V."""
        if electorate.digest not in self._tables:
            table = np.full((len(electorate.candidates), len(self.measured)), np.nan)
            asked = [{"source": symptom.probe(), "level": symptom.level} for symptom in self.measured]
            with Bench(self._program()) as bench:
                for task in range(len(electorate.tasks)):
                    request = {**self._request(electorate, task, asked, None), "measure": True}
                    for place, values in zip(_able(electorate, task), bench.ask(request), strict=True):
                        table[place] = [np.nan if value is None else value for value in values]
            self._tables[electorate.digest] = table
        return self._tables[electorate.digest]

    def hand_written(self) -> Sequence[Operator]:
        """Operators by hand."""
        return self.by_hand

    def worth(self, electorate: Electorate, flags: Flags) -> Mapping[str, Any]:
        """Nothing beside selection accuracy."""
        return {}

    def show(self, electorate: Electorate, place: int) -> Mapping[str, Any]:
        """A candidate and its task."""
        task = electorate.tasks[int(electorate.task_places[place])]
        return {"task": task.id, **task.content, **electorate.candidates[place].content}

    def _program(self) -> SandboxProgram:
        text = f"{trusted_source('runtime', 'record_runtime')}\n\n{self.runner}\n"
        return SandboxProgram(text, "answer", "json", "python")

    def _request(
        self, electorate: Electorate, task: int, operators: list[Record], rewrite: Rewrite | None
    ) -> dict[str, Any]:
        members = [electorate.candidates[place] for place in electorate.members[task]]
        content, true = thaw(electorate.tasks[task].content), [thaw(candidate.content) for candidate in members]
        shown_task, shown = content, true
        if rewrite is not None:
            shown_task, shown = rewrite(
                thaw(electorate.tasks[task].content), [dict(c) for c in true], [c.correct for c in members]
            )
        return {
            "operators": operators,
            "task": shown_task,
            "shown": [{**candidate, "place": number} for number, candidate in enumerate(shown)],
            "true": true,
            "wanted": [number for number, candidate in enumerate(members) if candidate.visible],
            "measure": False,
        }

    def _judged(self, operator: Operator, electorate: Electorate) -> Iterator[tuple[int, list[str]]]:
        dead = 0
        with Bench(self._program()) as bench:
            for task in range(len(electorate.tasks)):
                places = _able(electorate, task)
                if dead < DEAD_TASKS:
                    rows = _one_by_one(bench, self._request(electorate, task, [_asked(operator)], None))
                    dead += bool(rows) and all(row[1].startswith(("crashed", "timed out", "refused")) for row in rows)
                else:
                    rows = [["abstain", f"the operator ended its process on {DEAD_TASKS} tasks"]] * len(places)
                yield from zip(places, rows, strict=True)


def _asked(operator: Operator) -> Record:
    return {"source": operator.source, "level": operator.level}


def _able(electorate: Electorate, task: int) -> list[int]:
    return [place for place in electorate.members[task] if electorate.visible[place]]


def _one_by_one(bench: Bench, request: Mapping[str, Any]) -> list[list[str]]:
    """``[verdict, reason]`` of one operator for the wanted candidates; when the child dies, candidate by candidate, and not beyond three that it dies on."""
    try:
        return [row[0] for row in bench.ask(request)]
    except SandboxFailure as failure:
        wanted = request["wanted"]
        if len(wanted) == 1:
            return [["abstain", f"{failure.state}: {failure.message}"]]
    rows = [_one_by_one(bench, {**request, "wanted": [number]})[0] for number in wanted[:3]]
    if all(row[0] == "abstain" for row in rows):
        return [*rows, *([rows[-1]] * (len(wanted) - len(rows)))]
    return [*rows, *(_one_by_one(bench, {**request, "wanted": [number]})[0] for number in wanted[3:])]


def _texts(value: Any) -> Iterator[str]:
    """All texts in a record."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner)
