"""Domain ``code``: tasks are Python-programming tasks, candidates are sources, V are those that pass the visible checks.

Training and unseen tasks are told apart by a seeded hash of the task's identifier.  Operators see prompt, function name and sources; never hidden tests or labels.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.digest import content_id
from kernaut.errors import InputError, SandboxFailure
from kernaut.operators.cache import remembered, write_cache
from kernaut.operators.code.bank import Sample
from kernaut.operators.code.labels import SINGLE_LIMITS, code_program
from kernaut.operators.code.operators import HAND_WRITTEN
from kernaut.operators.code.screens import MOST_TASKS, View, rewrites
from kernaut.operators.code.symptoms import SYMPTOMS
from kernaut.operators.code.tasks import CodeTask
from kernaut.operators.examining import able, examined, moves, places_matter
from kernaut.operators.prompting import prompt
from kernaut.operators.records import Candidate, Electorate, Flags, Operator, Task, Verdicts
from kernaut.operators.screens import ORDER, ORDER_SHARE, literal_findings, moved, reordered
from kernaut.operators.source_rules import require_operator_source
from kernaut.operators.symptoms import Symptom
from kernaut.operators.trusted import Bench
from kernaut.seeds import stable_seed

INPUTS = 40
SYNTHETIC = "Candidates were made by mutating reference solutions; a result on such a bank is synthetic and may not hold on natural samples."
POOLS = {"train": "first", "unseen": "first", "transfer": "second"}


@dataclass
class CodeDomain:
    """Python-programming tasks with candidates.

    Args:
        tasks: tasks.
        pools: samples by pool name; ``train`` and ``unseen`` divide the pool ``first``, ``transfer`` holds the unseen tasks of the pool ``second``.
        split_seed: of the hash that divides tasks.
        synthetic: what reports must say of the candidates.
        foreign: pools whose candidates come from elsewhere, which are run in a process of their own each.
        cache: folder for measured symptoms and verdicts; nothing is kept without it.
        counts: how many tasks are usable, and why others are not, for reports.
    """

    tasks: Sequence[CodeTask]
    pools: Mapping[str, Sequence[Sample]]
    split_seed: int = 0
    synthetic: str = SYNTHETIC
    foreign: Sequence[str] = ()
    cache: Path | None = None
    name: str = "code"
    counts: Mapping[str, Any] = field(default_factory=dict)
    _made: dict[str, Electorate] = field(default_factory=dict)
    _tables: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    _tapes: dict[str, list[Any]] = field(default_factory=dict)
    _verdicts: dict[tuple[str, str], Verdicts] = field(default_factory=dict)

    @property
    def interface(self) -> str:
        """The words of a prompt file."""
        return prompt("code")

    def reported(self) -> Sequence[str]:
        """Training tasks, the second pool where it is loaded, unseen tasks."""
        return ("train", "transfer", "unseen") if "second" in self.pools else ("train", "unseen")

    def is_training(self, task: str) -> bool:
        """Which half a task belongs to."""
        return stable_seed("cegar split", self.split_seed, task) % 2 == 0

    def electorate(self, name: str) -> Electorate:
        """``train``, ``unseen`` or ``transfer``.

        Raises:
            InputError: for another name, or a pool that is not there.
        """
        pool = POOLS.get(name)
        if pool is None or pool not in self.pools:
            raise InputError(f"Expected electorate train, unseen or transfer of a pool that is loaded. Got {name!r}.")
        if name not in self._made:
            wanted = name == "train"
            samples: dict[str, list[Sample]] = {}
            for sample in self.pools[pool]:
                if self.is_training(sample.task) == wanted:
                    samples.setdefault(sample.task, []).append(sample)
            chosen = [task for task in self.tasks if any(s.visible for s in samples.get(task.id, []))]
            self._made[name] = Electorate(
                "code",
                name,
                tuple(Task(task.id, self._content(task)) for task in chosen),
                tuple(_candidate(s, number) for task in chosen for number, s in enumerate(samples[task.id])),
            )
        return self._made[name]

    def examine(self, operator: Operator, electorate: Electorate) -> Verdicts:
        """Verdicts on the candidates in V, from one fresh child an operator.

        Raises:
            ProgramRefused: when the source breaks a rule.
        """
        require_operator_source(operator)
        key = (operator.id, electorate.digest)
        if key not in self._verdicts:
            place = self._place(f"verdicts-{content_id([*key, code_program().source])}")
            self._verdicts[key] = remembered(place, partial(self._examined, operator, electorate))
        return self._verdicts[key]

    def _examined(self, operator: Operator, electorate: Electorate) -> Verdicts:
        with Bench(code_program()) as bench:
            return examined(bench, electorate, partial(self._request, electorate, [_asked(operator)]))

    def screen(self, operator: Operator, electorate: Electorate, verdicts: Verdicts) -> tuple[str, ...]:
        """Findings of the four screens, and of candidates in another order, on the tasks where the operator flags most."""
        found = literal_findings(operator, (str(c.content["source"]) for c in electorate.candidates))
        counts = Counter(int(electorate.task_places[place]) for place in np.flatnonzero(verdicts.flags))
        chosen = [task for task, _ in counts.most_common(MOST_TASKS - 2)]
        chosen += [task for task in range(len(electorate.tasks)) if task not in chosen][: MOST_TASKS - len(chosen)]
        with Bench(code_program()) as bench:
            for screen in rewrites(operator):
                request = partial(self._request, electorate, [_asked(operator)], rewrite=screen.rewrite)
                if moves(bench, electorate, verdicts, chosen, request, screen.share):
                    found.append(f"{screen.name}: {screen.words}")

            def elsewhere(task: int, number: int) -> Mapping[str, Any]:
                return self._request(electorate, [_asked(operator)], task, number=number)

            share = ORDER_SHARE if operator.level == 2 else 0.0
            if places_matter(bench, electorate, verdicts, chosen, elsewhere, share):
                found.append(ORDER)
        return tuple(found)

    def symptoms(self) -> Sequence[Symptom]:
        """What can be measured."""
        return SYMPTOMS

    def measure(self, electorate: Electorate) -> NDArray[np.float64]:
        """``n x s`` symptoms of the candidates in V."""
        if electorate.digest in self._tables:
            return self._tables[electorate.digest]
        probes = [symptom.probe() for symptom in SYMPTOMS]
        place = self._place(f"symptoms-{content_id([electorate.digest, probes, code_program().source])}")
        if place is not None and place.is_file():
            rows = json.loads(place.read_text(encoding="utf-8"))
        else:
            rows = self._measured(electorate)
            if place is not None:
                write_cache(place, rows)
        table = np.array([[np.nan if value is None else value for value in row] for row in rows], dtype=np.float64)
        self._tables[electorate.digest] = table
        return table

    def hand_written(self) -> Sequence[Operator]:
        """The fifteen."""
        return HAND_WRITTEN

    def worth(self, electorate: Electorate, flags: Flags) -> Mapping[str, Any]:
        """Nothing beside selection accuracy."""
        return {}

    def show(self, electorate: Electorate, place: int) -> Mapping[str, Any]:
        """A candidate's source, and its task's prompt."""
        candidate = electorate.candidates[place]
        task = electorate.tasks[int(electorate.task_places[place])]
        return {"task": task.id, "prompt": task.content["prompt"], "source": candidate.content["source"]}

    def _content(self, task: CodeTask) -> dict[str, Any]:
        checks = [dict(check) for check in task.checks]
        return {
            "prompt": task.prompt,
            "entry": task.entry,
            "checks": checks,
            "seed": stable_seed("inputs", task.id) >> 12,
        }

    def _view(self, electorate: Electorate, task: int) -> View:
        content = electorate.tasks[task].content
        members = electorate.members[task]
        sources = tuple(str(electorate.candidates[place].content["source"]) for place in members)
        correct = tuple(electorate.candidates[place].correct for place in members)
        return View({"prompt": content["prompt"], "entry": content["entry"]}, sources, sources, correct)

    def _request(
        self,
        electorate: Electorate,
        operators: Sequence[Mapping[str, Any]],
        task: int,
        *,
        rewrite: Callable[[View], View] | None = None,
        number: int | None = None,
    ) -> dict[str, Any]:
        content, members = electorate.tasks[task].content, electorate.members[task]
        true = self._view(electorate, task)
        view = true if rewrite is None else rewrite(true)
        runs = any(operator["level"] == 2 for operator in operators)
        order = list(range(len(members))) if number is None else moved(len(members), number)
        return {
            "do": "judge",
            "tape": reordered(self._tape(electorate)[task], order) if runs else None,
            "operators": list(operators),
            "task": dict(view.task),
            "shown": [{"source": text, "place": place} for place, text in enumerate(reordered(view.shown, order))],
            "sources": reordered(view.true, order),
            "wanted": [
                order[k] for k, place in enumerate(members) if electorate.visible[place] and number in (None, k)
            ],
            "measure": False,
            "entry": content["entry"],
            "checks": [dict(check) for check in content["checks"]],
            "seed": content["seed"],
            "inputs": INPUTS,
        }

    def _measured(self, electorate: Electorate) -> list[list[float | None]]:
        probes = [{"source": symptom.probe(), "level": symptom.level} for symptom in SYMPTOMS]
        rows: list[list[float | None]] = [[None] * len(SYMPTOMS) for _ in electorate.candidates]
        with Bench(code_program()) as bench:
            for task in range(len(electorate.tasks)):
                try:
                    answers = bench.ask({**self._request(electorate, probes, task), "measure": True})
                except SandboxFailure:
                    continue
                for place, values in zip(able(electorate, task), answers, strict=True):
                    rows[place] = values
        return rows

    def _tape(self, electorate: Electorate) -> list[Any]:
        """Outcomes of every raw sample on the inputs that operators are given, by task; run once, since they never change."""
        if electorate.digest in self._tapes:
            return self._tapes[electorate.digest]
        place = self._place(f"tape-{content_id([electorate.digest, INPUTS, code_program().source])}")
        if place is not None and place.is_file():
            self._tapes[electorate.digest] = json.loads(place.read_text(encoding="utf-8"))
            return self._tapes[electorate.digest]
        found: list[Any] = []
        apart = POOLS.get(electorate.name) in self.foreign
        with Bench(code_program()) as bench, Bench(code_program(), SINGLE_LIMITS, fresh=True) as single:
            for task in range(len(electorate.tasks)):
                request = {**self._request(electorate, [], task), "do": "tape"}
                try:
                    found.append(tape_apart(single, request) if apart else list(bench.ask(request)))
                except SandboxFailure:
                    found.append(tape_apart(single, request))
        if place is not None:
            write_cache(place, found)
        self._tapes[electorate.digest] = found
        return found

    def _place(self, name: str) -> Path | None:
        return None if self.cache is None else self.cache / f"{name}.json"


def _asked(operator: Operator) -> dict[str, Any]:
    return {"source": operator.source, "level": operator.level}


def _candidate(sample: Sample, number: int) -> Candidate:
    kind = "" if sample.correct else ("hidden tests only" if sample.visible else "visible checks")
    return Candidate(f"c{number:03d}", sample.task, {"source": sample.source}, sample.visible, sample.correct, kind)


def tape_apart(bench: Bench, request: Mapping[str, Any]) -> list[Any]:
    """The outcomes of all sources of a request, each from a process of its own."""
    found: dict[str, Any] = {}
    for source in dict.fromkeys(request["sources"]):
        try:
            found[source] = bench.ask({**request, "sources": [source]})[0]
        except SandboxFailure as failure:
            found[source] = ended(failure.state)
    return [found[source] for source in request["sources"]]


def ended(state: str) -> dict[str, Any]:
    """The outcomes of a candidate that ended its process: on every input it gives none."""
    return {"": {"ok": False, "text": "", "kind": "", "error": state, "steps": 0, "changed": False}}
