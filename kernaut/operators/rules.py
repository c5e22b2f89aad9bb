"""Deployed rules: a set of operators and how many of them must flag; measuring them, and writing them as one self-contained Python file."""

from __future__ import annotations

import ast
from collections.abc import Sequence
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

    def flags(self, domain: Domain, electorate: Electorate) -> Flags:
        """``n`` flags over an electorate."""
        if not self.operators:
            return np.zeros(len(electorate.candidates), dtype=bool)
        flags = np.stack([domain.examine(operator, electorate).flags for operator in self.operators])
        return vote(flags, self.votes)

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

'''
_FOOTER = '''
OPERATORS = [
{rows}
]
VOTES = {votes}


def verdicts(task, candidate, ctx=None):
    """Each operator's defect and verdict; a level-2 operator without a context abstains."""
    found = []
    for defect, level, function in OPERATORS:
        if level == 2 and ctx is None:
            found.append((defect, "abstain"))
        else:
            found.append((defect, function(task, candidate, ctx) if level == 2 else function(task, candidate)))
    return found


def explain(task, candidate, ctx=None):
    """The defects that were flagged."""
    return [defect for defect, verdict in verdicts(task, candidate, ctx) if verdict == "flag"]


def judge(task, candidate, ctx=None):
    """The rule's verdict."""
    return "flag" if len(explain(task, candidate, ctx)) >= VOTES else "pass"
'''


def exported(rule: Rule, domain: str) -> str:
    """A rule as one readable, self-contained Python file that needs the standard library only."""
    imports: set[str] = set()
    parts = []
    for number, operator in enumerate(rule.operators, 1):
        tree = ast.parse(operator.source)
        imports |= {ast.unparse(node) for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))}
        body = [node for node in tree.body if not isinstance(node, (ast.Import, ast.ImportFrom))]
        names = {node.name: f"{node.name}_{number}" for node in body if isinstance(node, ast.FunctionDef)}
        names |= {
            target.id: f"{target.id}_{number}"
            for node in body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for inner in (walked for node in body for walked in ast.walk(node)):
            if isinstance(inner, ast.FunctionDef) and inner in body:
                inner.name = names[inner.name]
            elif isinstance(inner, ast.Name) and inner.id in names:
                inner.id = names[inner.id]
        parts.append(
            f"# Operator {number} ({operator.id}): {' '.join(operator.defect.split())}\n"
            + "\n\n\n".join(ast.unparse(node) for node in body)
        )
    rows = "\n".join(f"    ({o.defect!r}, {o.level}, op_{n})," for n, o in enumerate(rule.operators, 1))
    head = _HEADER.format(votes=rule.votes, count=len(rule.operators), domain=domain, digest=content_id(rule.to_json()))
    text = "\n".join(sorted(imports)) + ("\n\n\n" if imports else "") + "\n\n\n".join(parts) + "\n"
    return head + text + _FOOTER.format(rows=rows, votes=rule.votes)
