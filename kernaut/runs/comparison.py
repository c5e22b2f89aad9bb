"""Runs side by side: parameters that differ, metrics with their intervals.

Metrics are the numbers in the first row of a report's ``summary`` table (a notebook's main result); a cell such as ``0.41 to 0.52`` in a column whose name
holds "interval" belongs to the number before it.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernaut.errors import InputError
from kernaut.runs.index import FoundRun


@dataclass(frozen=True)
class Metric:
    """One number of a run.

    Args:
        value: the number.
        interval: as the notebook wrote it, such as ``0.41 to 0.52``; empty for none.
    """

    value: float
    interval: str = ""

    def __str__(self) -> str:
        return f"{self.value:.4f} ({self.interval})" if self.interval else f"{self.value:.4f}"


@dataclass(frozen=True)
class RunComparison:
    """Some runs as a table.

    Args:
        columns: ``run``, ``state``, parameters that differ, then metrics.
        rows: a row for each run, in the order given.
        equal: parameters that all runs have in common.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    equal: Mapping[str, Any]

    def html(self) -> str:
        """A page of its own."""
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_text(cell))}</td>" for cell in row) + "</tr>" for row in self.rows
        )
        same = ", ".join(f"{key} = {json.dumps(value)}" for key, value in self.equal.items()) or "none"
        style = "body{font-family:sans-serif}td,th{text-align:left;padding:2px 12px 2px 0}"
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Runs</title><style>{style}</style></head>'
            f"<body><h1>Runs side by side</h1><p>Equal parameters: {html.escape(same)}.</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></body></html>\n"
        )


def compare_runs(runs: Sequence[FoundRun]) -> RunComparison:
    """Lay runs side by side.

    Raises:
        InputError: for no runs.
    """
    if not runs:
        raise InputError("Expected at least one run. Got none.", hint="Run a notebook with kernaut notebook run NAME.")
    names = list(dict.fromkeys(key for run in runs for key in run.parameters))
    differing = [
        name for name in names if len({json.dumps(run.parameters.get(name), sort_keys=True) for run in runs}) > 1
    ]
    metrics = [metrics_of(run.report()) for run in runs]
    measured = list(dict.fromkeys(key for found in metrics for key in found))
    rows = tuple(
        (
            f"{run.name}/{run.directory.name}",
            run.state,
            *(_text(run.parameters.get(name)) for name in differing),
            *(str(found[key]) if key in found else None for key in measured),
        )
        for run, found in zip(runs, metrics, strict=True)
    )
    equal = {name: runs[0].parameters[name] for name in names if name not in differing}
    return RunComparison(("run", "state", *differing, *measured), rows, equal)


def metrics_of(report: Mapping[str, Any]) -> dict[str, Metric]:
    """The numbers of a report's main result; empty where the report has no summary table."""
    summary = report.get("summary")
    if not isinstance(summary, Mapping) or not summary.get("rows") or not summary.get("columns"):
        return {}
    found: dict[str, Metric] = {}
    last = ""
    for name, cell in zip(summary["columns"], summary["rows"][0], strict=False):
        if isinstance(cell, (int, float)) and not isinstance(cell, bool):
            last = str(name)
            found[last] = Metric(float(cell))
        elif last and isinstance(cell, str) and "interval" in str(name):
            found[last] = Metric(found[last].value, cell)
    return found


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value)
