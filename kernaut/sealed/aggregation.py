"""Regret of closed runs: means, intervals, learning curves, outcomes, rankings.  Trusted side.

Micro is the mean over instances, macro the mean over families; each instance is first averaged over its seeds.  Intervals are a hierarchical bootstrap:
instances within each family, then seeds within each instance (Davison and Hinkley, 1997, section 3.8).  The raw regret comes first, since
clipping hides how badly a policy fails.  Instances that are not calibrated are listed and left out.  Runner-level reports hold no number of a
single instance, from which J_star and J_random could be worked out; the owner's do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.errors import InputError
from kernaut.sealed.calibration import EPSILON, LEAST_SPREAD, WORST_REGRET, clipped, regret
from kernaut.sealed.ledger import Ledger, LedgerRow
from kernaut.sealed.manifest import VERSION
from kernaut.sealed.results import OUTCOMES
from kernaut.sealed.runs import Episode, Run
from kernaut.seeds import generator

Array = NDArray[np.float64]

RESAMPLES = 1000
LEVEL = 0.95
MEASURES = ("raw", "clipped")
_CUT: Mapping[str, Callable[[float], float]] = {"raw": float, "clipped": clipped}


def report(
    ledger: Ledger, runs: Sequence[Run], every: Sequence[Run], *, times: bool = False, details: bool = False
) -> dict[str, Any]:
    """The report of closed runs.

    Args:
        ledger: the open ledger.
        runs: the runs to report.
        every: all runs of this ledger, which are counted.
        times: whether to add regret against seconds (which no two runs share).
        details: whether to add each episode (the owner's report).

    Returns:
        A JSON object; without ``times`` it depends on tasks, policies and seeds alone.

    Raises:
        InputError: for no runs, a run that is not closed, or runs on different splits.
    """
    if not runs:
        raise InputError(
            "Expected at least one closed run to report. Got none.", hint="Play one with kernaut sealed run."
        )
    if going_on := [run.policy for run in runs if not run.closed]:
        raise InputError(f"Expected closed runs. Got an open one of {', '.join(going_on)}.")
    if len({run.split for run in runs}) > 1:
        splits = ", ".join(sorted({run.split for run in runs}))
        raise InputError(f"Expected runs on one split. Got {splits}.", hint="Name one with --split.")
    ordered = sorted(runs, key=lambda run: (run.policy, run.number))
    identifiers = sorted({task for run in ordered for task, _ in run.episodes})
    rows = {identifier: ledger.row(identifier) for identifier in identifiers}
    limit = max((e.seconds[-1] for run in ordered for e in run.episodes.values() if e.seconds), default=0.0)
    entries = [_entry(run, rows, limit if times else None, details) for run in ordered]
    return {
        "protocol": {
            "version": VERSION,
            "split": ordered[0].split,
            "epsilon": EPSILON,
            "least_spread": LEAST_SPREAD,
            "bootstrap": {"resamples": RESAMPLES, "level": LEVEL, "order": ["instances within families", "seeds"]},
            "set": ledger.header["provenance"] if isinstance(ledger.header["provenance"], dict) else {},
        },
        "registered": dict(sorted(Counter(run.policy for run in every).items())),
        "tasks": len(identifiers),
        "uncalibrated": [identifier for identifier in identifiers if not rows[identifier].calibrated],
        "runs": entries,
        "rankings": {
            measure: {mean: _ranking(entries, measure, mean) for mean in ("micro", "macro")} for measure in MEASURES
        },
    }


def episode_regret(episode: Episode, row: LedgerRow) -> float:
    """Raw regret of an episode's return; 2 for every failure, by the definition of J_worst."""
    value = episode.final_value()
    return WORST_REGRET if value is None else regret(row.objective_direction, value, row.j_star, row.j_random.mean)


def learning_curve(episode: Episode, row: LedgerRow) -> Array:
    """Raw regret of the best output after each query, ``horizon``; 2 throughout for a failed episode.

    After the last query made the curve stays level.
    """
    horizon = row.horizon_budget
    if episode.final_value() is None:
        return np.full(horizon, WORST_REGRET)
    values = [
        np.inf if a is None else regret(row.objective_direction, a, row.j_star, row.j_random.mean)
        for a in episode.answers
    ]
    best = np.minimum.accumulate(values)
    return np.concatenate([best, np.full(max(0, horizon - len(best)), best[-1])])[:horizon]


def seconds_auc(episode: Episode, row: LedgerRow, limit: float) -> float:
    """Mean over time, from 0 to ``limit`` seconds, of the best output's raw regret; 2 before the first query."""
    curve, moments = learning_curve(episode, row), episode.seconds
    if limit <= 0.0 or not moments:
        return float(curve[-1])
    edges = np.minimum(np.array([0.0, *moments, limit]), limit)
    levels = np.array([WORST_REGRET, *curve[: len(moments)]])
    return float(np.diff(edges) @ levels[: len(edges) - 1] / limit)


def hierarchical_interval(families: Sequence[Array], *, macro: bool, name: str) -> tuple[float, float]:
    """Percentile interval of a mean of instances by seeds.

    Args:
        families: one ``instances x seeds`` array of regrets for each family.
        macro: whether families weigh equally (else instances do).
        name: of the random stream.

    Returns:
        Lower and upper end.
    """
    lower, upper = curve_interval([values[:, :, None] for values in families], macro=macro, name=name)
    return float(lower[0]), float(upper[0])


def curve_interval(families: Sequence[Array], *, macro: bool, name: str) -> tuple[Array, Array]:
    """The same for a mean curve: its lower and upper end at each of ``q`` queries, from one set of resamples.

    Args:
        families: one ``instances x seeds x q`` array of regrets for each family.
        macro: whether families weigh equally (else instances do).
        name: of the random stream.
    """
    rng = generator("sealed", "bootstrap", name)
    width = families[0].shape[2]
    means = np.empty((len(families), RESAMPLES, width))
    for place, values in enumerate(families):
        count, seeds, _ = values.shape
        instances = rng.integers(0, count, (RESAMPLES, count))
        chosen = rng.integers(0, seeds, (RESAMPLES, count, seeds))
        for query in range(width):
            means[place, :, query] = values[:, :, query][instances[:, :, None], chosen].mean(axis=(1, 2))
    weights = np.ones(len(families)) if macro else np.array([len(values) for values in families], dtype=np.float64)
    totals = np.tensordot(weights / weights.sum(), means, axes=1)
    lower, upper = np.quantile(totals, [0.5 * (1.0 - LEVEL), 0.5 * (1.0 + LEVEL)], axis=0)
    return lower, upper


def _entry(run: Run, rows: Mapping[str, LedgerRow], limit: float | None, details: bool) -> dict[str, Any]:
    used = {i: row for i, row in rows.items() if row.calibrated and any(task == i for task, _ in run.episodes)}
    families = sorted({row.family for row in used.values()})
    seeds = sorted(run.seeds)
    raw = {
        family: np.array(
            [
                [episode_regret(run.episodes[i, seed], row) for seed in seeds]
                for i, row in used.items()
                if row.family == family
            ]
        )
        for family in families
    }
    entry: dict[str, Any] = {
        "policy": run.policy,
        "split": run.split,
        "seeds": seeds,
        "options": dict(run.options),
        "instances": len(used),
        "outcomes": _outcomes(run),
        "queries": sum(episode.used for episode in run.episodes.values()),
        "begun_again": sum(max(0, episode.opened - 1) for episode in run.episodes.values()),
    }
    for measure in MEASURES:
        cut = np.vectorize(_CUT[measure], otypes=[np.float64])
        entry[measure] = _means({family: cut(values) for family, values in raw.items()}, f"{run.policy}|{measure}")
    entry["auc_queries"] = _query_auc(run, used, families)
    if limit is not None:
        entry["auc_seconds"] = _second_auc(run, used, families, limit)
    if details:
        entry["episodes"] = [
            _detail(episode, rows[task])
            for (task, _), episode in sorted(run.episodes.items(), key=lambda item: item[0])
        ]
    return entry


def _means(families: Mapping[str, Array], name: str) -> dict[str, Any] | None:
    """Micro and macro means with intervals; None when no instance is calibrated."""
    if not families:
        return None
    values = list(families.values())
    by_family = {
        family: {
            "mean": float(array.mean()),
            "interval": hierarchical_interval([array], macro=True, name=f"{name}|{family}"),
        }
        for family, array in families.items()
    }
    micro = sum(float(array.mean(axis=1).sum()) for array in values) / sum(len(array) for array in values)
    macro = float(np.mean([array.mean() for array in values]))
    return {
        "micro": {"mean": micro, "interval": hierarchical_interval(values, macro=False, name=f"{name}|micro")},
        "macro": {"mean": macro, "interval": hierarchical_interval(values, macro=True, name=f"{name}|macro")},
        "families": by_family,
    }


def _query_auc(run: Run, rows: Mapping[str, LedgerRow], families: Sequence[str]) -> dict[str, Any]:
    """Mean learning curves with their intervals, of each family and over all; where horizons differ, shorter ones stay level."""
    curves = {family: _curves(run, [row for row in rows.values() if row.family == family]) for family in families}
    found: dict[str, Any] = {}
    for family, values in curves.items():
        curve = values.mean(axis=(0, 1))
        found[family] = {
            **_with_interval(curve, [values], True, f"{run.policy}|curve|{family}"),
            "auc": float(curve.mean()),
        }
    macro = float(np.mean([c["auc"] for c in found.values()])) if found else None
    if not found:
        return {"families": found, "macro": macro, "curves": None}
    width = max(values.shape[2] for values in curves.values())
    full = [_level(values, width) for values in curves.values()]
    instances = np.concatenate([values.mean(axis=1) for values in full])
    over_all = {
        "micro": _with_interval(instances.mean(axis=0), full, False, f"{run.policy}|curve|micro"),
        "macro": _with_interval(
            np.mean([values.mean(axis=(0, 1)) for values in full], axis=0), full, True, f"{run.policy}|curve|macro"
        ),
    }
    return {"families": found, "macro": macro, "curves": over_all}


def _curves(run: Run, rows: Sequence[LedgerRow]) -> Array:
    """``instances x seeds x q`` learning curves of one family; what is not finite counts as a failure does."""
    lines = [[learning_curve(run.episodes[row.task_id, seed], row) for seed in run.seeds] for row in rows]
    width = max(len(line) for seeds in lines for line in seeds)
    full = np.array([[_level(line, width) for line in seeds] for seeds in lines])
    return np.where(np.isfinite(full), full, WORST_REGRET)


def _level(values: Array, width: int) -> Array:
    """Curves along the last axis that keep their last value up to ``width``."""
    missing = [(0, 0)] * (values.ndim - 1) + [(0, width - values.shape[-1])]
    return np.pad(values, missing, mode="edge")


def _with_interval(curve: Array, families: Sequence[Array], macro: bool, name: str) -> dict[str, Any]:
    lower, upper = curve_interval(families, macro=macro, name=name)
    return {"curve": curve.tolist(), "lower": lower.tolist(), "upper": upper.tolist()}


def _second_auc(run: Run, rows: Mapping[str, LedgerRow], families: Sequence[str], limit: float) -> dict[str, Any]:
    found = {
        family: float(
            np.mean(
                [
                    seconds_auc(run.episodes[i, seed], row, limit)
                    for i, row in rows.items()
                    if row.family == family
                    for seed in run.seeds
                ]
            )
        )
        for family in families
    }
    macro = float(np.mean(list(found.values()))) if found else None
    return {"families": found, "macro": macro, "limit_seconds": limit}


def _outcomes(run: Run) -> dict[str, int]:
    counted: Counter[str] = Counter(episode.outcome or "no_final" for episode in run.episodes.values())
    return {outcome: counted[outcome] for outcome in OUTCOMES}


def _ranking(entries: Sequence[Mapping[str, Any]], measure: str, mean: str) -> list[dict[str, Any]]:
    scored = [
        (entry[measure][mean]["mean"], place, entry["policy"]) for place, entry in enumerate(entries) if entry[measure]
    ]
    return [{"policy": policy, "run": place, "regret": value} for value, place, policy in sorted(scored)]


def _detail(episode: Episode, row: LedgerRow) -> dict[str, Any]:
    value = episode.final_value()
    raw = episode_regret(episode, row)
    return {
        "task_id": episode.task_id,
        "seed": episode.seed,
        "outcome": episode.outcome or "no_final",
        "reason": episode.reason,
        "queries": episode.used,
        "j": row.j_worst if value is None else value,
        "j_star": row.j_star,
        "j_random": row.j_random.mean,
        "j_worst": row.j_worst,
        "calibrated": row.calibrated,
        "raw_regret": raw,
        "clipped_regret": clipped(raw),
    }
