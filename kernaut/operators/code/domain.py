"""Domain ``code``: tasks are Python-programming tasks, candidates are sources, V are those that pass the visible checks.

Training and unseen tasks are told apart by a seeded hash of the task's identifier.  Operators see prompt, function name and sources; never hidden tests or labels.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.digest import content_id
from kernaut.errors import InputError, SandboxFailure
from kernaut.operators.code.bank import Sample, write_cache
from kernaut.operators.code.labels import SINGLE_LIMITS, code_program
from kernaut.operators.code.operators import HAND_WRITTEN
from kernaut.operators.code.screens import MOST_TASKS, View, is_caught, rewrites
from kernaut.operators.code.symptoms import SYMPTOMS
from kernaut.operators.code.tasks import CodeTask
from kernaut.operators.domain import unasked
from kernaut.operators.prompting import prompt
from kernaut.operators.records import ABSTAIN, FLAG, PASS, Candidate, Electorate, Flags, Operator, Task, Verdicts
from kernaut.operators.screens import literal_findings
from kernaut.operators.source_rules import require_operator_source
from kernaut.operators.symptoms import Symptom
from kernaut.operators.trusted import Bench
from kernaut.seeds import stable_seed

INPUTS = 40
SYNTHETIC = "Candidates were made by mutating reference solutions; a result on such a bank is synthetic and may not hold on natural samples."
POOLS = {"train": "first", "unseen": "first", "transfer": "second"}
_CODES = {"flag": FLAG, "pass": PASS, "abstain": ABSTAIN}


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
        done: called with tasks done and their number.
        counts: how many tasks are usable, and why others are not, for reports.
    """

    tasks: Sequence[CodeTask]
    pools: Mapping[str, Sequence[Sample]]
    split_seed: int = 0
    synthetic: str = SYNTHETIC
    foreign: Sequence[str] = ()
    cache: Path | None = None
    done: Callable[[int, int], None] | None = None
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
            if place is not None and place.is_file():
                self._verdicts[key] = Verdicts.from_json(json.loads(place.read_text(encoding="utf-8")))
            else:
                self._verdicts[key] = self._examined(operator, electorate)
                if place is not None:
                    write_cache(place, self._verdicts[key].to_json())
        return self._verdicts[key]

    def screen(self, operator: Operator, electorate: Electorate, verdicts: Verdicts) -> tuple[str, ...]:
        """Findings of the four screens, on the tasks where the operator flags most."""
        found = literal_findings(operator, (str(c.content["source"]) for c in electorate.candidates))
        counts = Counter(int(electorate.task_places[place]) for place in np.flatnonzero(verdicts.flags))
        chosen = [task for task, _ in counts.most_common(MOST_TASKS - 2)]
        chosen += [task for task in range(len(electorate.tasks)) if task not in chosen][: MOST_TASKS - len(chosen)]
        with Bench(code_program()) as bench:
            for name, words, rewrite in rewrites(operator):
                before: list[str] = []
                after: list[str] = []
                for task in chosen:
                    members = electorate.members[task]
                    wanted = [n for n, place in enumerate(members) if electorate.visible[place]]
                    view = self._view(electorate, task)
                    before += [_word(verdicts.codes[members[n]]) for n in wanted]
                    after += [
                        answer[0] for answer in self._ask(bench, operator, electorate, task, rewrite(view), wanted)
                    ]
                if is_caught(name, before, after):
                    found.append(f"{name}: {words}")
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
        operators: Sequence[Mapping[str, Any]],
        electorate: Electorate,
        task: int,
        view: View,
        wanted: Sequence[int],
    ) -> dict[str, Any]:
        content = electorate.tasks[task].content
        runs = any(operator["level"] == 2 for operator in operators)
        return {
            "do": "judge",
            "tape": self._tape(electorate)[task] if runs else None,
            "operators": list(operators),
            "task": dict(view.task),
            "shown": [{"source": source, "place": number} for number, source in enumerate(view.shown)],
            "sources": list(view.true),
            "wanted": list(wanted),
            "measure": False,
            "entry": content["entry"],
            "checks": [dict(check) for check in content["checks"]],
            "seed": content["seed"],
            "inputs": INPUTS,
        }

    def _ask(
        self, bench: Bench, operator: Operator, electorate: Electorate, task: int, view: View, wanted: Sequence[int]
    ) -> list[list[str]]:
        """``[verdict, reason]`` of one operator for the wanted candidates of a task; when the child dies, one by one."""
        request = self._request([{"source": operator.source, "level": operator.level}], electorate, task, view, wanted)
        try:
            return [row[0] for row in bench.ask(request)]
        except SandboxFailure as failure:
            if len(wanted) == 1:
                return [["abstain", f"{failure.state}: {failure.message}"]]
            singles = [self._ask(bench, operator, electorate, task, view, [number]) for number in wanted[:3]]
            if all(single[0][0] == "abstain" for single in singles):  # it dies on everyone: the rest is spared
                return [singles[min(n, 2)][0] for n in range(len(wanted))]
            return [
                *(s[0] for s in singles),
                *(self._ask(bench, operator, electorate, task, view, [n])[0] for n in wanted[3:]),
            ]

    def _examined(self, operator: Operator, electorate: Electorate) -> Verdicts:
        codes, reasons = unasked(electorate).codes, {}
        dead = 0
        with Bench(code_program()) as bench:
            for task, members in enumerate(electorate.members):
                wanted = [n for n, place in enumerate(members) if electorate.visible[place]]
                if dead >= 2:  # it has ended its child on two whole tasks: the rest would only take time
                    answers = [["abstain", "the operator ended its process on two tasks"]] * len(wanted)
                else:
                    answers = self._ask(bench, operator, electorate, task, self._view(electorate, task), wanted)
                    died = all(v == "abstain" and r.startswith(("crashed", "timed", "refused")) for v, r in answers)
                    dead += bool(answers) and died
                for number, (verdict, reason) in zip(wanted, answers, strict=True):
                    codes[members[number]] = _CODES[verdict]
                    if verdict == "abstain":
                        reasons[members[number]] = reason
                if self.done is not None:
                    self.done(task + 1, len(electorate.tasks))
        return Verdicts(codes, reasons)

    def _measured(self, electorate: Electorate) -> list[list[float | None]]:
        probes = [{"source": symptom.probe(), "level": symptom.level} for symptom in SYMPTOMS]
        rows: list[list[float | None]] = [[None] * len(SYMPTOMS) for _ in electorate.candidates]
        with Bench(code_program()) as bench:
            for task, members in enumerate(electorate.members):
                wanted = [n for n, place in enumerate(members) if electorate.visible[place]]
                request = self._request(probes, electorate, task, self._view(electorate, task), wanted)
                try:
                    answers = bench.ask({**request, "measure": True})
                except SandboxFailure:
                    continue
                for number, values in zip(wanted, answers, strict=True):
                    rows[members[number]] = values
                if self.done is not None:
                    self.done(task + 1, len(electorate.tasks))
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
        self._tapes[electorate.digest] = [None] * len(electorate.tasks)  # what a request sees while the tape is made
        apart = POOLS.get(electorate.name) in self.foreign
        with Bench(code_program()) as bench, Bench(code_program(), SINGLE_LIMITS, fresh=True) as single:
            for task in range(len(electorate.tasks)):
                view = self._view(electorate, task)
                request = {**self._request([], electorate, task, view, []), "do": "tape"}
                try:
                    found.append(one_by_one(single, request) if apart else list(bench.ask(request)))
                except SandboxFailure:
                    found.append(one_by_one(single, request))
                if self.done is not None:
                    self.done(task + 1, len(electorate.tasks))
        if place is not None:
            write_cache(place, found)
        self._tapes[electorate.digest] = found
        return found

    def _place(self, name: str) -> Path | None:
        return None if self.cache is None else self.cache / f"{name}.json"


def _candidate(sample: Sample, number: int) -> Candidate:
    kind = "" if sample.correct else ("hidden tests only" if sample.visible else "visible checks")
    return Candidate(f"c{number:03d}", sample.task, {"source": sample.source}, sample.visible, sample.correct, kind)


def one_by_one(bench: Bench, request: Mapping[str, Any]) -> list[Any]:
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


def _word(code: int) -> str:
    return next(word for word, value in _CODES.items() if value == int(code))
