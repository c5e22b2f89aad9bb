"""Domains whose tasks and candidates are plain JSON, such as reports: a package describes them in one file, and this does the rest.

Operators, symptoms and an optional runner run in the sandbox as in Kernaut's own domains.  What a package gives: labelled electorates, what can be measured, operators by hand,
words for language models, and how candidates can be rewritten without changing what they say, for the screens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.digest import thaw
from kernaut.errors import InputError, SandboxFailure
from kernaut.operators.examining import able, examined, moves, places_matter
from kernaut.operators.records import Electorate, Flags, Operator, Verdicts
from kernaut.operators.screens import ORDER, ORDER_SHARE, literal_findings, moved, reordered
from kernaut.operators.source_rules import require_operator_source
from kernaut.operators.symptoms import Symptom
from kernaut.operators.trusted import Bench, trusted_source
from kernaut.sandbox.records import SandboxProgram

SCREENED_TASKS = 6

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
            with Bench(self._program()) as bench:
                self._verdicts[key] = examined(
                    bench, electorate, partial(self._request, electorate, [_asked(operator)])
                )
        return self._verdicts[key]

    def screen(self, operator: Operator, electorate: Electorate, verdicts: Verdicts) -> tuple[str, ...]:
        """Literals, then every rewriting, then candidates in another order, on the tasks where the operator flags most."""
        found = literal_findings(operator, (text for c in electorate.candidates for text in _texts(c.content)))
        counts = Counter(int(electorate.task_places[place]) for place in np.flatnonzero(verdicts.flags))
        chosen = [task for task, _ in counts.most_common(SCREENED_TASKS)]
        chosen += [task for task in range(len(electorate.tasks)) if task not in chosen]
        with Bench(self._program()) as bench:
            for screen in self.screens:
                request = partial(self._request, electorate, [_asked(operator)], rewrite=screen.rewrite)
                if moves(bench, electorate, verdicts, chosen[:SCREENED_TASKS], request, screen.share):
                    found.append(f"{screen.name}: {screen.words}")

            def elsewhere(task: int, number: int) -> Mapping[str, Any]:
                return self._request(electorate, [_asked(operator)], task, number=number)

            share = ORDER_SHARE if operator.level == 2 else 0.0
            if places_matter(bench, electorate, verdicts, chosen[:SCREENED_TASKS], elsewhere, share):
                found.append(ORDER)
        return tuple(found)

    def symptoms(self) -> Sequence[Symptom]:
        """What can be measured."""
        return self.measured

    def measure(self, electorate: Electorate) -> NDArray[np.float64]:
        """``n x s`` symptoms of the candidates in V; NaN on a task whose process ended."""
        if electorate.digest not in self._tables:
            table = np.full((len(electorate.candidates), len(self.measured)), np.nan)
            asked = [{"source": symptom.probe(), "level": symptom.level} for symptom in self.measured]
            with Bench(self._program()) as bench:
                for task in range(len(electorate.tasks)):
                    request = {**self._request(electorate, asked, task), "measure": True}
                    try:
                        answers = bench.ask(request)
                    except SandboxFailure:  # nothing could be measured on this task
                        continue
                    for place, values in zip(able(electorate, task), answers, strict=True):
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
        self,
        electorate: Electorate,
        operators: list[Record],
        task: int,
        *,
        rewrite: Rewrite | None = None,
        number: int | None = None,
    ) -> dict[str, Any]:
        members = [electorate.candidates[place] for place in electorate.members[task]]
        content, true = thaw(electorate.tasks[task].content), [thaw(candidate.content) for candidate in members]
        shown_task, shown = content, true
        if rewrite is not None:
            shown_task, shown = rewrite(
                thaw(electorate.tasks[task].content), [dict(c) for c in true], [c.correct for c in members]
            )
        order = list(range(len(members))) if number is None else moved(len(members), number)
        return {
            "operators": operators,
            "task": shown_task,
            "shown": [{**candidate, "place": place} for place, candidate in enumerate(reordered(shown, order))],
            "true": reordered(true, order),
            "wanted": [order[k] for k, candidate in enumerate(members) if candidate.visible and number in (None, k)],
            "measure": False,
        }


def _asked(operator: Operator) -> Record:
    return {"source": operator.source, "level": operator.level}


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
