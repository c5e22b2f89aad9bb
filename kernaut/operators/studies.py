"""The analyses of a campaign by name: what ``kernaut cegar analyse`` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from kernaut.errors import InputError
from kernaut.operators.admission import union
from kernaut.operators.analysis import duplication, landscape, split_halves, sweep, transfer_budget, veto
from kernaut.operators.authoring import OfflineAuthor, Request
from kernaut.operators.composition import MOST_CHOSEN, Votes, require_votes
from kernaut.operators.domain import Domain
from kernaut.operators.model_judge import Judged
from kernaut.operators.records import Operator, Verdicts
from kernaut.operators.rules import assess, composed
from kernaut.operators.running import distinct, overlap
from kernaut.operators.selection import Panel
from kernaut.operators.store import StoredRun
from kernaut.seeds import generator, stable_seed

ANALYSES = ("criteria", "halves", "sweep", "budget", "duplication", "veto", "ledger", "induction", "judge")
INDUCED = 20
INDUCED_RECALL = 0.1
INDUCED_PRECISION = 0.6


def studies(
    domain: Domain, runs: Sequence[StoredRun], names: Sequence[str], *, votes: Votes = 2, judges: Sequence[Judged] = ()
) -> dict[str, Any]:
    """Run analyses on the operators of all runs.

    Args:
        domain: the domain, with electorates ``train`` and ``unseen``.
        runs: closed runs.
        names: which; all if empty.
        votes: m; ``best`` takes the number of votes that the composition of all operators chooses on training labels.
        judges: what judges have said of ``unseen``.

    Raises:
        InputError: for an unknown name, or votes out of range.
    """
    require_known(names)
    if votes != "best":
        require_votes(votes, MOST_CHOSEN)
    study = _Studies(domain, runs, votes, judges)
    found = {name: getattr(study, name)() for name in (names or ANALYSES)}
    return {"candidates": domain.synthetic, "votes": study.votes, **found}


def require_known(names: Sequence[str]) -> None:
    """Check names of analyses.

    Raises:
        InputError: for an unknown one.
    """
    for name in names:
        if name not in ANALYSES:
            raise InputError(f"Expected an analysis of {', '.join(ANALYSES)}. Got {name!r}.")


class _Studies:
    def __init__(self, domain: Domain, runs: Sequence[StoredRun], votes: Votes, judges: Sequence[Judged]) -> None:
        self._domain, self._runs, self._judges = domain, runs, judges
        self._train, self._unseen = domain.electorate("train"), domain.electorate("unseen")
        operators, self._verdicts = distinct(runs)
        self._operators: list[Operator] = operators
        self._names = [operator.id for operator in operators]
        self._flags = self._matrix(self._verdicts, self._train.visible)
        self._panel, self._far = Panel.of(self._train), Panel.of(self._unseen)
        self._rule, _ = composed(self._operators, self._verdicts, self._train, votes=votes)
        self.votes = self._rule.votes if votes == "best" else votes

    def _matrix(self, verdicts: Sequence[Verdicts], seen: Any) -> Any:
        return np.stack([v.flags[seen] for v in verdicts]) if verdicts else np.zeros((0, int(seen.sum())), dtype=bool)

    def _far_flags(self) -> Any:
        return self._matrix([self._domain.examine(o, self._unseen) for o in self._operators], self._unseen.visible)

    def _rng(self, name: str) -> np.random.Generator:
        return generator("cegar study", name, self._train.digest)

    def criteria(self) -> Any:
        return landscape(
            self._panel, self._flags, self._far, self._far_flags(), self._rng("criteria"), votes=self.votes
        )

    def halves(self) -> Any:
        return split_halves(self._panel, self._flags, self._names, self._rng("halves"), votes=self.votes)

    def sweep(self) -> Any:
        return sweep(self._panel, self._flags, self._names, self._far, self._far_flags(), votes=self.votes)

    def budget(self) -> Any:
        return transfer_budget(
            self._panel,
            self._flags,
            self._names,
            self._far,
            self._far_flags(),
            self._rng("budget"),
            votes=self.votes,
        )

    def duplication(self) -> Any:
        flags = {operator.id: v.flags for operator, v in zip(self._operators, self._verdicts, strict=True)}
        return duplication([run.operators for run in self._runs], flags)

    def veto(self) -> Any:
        kept = veto(self._flags, self._names)
        rule, _ = composed(
            [self._operators[k] for k in kept], [self._verdicts[k] for k in kept], self._train, votes=self.votes
        )
        found = assess(self._unseen, rule.flags(self._domain, self._unseen), "veto")
        return {"kept": len(kept), "of": len(self._names), "rule": rule.to_json(), "unseen": found}

    def ledger(self) -> Any:
        """The gate's consultations, and what they would be with two helped tasks instead of three."""
        entries = [entry for run in self._runs for entry in run.ledger]
        trials = [trial for entry in entries for trial in entry.get("trials", ())]
        gates = [entry["gate"] for entry in [*entries, *trials] if entry["gate"] is not None]
        offered = [entry["gate"] for entry in entries if entry["gate"] is not None]
        return {
            "calls": len(entries),
            "decisions": dict(sorted(Counter(str(entry["decision"]) for entry in entries).items())),
            "consultations": len(gates),
            "trials": len(trials),
            "admitted": sum(bool(gate["admitted"]) for gate in offered),
            "admitted_with_two": sum(bool(gate["admitted_with_two"]) for gate in offered),
            "entries": [{key: value for key, value in entry.items() if key != "verdicts"} for entry in entries],
        }

    def judge(self) -> Any:
        """Judges that the archive knows of, each beside the composed rule of all runs and in union with it, on unseen tasks."""
        mine = self._rule.flags(self._domain, self._unseen)
        return [
            {
                **judge.to_json(),
                "alone": assess(self._unseen, judge.verdicts.flags, "judge", judge.model),
                "overlap": overlap(judge.verdicts.flags, mine),
                "union": assess(self._unseen, judge.verdicts.flags | mine, "judge or rule", judge.model),
            }
            for judge in self._judges
        ]

    def induction(self) -> Any:
        """Verifiers by balanced labels, with thresholds on recall and precision and no collision, gate or target."""
        candidates, seen = self._train.candidates, np.flatnonzero(self._train.visible)
        faulty = tuple(int(p) for p in seen if not candidates[p].correct)
        correct = tuple(int(p) for p in seen if candidates[p].correct)
        kept: list[Operator] = []
        tried: set[str] = set()
        for number in range(INDUCED):
            request = Request(
                stable_seed("induction", number),
                "none",
                "",
                1 + number % 2,
                None,
                faulty,
                correct,
                (),
                frozenset(tried),
            )
            operator = OfflineAuthor().write(request, self._domain, self._train)
            if operator is None:
                continue
            tried.add(operator.id)
            flags = self._domain.examine(operator, self._train).flags
            recall, alarms = flags[list(faulty)].mean(), flags[list(correct)].mean()
            precision = recall / (recall + alarms) if recall + alarms > 0 else 0.0
            if recall >= INDUCED_RECALL and precision >= INDUCED_PRECISION:
                kept.append(operator)
        verdicts = [self._domain.examine(operator, self._unseen) for operator in kept]
        flags = union(verdicts, len(self._unseen.candidates))
        return {"induced": [o.to_json() for o in kept], "unseen": assess(self._unseen, flags, "induction")}
