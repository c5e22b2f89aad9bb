"""A sealed report as a board: tasks and budgets, policies by micro and macro regret, regret against the budget with intervals.

A report is what ``kernaut sealed report`` writes, or what a running service answers; see :mod:`kernaut.report.sealed_charts` for charts of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernaut.digest import loads_finite
from kernaut.errors import InputError
from kernaut.report.drawing import STYLES, Drawing, Panel, drawing
from kernaut.report.marks import SHAPES
from kernaut.report.page import Table, table
from kernaut.report.sealed_charts import policy_name
from kernaut.sealed.client import connect
from kernaut.sealed.manifest import SPLITS, Manifest

MEASURES = ("raw", "clipped")
MEANS = ("macro", "micro")
MOST_POLICIES = 8
"""Lines that are told apart in one picture."""
APART = 0.09
"""How far policies stand apart at one query, so that their intervals do not hide each other [queries]."""
PATIENCE = 2.0
"""Seconds that a view waits for a service."""


def sealed_report(path: str | Path) -> dict[str, Any]:
    """Read a report, or a notebook's report that holds one.

    Raises:
        InputError: when the file cannot be read or holds no sealed report.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(
            f"Expected a sealed report in {path}. Got: {reason}.",
            hint="Write one with kernaut sealed report --out FILE.",
        ) from error
    return require_sealed(loads_finite(text, str(path)), str(path))


def asked_report(service: str) -> dict[str, Any]:
    """The report of the closed runs of a running service.

    Raises:
        InputError: when no service answers, or it has no closed run.
    """
    with connect(service, patience=PATIENCE) as client:
        return require_sealed(client.report(times=True), service)


def require_sealed(record: Any, where: str) -> dict[str, Any]:
    """Check that a record is a sealed report with something to show.

    Raises:
        InputError: when it is not.
    """
    found = record.get("report", record) if isinstance(record, Mapping) else record
    runs = found.get("runs") if isinstance(found, Mapping) else None
    if not isinstance(runs, Sequence) or not all(
        isinstance(r, Mapping) and {"policy", *MEASURES} <= set(r) for r in runs
    ):
        raise InputError(
            f"Expected a sealed report in {where}. Got something else.",
            hint="Write one with kernaut sealed report --out FILE.",
        )
    if not any(run["raw"] for run in runs):
        raise InputError(
            f"Expected runs on calibrated tasks in {where}. Got none.", hint="Play a policy with kernaut sealed run."
        )
    return dict(found)


def policies_of(report: Mapping[str, Any], measure: str = "raw", mean: str = "macro") -> list[str]:
    """Names of the policies, the smallest regret first; a policy that was run again gets a number."""
    return [name for name, _ in _runs(report, measure, mean)]


def places_of(report: Mapping[str, Any]) -> list[str]:
    """What regret can be shown on: both means, then each family."""
    return [*MEANS, *sorted({family for run in report["runs"] if run["raw"] for family in run["raw"]["families"]})]


def policy_table(report: Mapping[str, Any], measure: str = "raw") -> Table:
    """Each policy's macro and micro mean with its interval, its learning, and how episodes ended."""
    rows = []
    for name, run in _runs(report, measure):
        macro, micro = run[measure]["macro"], run[measure]["micro"]
        failed = sum(count for outcome, count in run.get("outcomes", {}).items() if outcome != "returned")
        curve = run["auc_queries"]["macro"]
        rows.append((name, macro["mean"], _ends(macro), micro["mean"], _ends(micro), curve, run.get("queries"), failed))
    columns = ("policy", "macro", "95 %", "micro", "95 %", "mean over queries", "queries", "failed episodes")
    words = f"{measure} normalized regret, lower is better: 0 is the optimum, 1 the random policy, 2 a failure"
    return table(columns, rows, f"{words}; macro weighs families equally, micro tasks")


def policy_drawing(report: Mapping[str, Any], measure: str = "raw") -> Drawing:
    """Macro and micro means of each policy with their intervals, the best at the top."""
    runs = _runs(report, measure)
    panel = Panel(f"{measure} normalized regret, lower is better", width=620, height=96 + 34 * len(runs))
    panel.categories = tuple(name for name, _ in runs)
    places = np.arange(len(runs))
    panel.rule(x=1.0)
    for mean, style, shift, hollow in (("macro", 0, -0.15, False), ("micro", 1, 0.15, True)):
        found = [run[measure][mean] for _, run in runs]
        panel.spans([f["interval"][0] for f in found], [f["interval"][1] for f in found], places + shift)
        panel.points(
            [f["mean"] for f in found], places + shift, style, f"{mean} mean, 95 % interval", hollow=hollow, size=4.5
        )
    ends = [end for _, run in runs for mean in MEANS for end in (*run[measure][mean]["interval"], 1.0)]
    margin = 0.04 * (max(ends) - min(ends)) or 0.1
    panel.x_range = (min(ends) - margin, max(ends) + margin)
    words = "; ".join(
        f"{name} macro {run[measure]['macro']['mean']:.3f}, micro {run[measure]['micro']['mean']:.3f}"
        for name, run in runs
    )
    return drawing([panel], f"Mean {measure} regret by policy, the line is the random policy's 1: {words}.")


def budget_drawing(report: Mapping[str, Any], place: str = "macro", policies: Sequence[str] = ()) -> Drawing:
    """Raw regret of the best output so far against queries used, a line a policy, with 95 % intervals where the report holds them.

    Args:
        report: a sealed report.
        place: ``macro``, ``micro`` or a family.
        policies: names of :func:`policies_of`; the best eight if empty.

    Raises:
        InputError: for an unknown place or policy, or an older report without curves over all families.
    """
    if place not in places_of(report):
        raise InputError(f"Expected regret on {', '.join(places_of(report))}. Got {place!r}.")
    known = dict(_runs(report))
    unknown = [name for name in policies if name not in known]
    if unknown:
        raise InputError(f"Expected policies of {', '.join(known)}. Got {', '.join(unknown)}.")
    names = [name for name in known if not policies or name in policies][:MOST_POLICIES]
    panel = Panel(
        "queries used", "raw regret of the best so far", title=_title(place), width=720, height=380, whole=True
    )
    panel.rule(y=1.0)
    curves = [_curve(known[name], place) for name in names]
    longest = max(len(curve["curve"]) for curve in curves)
    panel.x_range = (0.5, longest + 0.5)
    for number, (name, curve) in enumerate(zip(names, curves, strict=True)):
        style = list(known).index(name)
        steps = np.arange(1, len(curve["curve"]) + 1) + APART * (number - 0.5 * (len(names) - 1))
        for step, low, high in zip(steps, curve.get("lower", ()), curve.get("upper", ()), strict=False):
            panel.line([step, step], [low, high], style, width=1.1, colour=STYLES[style % len(STYLES)][0])
        panel.line(steps, curve["curve"], style, name, width=1.6)
        shape = tuple(SHAPES)[style % len(SHAPES)]
        panel.points(steps, curve["curve"], style, hollow=bool(style % 2), size=3.2, shape=shape)
    said = "; ".join(
        f"{name} from {curve['curve'][0]:.3f} to {curve['curve'][-1]:.3f}"
        for name, curve in zip(names, curves, strict=True)
    )
    bars = "; upright lines are 95 % intervals" if any("lower" in curve for curve in curves) else ""
    return drawing([panel], f"{_title(place)}: raw regret against queries, lower is better{bars}. {said}.")


def outcome_table(report: Mapping[str, Any]) -> Table:
    """How the episodes of each policy ended."""
    runs = _runs(report)
    kinds = list(dict.fromkeys(kind for _, run in runs for kind in run.get("outcomes", {})))
    rows = [
        (name, run.get("instances"), *(run.get("outcomes", {}).get(kind, 0) for kind in kinds)) for name, run in runs
    ]
    return table(("policy", "tasks", *(kind.replace("_", " ") for kind in kinds)), rows, "How episodes ended")


def family_table(manifest: Manifest, report: Mapping[str, Any] | None = None) -> Table:
    """The families of a public task set: how many tasks, which budgets, and how many are left out of regret."""
    left_out = Counter(identifier.rsplit("-", 1)[0] for identifier in (report or {}).get("uncalibrated", ()))
    rows = []
    for family in sorted({task.family for task in manifest.tasks.values()}):
        own = [task for task in manifest.tasks.values() if task.family == family]
        budgets = sorted({task.horizon_budget for task in own}), sorted({task.compute_budget for task in own})
        queries, seconds = (", ".join(f"{value:g}" for value in values) for values in budgets)
        aims = ", ".join(sorted({task.objective_direction for task in own}))
        rows.append((family, len(own), aims, queries, seconds, left_out[own[0].task_id.rsplit("-", 1)[0]]))
    columns = ("family", "tasks", "aim", "queries an episode", "seconds an episode", "not calibrated")
    return table(columns, rows, f"{len(manifest.tasks)} tasks of {len(rows)} families")


def task_table(manifest: Manifest, split: str = "all", family: str = "", most: int = 40) -> Table:
    """The tasks of a split with their budgets and the size of an output.

    Raises:
        InputError: for an unknown split, or one without tasks.
    """
    splits = {identifier: name for name in SPLITS for identifier in manifest.index.splits[name]}
    tasks = [task for task in manifest.split(split) if family in ("", task.family)]
    rows = [
        (
            task.task_id,
            splits[task.task_id],
            task.objective_direction,
            task.horizon_budget,
            f"{task.compute_budget:g}",
            task.space.size,
        )
        for task in tasks[:most]
    ]
    columns = ("task", "split", "aim", "queries", "seconds", "numbers in an output")
    return table(columns, rows, f"{len(rows)} of {len(tasks)} tasks")


def _runs(report: Mapping[str, Any], measure: str = "raw", mean: str = "macro") -> list[tuple[str, Mapping[str, Any]]]:
    """Runs by name, the smallest regret first."""
    if measure not in MEASURES:
        raise InputError(f"Expected a measure of {', '.join(MEASURES)}. Got {measure!r}.")
    runs = sorted((run for run in report["runs"] if run["raw"]), key=lambda run: float(run[measure][mean]["mean"]))
    seen: Counter[str] = Counter()
    named = []
    for run in runs:
        name = policy_name(run)
        seen[name] += 1
        named.append((name if seen[name] == 1 else f"{name} #{seen[name]}", run))
    return named


def _curve(run: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    curves = run["auc_queries"]
    if place in MEANS:
        if not curves.get("curves"):
            raise InputError(
                "Expected a report with curves over all families. Got one without, of an earlier version.",
                hint="Choose a family, or ask the service for the report again.",
            )
        curves = {"families": curves["curves"]}
    found: Mapping[str, Any] = curves["families"][place]
    return found


def _title(place: str) -> str:
    return {"macro": "All families, equal weight a family", "micro": "All families, equal weight a task"}.get(
        place, place
    )


def _ends(found: Mapping[str, Any]) -> str:
    return f"{found['interval'][0]:.3f} to {found['interval'][1]:.3f}"
