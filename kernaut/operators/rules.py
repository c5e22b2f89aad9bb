"""Deployed rules: a set of operators and how many of them must flag; measuring them, and writing them as one self-contained Python file."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernaut.digest import content_id
from kernaut.operators.composition import MOST_CHOSEN, Composition, Votes, best_votes, compose, vote
from kernaut.operators.domain import Domain
from kernaut.operators.nulls import RESAMPLES, shuffle_null
from kernaut.operators.records import Electorate, Flags, Operator, Verdicts
from kernaut.operators.selection import Panel, effect
from kernaut.seeds import generator


@dataclass(frozen=True)
class Rule:
    """Flagged by at least ``votes`` of the operators.

    Args:
        name: in reports.
        operators: the operators; none flags nothing.
        votes: m.
    """

    name: str
    operators: tuple[Operator, ...]
    votes: int

    def flags(self, domain: Domain, electorate: Electorate, known: Mapping[str, Verdicts] | None = None) -> Flags:
        """``n`` flags over an electorate.

        Args:
            domain: forms verdicts.
            electorate: the candidates.
            known: verdicts that were formed over it before, by operator.
        """
        if not self.operators:
            return np.zeros(len(electorate.candidates), dtype=bool)
        stored = known or {}
        found = [stored[o.id] if o.id in stored else domain.examine(o, electorate) for o in self.operators]
        return vote(np.stack([verdicts.flags for verdicts in found]), self.votes)

    def to_json(self) -> dict[str, Any]:
        """The record as JSON."""
        return {
            "name": self.name,
            "votes": self.votes,
            "operators": [operator.to_json() for operator in self.operators],
        }


def composed(
    operators: Sequence[Operator],
    verdicts: Sequence[Verdicts],
    electorate: Electorate,
    *,
    votes: Votes = 2,
    most: int = MOST_CHOSEN,
) -> tuple[Rule, Composition | None]:
    """The rule of a pool: the composition, or the union where fewer operators than votes were admitted.

    Args:
        operators: the pool, each once.
        verdicts: theirs over the training electorate.
        electorate: the training electorate.
        votes: m, or ``best`` to choose it, too.
        most: largest k.
    """
    seen = electorate.visible
    flags = np.stack([v.flags[seen] for v in verdicts]) if operators else np.zeros((0, int(seen.sum())), dtype=bool)
    names, correct = [operator.id for operator in operators], electorate.correct[seen]
    if votes == "best":
        found = best_votes(flags, names, correct, most=most)
    else:
        found = compose(flags, names, correct, votes=votes, most=most)
    if found is None:
        return Rule("union", tuple(operators), 1), None
    chosen = {operator.id: operator for operator in operators}
    return Rule("composition", tuple(chosen[name] for name in found.operators), found.votes), found


def assess(electorate: Electorate, flags: Flags, *names: str | int, resamples: int = RESAMPLES) -> dict[str, Any]:
    """A rule's effect on an electorate, with the p-value of its shuffle null.

    Args:
        electorate: labelled candidates.
        flags: ``n`` flags over the electorate.
        names: of the random stream.
        resamples: shuffles.
    """
    panel, shown = Panel.of(electorate), flags[electorate.visible]
    p, null = shuffle_null(panel, shown, generator("shuffle", electorate.digest, *names), resamples)
    return {**effect(panel, shown).to_json(), "p": p, "null_mean": float(null.mean()), "flagged": int(shown.sum())}


_HEADER = '''"""A composed rule of Kernaut's evaluator evolution: flagged when at least {votes} of {count} operators flag.

Domain {domain}.  Each operator is a function of a task and a candidate (mappings), at level 2 also of a context that offers peers, visible checks, generated inputs and a runner.
Use: ``judge(task, candidate, ctx)`` returns "flag" or "pass"; ``explain(task, candidate, ctx)`` the defects found, in words.  Run it confined: operators may run candidates.
Identifier {digest}.
"""

from __future__ import annotations

'''
_FOOTER = '''
OPERATORS = [
{rows}
]
VOTES = {votes}


def verdicts(task, candidate, ctx=None):
    """Each operator's defect and verdict; what raises or says anything else abstains, as does a level-2 operator without a context."""
    found = []
    for defect, level, operator in OPERATORS:
        said = "abstain"
        if level == 1 or ctx is not None:
            try:
                op = operator()  # anew, so that no call meets what another left
                said = op(task, candidate, ctx) if level == 2 else op(task, candidate)
            except Exception:
                said = "abstain"
        found.append((defect, said if said in ("flag", "pass") else "abstain"))
    return found


def explain(task, candidate, ctx=None):
    """The defects that were flagged."""
    return [defect for defect, verdict in verdicts(task, candidate, ctx) if verdict == "flag"]


def judge(task, candidate, ctx=None):
    """The rule's verdict."""
    return "flag" if len(explain(task, candidate, ctx)) >= VOTES else "pass"
'''


def exported(rule: Rule, domain: str) -> str:
    """A rule as one readable, self-contained Python file that needs the standard library only; each operator keeps its imports and names to itself."""
    parts = [_own_scope(operator, number) for number, operator in enumerate(rule.operators, 1)]
    rows = "\n".join(f"    ({o.defect!r}, {o.level}, operator_{n})," for n, o in enumerate(rule.operators, 1))
    head = _HEADER.format(votes=rule.votes, count=len(rule.operators), domain=domain, digest=content_id(rule.to_json()))
    return head + "".join(f"\n{part}\n" for part in parts) + _FOOTER.format(rows=rows, votes=rule.votes)


def _own_scope(operator: Operator, number: int) -> str:
    """A function that makes an operator, so that its imports, constants and helpers meet no other operator's."""
    tree = ast.parse(f"def operator_{number}():\n    return op\n")
    (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    own = ast.parse(operator.source).body
    function.body[:0] = [node for node in own if not isinstance(node, ast.ImportFrom) or node.module != "__future__"]
    return f"# Operator {number} ({operator.id}): {' '.join(operator.defect.split())}\n{ast.unparse(tree)}\n"
