"""Tables of a benchmark report: means, families, groups of episodes, paired tests, failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernaut.evaluation.outcome import PREDICTIVE_PENALTY
from kernaut.evaluation.paired import paired_tests

Entry = Mapping[str, Any]
Rows = tuple[tuple[str, ...], list[list[Any]]]

FURTHER = (("NMSE", "predictive", "nmse"), ("regret AUC", "bo", "regret_auc"), ("final regret", "bo", "final_regret"))
"""Columns that only some benchmarks have: heading, part of a split's section, key."""


def means_table(report: Mapping[str, Any], split: str) -> Rows:
    """Every candidate's means on a split, the smallest CRPS first; lower is better in all but coverage, whose ideal is 0.95.

    NMSE, regret AUC and final regret stand in it where the report has them.
    """
    entries = sorted(report["candidates"], key=lambda entry: _section(entry, split)["mean_crps"])
    further = [
        (label, part, key)
        for label, part, key in FURTHER
        if any(key in entry["splits"][split].get(part, {}) for entry in entries)
    ]
    columns = (
        "kernel",
        "origin",
        "CRPS",
        "95 % interval",
        "NLPD",
        "RMSE",
        "coverage",
        *(label for label, _, _ in further),
    )
    rows = []
    for entry in entries:
        section = _section(entry, split)
        low, high = section["interval"]
        row = [entry["name"], entry["origin"], section["mean_crps"], f"{low:.4f} to {high:.4f}"]
        row += [section["mean_nlpd"], section["mean_rmse"], section["coverage95"]]
        rows.append(row + [entry["splits"][split].get(part, {}).get(key) for _, part, key in further])
    return columns, rows


def group_table(report: Mapping[str, Any], split: str, group: Callable[[str, str], str], label: str = "group") -> Rows:
    """Mean CRPS of every candidate by groups of episodes, failures at their penalty.

    Args:
        report: a benchmark report.
        split: one of its splits.
        group: episode name and family to the group's name.
        label: heading of what the groups are.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for entry in report["candidates"]:
        for name, family, crps in _scores(entry, split):
            found.setdefault(entry["name"], {}).setdefault(group(name, family), []).append(crps)
    groups = list(dict.fromkeys(g for values in found.values() for g in values))
    rows = [[name, *(sum(v[g]) / len(v[g]) for g in groups)] for name, v in found.items()]
    return (f"kernel, by {label}", *groups), sorted(rows, key=lambda row: sum(row[1:]))


def paired_table(report: Mapping[str, Any], split: str, candidate_id: str) -> Rows:
    """One candidate against every other on the same episodes: mean difference in CRPS, interval, p-value and Holm's adjustment."""
    entries = {entry["candidate_id"]: entry for entry in report["candidates"]}
    own = [crps for _, _, crps in _scores(entries[candidate_id], split)]
    others = [
        (entry["name"], [crps for _, _, crps in _scores(entry, split)])
        for key, entry in entries.items()
        if key != candidate_id
    ]
    rows = [
        [t.name, t.difference.mean, f"{t.difference.lower:.4f} to {t.difference.upper:.4f}", t.p, t.adjusted]
        for t in sorted(paired_tests(own, others), key=lambda t: t.difference.mean, reverse=True)
    ]
    return ("against", "mean difference", "95 % interval", "p", "p after Holm"), rows


def failure_table(report: Mapping[str, Any]) -> Rows:
    """Every failed episode with its reason; no rows when there are none."""
    rows = [
        [entry["name"], split, record["episode"], record["state"], record["reason"]]
        for entry in report["candidates"]
        for split, sections in entry["splits"].items()
        for record in sections["predictive"]["failures"]
    ]
    return ("kernel", "split", "episode", "state", "reason"), rows


def _section(entry: Entry, split: str) -> Mapping[str, Any]:
    section: Mapping[str, Any] = entry["splits"][split]["predictive"]
    return section


def _scores(entry: Entry, split: str) -> Sequence[tuple[str, str, float]]:
    """Episode, family and CRPS of every episode in order of names, a failed one at the penalty."""
    section = _section(entry, split)
    records = [*section["episodes"], *section["failures"]]
    rows = [(r["episode"], r["family"], float(r.get("crps", PREDICTIVE_PENALTY))) for r in records]
    return sorted(rows)
