"""Domain ``kernels``: a task is an episode, its candidates are kernels fitted to it, V are those whose fit succeeded.

Visible are fitting observations, query inputs and the fit; never query targets.  Correct is a kernel whose held-out CRPS on the episode is no worse than that of the
train-selected reference.  Fault kinds: over-confident (under 80 % of the query targets in the 95 % interval), inaccurate (a larger RMSE than the reference), other.
"""

from __future__ import annotations

import math
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
from kernaut.operators.cache import remembered
from kernaut.operators.examining import able, moves, verdicts_of
from kernaut.operators.kernels.coordinates import CoordinateFits
from kernaut.operators.kernels.fits import EpisodeFits, crps_of
from kernaut.operators.kernels.symptoms import HAND_WRITTEN, SYMPTOMS
from kernaut.operators.kernels.use import Candidates, Uses
from kernaut.operators.nulls import across_null
from kernaut.operators.prompting import prompt
from kernaut.operators.records import Candidate, Electorate, Flags, Operator, Task, Verdicts
from kernaut.operators.screens import ORDER, ORDER_SHARE, literal_findings, reordered, turned
from kernaut.operators.selection import Panel
from kernaut.operators.source_rules import require_operator_source
from kernaut.operators.symptoms import Symptom
from kernaut.operators.trusted import Bench, trusted_program
from kernaut.sandbox.records import SandboxProgram
from kernaut.scoring.predictive import coverage
from kernaut.seeds import generator

COVERAGE = 0.8
SCREENED = 6
"""Episodes that an operator is screened on."""
_DIGITS = 10


@dataclass
class KernelDomain:
    """Fitted kernels.

    Args:
        fits: fits by electorate name (``train``, ``unseen`` and others).
        reference: which kernel is the train-selected reference.
        candidates: the kernels, where it is asked what a rule is worth.
        labelled: whether query targets are known; without, all candidates count as correct.
        coordinates: fits the same kernels on fewer coordinates of an electorate's episodes; None where inputs have roles.
        cache: folder for verdicts; nothing is kept without it.
    """

    fits: Mapping[str, Sequence[EpisodeFits]]
    reference: int
    candidates: Candidates | None = None
    labelled: bool = True
    coordinates: Callable[[str], Sequence[CoordinateFits]] | None = None
    cache: Path | None = None
    name: str = "kernels"
    synthetic: str = ""
    _made: dict[str, Electorate] = field(default_factory=dict)
    _verdicts: dict[tuple[str, str], Verdicts] = field(default_factory=dict)
    _tables: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    _uses: dict[str, Uses] = field(default_factory=dict)

    @property
    def interface(self) -> str:
        """The words of a prompt file."""
        return prompt("kernels")

    def reported(self) -> Sequence[str]:
        """Training, validation and test episodes; validation again where test stays closed."""
        return ("train", "validation", "unseen")

    def electorate(self, name: str) -> Electorate:
        """The episodes of a name.

        Raises:
            InputError: for an unknown name.
        """
        if name not in self.fits:
            raise InputError(f"Expected an electorate of {', '.join(self.fits)}. Got {name!r}.")
        if name not in self._made:
            tasks, candidates = [], []
            for fits in self.fits[name]:
                tasks.append(Task(fits.episode.name, _episode_content(fits)))
                right, kinds = self.labels(fits)
                for place in range(len(fits.alive)):
                    kind = "" if right[place] else kinds[place]
                    candidates.append(
                        Candidate(
                            f"k{place:03d}",
                            fits.episode.name,
                            _fit_content(fits, place),
                            bool(fits.alive[place]),
                            bool(right[place]),
                            kind,
                        )
                    )
            self._made[name] = Electorate("kernels", name, tuple(tasks), tuple(candidates))
        return self._made[name]

    def labels(self, fits: EpisodeFits) -> tuple[NDArray[np.bool_], list[str]]:
        """Labels and fault kinds of all kernels on an episode."""
        if not self.labelled:
            return np.ones(len(fits.alive), dtype=bool), [""] * len(fits.alive)
        y = fits.episode.query_targets
        scores = crps_of(fits)
        error = np.sqrt(((fits.mean - y) ** 2).mean(-1))
        covered = coverage(fits.mean, fits.sd, y)
        kinds = [
            "over-confident" if covered[k] < COVERAGE else "inaccurate" if error[k] > error[self.reference] else "other"
            for k in range(len(scores))
        ]
        return np.asarray(fits.alive & (scores <= scores[self.reference] + 1e-12)), kinds

    def examine(self, operator: Operator, electorate: Electorate) -> Verdicts:
        """Verdicts on the fits that succeeded, from one fresh child an operator.

        Raises:
            ProgramRefused: when the source breaks a rule.
        """
        require_operator_source(operator)
        key = (operator.id, electorate.digest)
        if key not in self._verdicts:
            self._verdicts[key] = remembered(
                self._place("verdicts", *key), partial(self._examined, operator, electorate)
            )
        return self._verdicts[key]

    def _examined(self, operator: Operator, electorate: Electorate) -> Verdicts:
        answers = self._answers([_asked(operator)], electorate, False)
        return verdicts_of(electorate, ((place, row) for place, (row,) in answers))

    def _place(self, kind: str, *key: str) -> Path | None:
        name = content_id([*key, _program().source])
        return None if self.cache is None else self.cache / f"{kind}-{name}.json"

    def screen(self, operator: Operator, electorate: Electorate, verdicts: Verdicts) -> tuple[str, ...]:
        """Literals, and kernels and points in another order, on the episodes where the operator flags most: it sees numbers of a fit, no source and no prompt."""
        found = literal_findings(operator, ())
        counts = Counter(int(electorate.task_places[place]) for place in np.flatnonzero(verdicts.flags))
        chosen = [task for task, _ in counts.most_common(SCREENED)]
        with Bench(_program()) as bench:
            request = partial(self._request, [_asked(operator)], electorate, turn=True)
            if moves(bench, electorate, verdicts, chosen, request, ORDER_SHARE):
                found.append(ORDER)
        return tuple(found)

    def symptoms(self) -> Sequence[Symptom]:
        """What can be measured."""
        return SYMPTOMS

    def measure(self, electorate: Electorate) -> NDArray[np.float64]:
        """``n x s`` symptoms of the fits that succeeded."""
        if electorate.digest not in self._tables:
            table = np.full((len(electorate.candidates), len(SYMPTOMS)), np.nan)
            asked = [{"source": symptom.probe(), "level": symptom.level} for symptom in SYMPTOMS]
            for place, values in self._answers(asked, electorate, True):
                table[place] = [np.nan if value is None else value for value in values]
            self._tables[electorate.digest] = table
        return self._tables[electorate.digest]

    def hand_written(self) -> Sequence[Operator]:
        """Ten operators from single symptoms."""
        return HAND_WRITTEN

    def fixed_flags(self, electorate: Electorate) -> Mapping[str, Flags]:
        """A baseline that looks at no fit: the same kernels flagged on every episode, those that are worse than the reference in training."""
        if self.candidates is None:
            return {}
        worse = self.candidates.training > self.candidates.training[self.reference] + 1e-12
        return {"worse in training": np.tile(worse, len(electorate.tasks))}

    def further_null(self, electorate: Electorate, flags: Flags, name: str) -> Mapping[str, Any]:
        """The p-value of a rule against its own flags with each kernel's shuffled over episodes: whether it knows more than which kernels are bad."""
        rng = generator("across", electorate.digest, name)
        found = across_null(Panel.of(electorate), flags, electorate.visible, len(electorate.tasks), rng)
        return {"p_across_episodes": found}

    def worth(self, electorate: Electorate, flags: Flags) -> Mapping[str, Any]:
        """Mean CRPS of the kernel chosen and of the mixture formed, with and without the rule."""
        if self.candidates is None:
            return {}
        if electorate.name not in self._uses:
            fewer = None if self.coordinates is None else self.coordinates(electorate.name)
            self._uses[electorate.name] = Uses(self.fits[electorate.name], self.candidates, fewer)
        return self._uses[electorate.name](flags)

    def show(self, electorate: Electorate, place: int) -> Mapping[str, Any]:
        """A fit and its episode."""
        candidate = electorate.candidates[place]
        task = electorate.tasks[int(electorate.task_places[place])]
        return {"task": task.id, **task.content, **candidate.content}

    def _answers(self, operators: list[dict[str, Any]], electorate: Electorate, measure: bool) -> list[tuple[int, Any]]:
        found: list[tuple[int, Any]] = []
        with Bench(_program()) as bench:
            for task in range(len(electorate.tasks)):
                places = able(electorate, task)
                try:
                    rows = bench.ask({**self._request(operators, electorate, task), "measure": measure})
                except SandboxFailure as failure:
                    lost = None if measure else ["abstain", f"{failure.state}: {failure.message}"]
                    rows = [[lost] * len(operators)] * len(places)
                found += zip(places, rows, strict=True)
        return found

    def _request(
        self, operators: list[dict[str, Any]], electorate: Electorate, task: int, *, turn: bool = False
    ) -> dict[str, Any]:
        """An episode with the kernels that could be fitted; turned, they stand in another order, and points in reverse."""
        record, places = self._fitted(electorate)[electorate.tasks[task].id], able(electorate, task)
        shown = [_plain(electorate.candidates[place].content) for place in places]
        content = _plain(electorate.tasks[task].content)
        order = turned(len(places)) if turn else list(range(len(places)))
        if turn:
            content, shown = _backwards(content), [_backwards(fit) for fit in shown]
        runs = any(operator["level"] == 2 and "predict" in operator["source"] for operator in operators)
        members = electorate.members[task]
        grams = _grams(record, [members.index(place) for place in places], turn) if runs else None
        return {
            "operators": operators,
            "task": content,
            "shown": [{**fit, "place": number} for number, fit in enumerate(reordered(shown, order))],
            "wanted": order,
            "measure": False,
            "grams": None if grams is None else reordered(grams, order),
        }

    def _fitted(self, electorate: Electorate) -> dict[str, EpisodeFits]:
        return {record.episode.name: record for record in self.fits[electorate.name]}


def _asked(operator: Operator) -> dict[str, Any]:
    return {"source": operator.source, "level": operator.level}


def _backwards(content: dict[str, Any]) -> dict[str, Any]:
    """An episode or a fit with its points, fitting and query ones, in reverse; the likelihood's grid stays."""
    return {
        key: value[::-1] if isinstance(value, list) and key != "log_likelihood" else value
        for key, value in content.items()
    }


def _program() -> SandboxProgram:
    return trusted_program("runtime", "kernels/runtime")


def _episode_content(fits: EpisodeFits) -> dict[str, Any]:
    episode = fits.episode
    return {
        "inputs": episode.fit_inputs.tolist(),
        "targets": episode.fit_targets.tolist(),
        "query_inputs": episode.query_inputs.tolist(),
    }


def _fit_content(fits: EpisodeFits, place: int) -> dict[str, Any]:
    if not fits.alive[place]:
        return {}
    likelihood = [value if math.isfinite(value) else None for value in fits.log_likelihood[place].tolist()]
    return {
        "log_likelihood": [-1e9 if value is None else value for value in likelihood],
        "amplitude": float(fits.amplitude[place]),
        "noise": float(fits.noise[place]),
        "condition": float(fits.condition[place]),
        "mean": fits.mean[place].tolist(),
        "sd": fits.sd[place].tolist(),
        "loo_mean": fits.loo_mean[place].tolist(),
        "loo_sd": fits.loo_sd[place].tolist(),
    }


def _grams(fits: EpisodeFits, kernels: Sequence[int], backwards: bool) -> list[list[float]]:
    n, size = len(fits.episode.fit_targets), fits.gram.shape[-1]
    points = np.r_[n - 1 : -1 : -1, size - 1 : n - 1 : -1] if backwards else np.arange(size)
    rows, columns = np.triu_indices(size)
    return [np.round(fits.gram[kernel][points[rows], points[columns]], _DIGITS).tolist() for kernel in kernels]


def _plain(content: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _listed(value) for key, value in content.items()}


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value
