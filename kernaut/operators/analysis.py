"""Analyses of a pool of operators: criteria and their landscape, split halves, lambda sweep, transfer budget, duplication, veto, electorate, baselines.

Each takes flags over labelled candidates in V (``p x n``) and gives JSON.  Criteria are registered with formula and predicted rank before anything is scored.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.operators.composition import compose, subset_count, subsets, vote
from kernaut.operators.records import Flags, Operator
from kernaut.operators.selection import Panel

Array = NDArray[np.float64]
MOST_SUBSETS = 4000
REPEATED_POOL = 20
"""Operators enumerated where compositions are made many times over; what a larger pool loses is said."""
SWEEP = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0)


@dataclass(frozen=True)
class Criterion:
    """A training criterion for choosing a subset.

    Args:
        name: in reports.
        formula: in words.
        predicted_rank: where it was expected to come before any was scored, 1 is best.
        value: of TP, FP, incorrect, correct and training selection accuracy.
    """

    name: str
    formula: str
    predicted_rank: int
    value: Callable[[int, int, int, int, float], float]


CRITERIA = (
    Criterion("tp - lambda fp", "TP - (incorrect/correct) FP", 1, lambda tp, fp, bad, good, acc: tp - bad / good * fp),
    Criterion("training accuracy", "training selection accuracy", 2, lambda tp, fp, bad, good, acc: acc),
    Criterion(
        "induction",
        "TP/incorrect + TN/correct, balanced labels",
        3,
        lambda tp, fp, bad, good, acc: tp / bad - fp / good,
    ),
    Criterion("f1", "2 TP / (2 TP + FP + missed)", 4, lambda tp, fp, bad, good, acc: 2 * tp / max(1, tp + fp + bad)),
    Criterion("tp - fp", "TP - FP", 5, lambda tp, fp, bad, good, acc: float(tp - fp)),
    Criterion("recall", "TP / incorrect", 6, lambda tp, fp, bad, good, acc: tp / bad),
    Criterion("precision", "TP / (TP + FP)", 7, lambda tp, fp, bad, good, acc: tp / max(1, tp + fp)),
)


def landscape(
    train: Panel, train_flags: Flags, unseen: Panel, unseen_flags: Flags, rng: np.random.Generator, *, votes: int = 2
) -> dict[str, Any]:
    """Where each criterion's choice stands among all subsets (a seeded sample of them in a large pool) on unseen tasks.

    Args:
        train: training panel.
        train_flags: ``p x n``.
        unseen: unseen panel.
        unseen_flags: ``p x n'``.
        rng: draws the sample.
        votes: m.
    """
    count = len(train_flags)
    total = subset_count(count, votes)
    chosen = list(subsets(count, votes)) if total <= MOST_SUBSETS else _sampled(count, votes, rng)
    if not chosen:
        return {"subsets": 0, "criteria": []}
    on_train = np.stack([vote(train_flags[list(subset)], votes) for subset in chosen])
    on_unseen = np.stack([vote(unseen_flags[list(subset)], votes) for subset in chosen])
    endpoint = unseen.accuracy(on_unseen).mean(-1)
    accuracy = train.accuracy(on_train).mean(-1)
    bad, good = int((~train.correct).sum()), int(train.correct.sum())
    hits, alarms = (on_train & ~train.correct).sum(-1), (on_train & train.correct).sum(-1)
    base, best = float(unseen.baseline.mean()), float(endpoint.max())
    rows = []
    for criterion in CRITERIA:
        values = [
            criterion.value(int(t), int(f), bad, good, float(a)) for t, f, a in zip(hits, alarms, accuracy, strict=True)
        ]
        place = int(np.argmax(values))
        reached = float(endpoint[place])
        rows.append(
            {
                "name": criterion.name,
                "formula": criterion.formula,
                "predicted_rank": criterion.predicted_rank,
                "accuracy": reached,
                "percentile": float((endpoint <= reached + 1e-12).mean() * 100.0),
                "share_of_gap": (reached - base) / (best - base) if best > base else 0.0,
            }
        )
    for rank, row in enumerate(sorted(rows, key=lambda row: -float(str(row["accuracy"]))), 1):
        row["rank"] = rank
    return {
        "subsets": total,
        "looked_at": len(chosen),
        "best": best,
        "baseline": base,
        "harmful": float((endpoint < base - 1e-12).mean()),
        "criteria": rows,
    }


def _sampled(count: int, votes: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    sizes = np.array([comb(count, size) for size in range(votes, min(6, count) + 1)], dtype=np.float64)
    drawn = rng.choice(len(sizes), MOST_SUBSETS, p=sizes / sizes.sum()) + votes
    return [tuple(sorted(int(i) for i in rng.choice(count, size=int(size), replace=False))) for size in drawn]


def split_halves(
    panel: Panel, flags: Flags, names: Sequence[str], rng: np.random.Generator, *, repeats: int = 10, votes: int = 2
) -> dict[str, Any]:
    """Compose on a random half of the tasks, measure on the other half.

    Returns:
        The mean change on the half that chose and on the other, and how often the other half's is positive.
    """
    inner, outer, left_out = [], [], 0
    for _ in range(repeats):
        half = rng.permutation(panel.tasks) < panel.tasks // 2
        mine = half[panel.task]
        if not mine.any() or mine.all():
            continue
        found = compose(flags[:, mine], names, panel.correct[mine], votes=votes, limit=REPEATED_POOL)
        if found is None:
            continue
        left_out = max(left_out, len(found.left_out))
        rule = vote(flags[[list(names).index(name) for name in found.operators]], votes)
        difference = panel.accuracy(rule) - panel.baseline
        inner.append(float(difference[half].mean()))
        outer.append(float(difference[~half].mean()))
    return {
        "repeats": len(outer),
        "operators_left_out": left_out,
        "change_on_choosing_half": float(np.mean(inner)) if inner else 0.0,
        "change_on_other_half": float(np.mean(outer)) if outer else 0.0,
        "positive": float(np.mean([value > 0 for value in outer])) if outer else 0.0,
    }


def sweep(
    train: Panel, train_flags: Flags, names: Sequence[str], unseen: Panel, unseen_flags: Flags, *, votes: int = 2
) -> list[dict[str, Any]]:
    """The composition for each of twelve lambdas, and its change on unseen tasks."""
    rows = []
    for weight in SWEEP:
        found = compose(train_flags, names, train.correct, votes=votes, weight=weight, limit=REPEATED_POOL)
        if found is not None:
            chosen = [list(names).index(name) for name in found.operators]
            reached = unseen.accuracy(vote(unseen_flags[chosen], votes)).mean()
            change = float(reached - unseen.baseline.mean())
            rows.append(
                {
                    "lambda": weight,
                    "operators": list(found.operators),
                    "equal": found.equal,
                    "operators_left_out": len(found.left_out),
                    "change": change,
                }
            )
    return rows


def transfer_budget(
    train: Panel,
    train_flags: Flags,
    names: Sequence[str],
    unseen: Panel,
    unseen_flags: Flags,
    rng: np.random.Generator,
    *,
    votes: int = 2,
    repeats: int = 5,
) -> list[dict[str, Any]]:
    """The change on unseen tasks when the composition is chosen on fewer training tasks."""
    decidable = np.flatnonzero(train.decidable)
    rows = []
    for size in sorted(
        {max(1, round(len(decidable) * share)) for share in (0.1, 0.25, 0.5, 0.75, 1.0)} if len(decidable) else set()
    ):
        changes, labels, left_out = [], [], 0
        for _ in range(repeats):
            mine = np.isin(train.task, rng.choice(decidable, size, replace=False))
            found = compose(train_flags[:, mine], names, train.correct[mine], votes=votes, limit=REPEATED_POOL)
            labels.append(int(mine.sum()))
            if found is not None:
                left_out = max(left_out, len(found.left_out))
                chosen = [list(names).index(name) for name in found.operators]
                changes.append(float((unseen.accuracy(vote(unseen_flags[chosen], votes)) - unseen.baseline).mean()))
        mean = float(np.mean(changes)) if changes else 0.0
        rows.append(
            {
                "decidable_tasks": int(size),
                "labelled_candidates": float(np.mean(labels)),
                "operators_left_out": left_out,
                "change": mean,
            }
        )
    return rows


def duplication(runs: Sequence[Sequence[Operator]], flags: Mapping[str, Flags]) -> dict[str, Any]:
    """How far runs rediscover each other: distinct flag sets, source Jaccard, and the expected new flag sets in one more run.

    Args:
        runs: the operators of each run.
        flags: ``n`` flags by operator.
    """
    sets = [{flags[operator.id].tobytes() for operator in run} for run in runs]
    operators = [operator for run in runs for operator in run]
    tokens = {
        operator.id: {ast.dump(node) for node in ast.walk(ast.parse(operator.source)) if isinstance(node, ast.expr)}
        for operator in operators
    }
    pairs = [
        jaccard(tokens[one.id], tokens[two.id])
        for place, one in enumerate(operators)
        for two in operators[place + 1 :]
        if one.id != two.id
    ]
    once = sum(1 for found in set().union(*sets) if sum(found in other for other in sets) == 1) if sets else 0
    return {
        "operators": len(operators),
        "distinct_sources": len(tokens),
        "distinct_flag_sets": len(set().union(*sets)) if sets else 0,
        "mean_source_jaccard": float(np.mean(pairs)) if pairs else 0.0,
        "rarefaction": rarefaction(sets),
        "expected_new_in_one_more_run": once / len(sets) if sets else 0.0,
    }


def rarefaction(sets: Sequence[set[bytes]]) -> list[float]:
    """Expected number of distinct flag sets in a random choice of 1, 2, ... runs, exactly.

    A flag set seen in ``c`` of ``R`` runs is missed by a choice of ``r`` with probability ``C(R - c, r) / C(R, r)``.
    """
    total = len(sets)
    everything = set().union(*sets) if sets else set()
    seen = [sum(found in one for one in sets) for found in everything]
    return [sum(1.0 - comb(total - c, r) / comb(total, r) for c in seen) for r in range(1, total + 1)]


def jaccard(one: set[str], two: set[str]) -> float:
    """Shared members as a share of all."""
    return len(one & two) / len(one | two) if one | two else 1.0


def veto(flags: Flags, names: Sequence[str], most: float = 0.8) -> list[int]:
    """Operators that remain when each that flags nearly what an earlier one flags is left out.

    Args:
        flags: ``p x n``.
        names: identifiers, for ties only by order.
        most: largest Jaccard index of flag sets.
    """
    kept: list[int] = []
    for place in range(len(names)):
        mine = flags[place]
        overlaps = [(mine & flags[k]).sum() / max(1, (mine | flags[k]).sum()) for k in kept]
        if mine.any() and all(overlap <= most for overlap in overlaps):
            kept.append(place)
    return kept
