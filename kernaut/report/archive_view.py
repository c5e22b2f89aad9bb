"""What an archive holds, for looking through it: rows that are searched, sorted and filtered, score against cost, two programs side by side."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernaut.archive.store import Archive
from kernaut.digest import thaw
from kernaut.errors import InputError
from kernaut.evaluation.outcome import PREDICTIVE_PENALTY
from kernaut.program.program import KernelProgram, save_candidate
from kernaut.report.charts import scale_over
from kernaut.report.inspection import frontier
from kernaut.report.page import Source, Table, table
from kernaut.report.picture import BLUE, VERMILLION, Chart, live_chart
from kernaut.report.vega import alt

SORTS = ("mean CRPS", "seconds", "name", "tunable parameters")
_KEYS = {"mean CRPS": "mean_crps", "seconds": "seconds", "name": "name", "tunable parameters": "tunable_parameters"}
COLUMNS = ("name", "identifier", "contract", "niche", "novelty", "mean CRPS", "seconds", "parameters")
MOST_POINTS = 2000
DATA = "programs"

Row = Mapping[str, Any]


def found_rows(
    rows: Sequence[Row], *, words: str = "", contract: str = "", niche: str = "", sort: str = "mean CRPS"
) -> list[Row]:
    """Rows of :func:`kernaut.report.inspection.candidate_rows` that match, in order.

    Args:
        rows: all rows.
        words: every one of these stands in the name or begins the identifier.
        contract: only this one; any if empty.
        niche: only this one; any if empty.
        sort: one of :data:`SORTS`; rows without a value come last.

    Raises:
        InputError: for an unknown order.
    """
    if sort not in _KEYS:
        raise InputError(f"Expected an order of {', '.join(SORTS)}. Got {sort!r}.")
    wanted = words.lower().split()

    def matches(row: Row) -> bool:
        name, key = str(row["name"]).lower(), str(row["candidate_id"])
        return (
            all(word in name or key.startswith(word) for word in wanted)
            and contract in ("", str(row["contract"]))
            and niche in ("", row.get("niche"))
        )

    def place(row: Row) -> tuple[bool, Any]:
        value = row.get(_KEYS[sort])
        return (value is None, value if value is not None else "")

    missing = [row for row in rows if matches(row) and row.get(_KEYS[sort]) is None]
    present = [row for row in rows if matches(row) and row.get(_KEYS[sort]) is not None]
    return sorted(present, key=place) + missing


def row_table(rows: Sequence[Row], most: int = 30) -> Table:
    """The first rows as a table."""
    cells = [
        (
            r["name"],
            r["candidate_id"],
            r["contract"],
            r.get("niche"),
            r.get("novelty_band"),
            r.get("mean_crps"),
            r.get("seconds"),
            r["tunable_parameters"],
        )
        for r in rows[:most]
    ]
    return table(
        COLUMNS,
        cells,
        f"{min(most, len(rows))} of {len(rows)} program{'' if len(rows) == 1 else 's'}; mean CRPS on meta-training, lower is better",
    )


WHOLE = "datum.value % 1 ? '' : format(datum.value, 'd')"
"""Labels of an axis that counts."""


def score_cost_chart(rows: Sequence[Row]) -> Chart:
    """Score against cost with the frontier; what is selected there by dragging is counted by niche and listed beside it.

    Args:
        rows: of :func:`kernaut.report.inspection.candidate_rows`; those without a score are left out, the best 2000 are drawn.

    Raises:
        InputError: when no row has a score.
    """
    scored = sorted((row for row in rows if row.get("mean_crps") is not None), key=lambda row: row["mean_crps"])[
        :MOST_POINTS
    ]
    if not scored:
        raise InputError(
            "Expected programs with scores. Got none.", hint="Search first, for instance with kernaut meta-run."
        )
    best = {row["candidate_id"] for row in frontier(scored)}
    values = [
        {
            "name": row["name"],
            "crps": row["mean_crps"],
            "seconds": max(float(row["seconds"]), 1e-4),
            "niche": str(row.get("niche", "")).replace("_", " "),
            "role": "frontier" if row["candidate_id"] in best else "other",
        }
        for row in scored
    ]
    brush = alt.selection_interval(name="chosen")
    roles = ["frontier", "other"]
    legend = alt.Legend(orient="bottom")
    points = (
        alt.Chart(alt.NamedData(DATA))
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X(
                "seconds:Q",
                title="seconds of evaluation (less is better)",
                scale=alt.Scale(type="log", nice=False, padding=12),
                axis=alt.Axis(labelOverlap="greedy", labelSeparation=6),
            ),
            y=alt.Y(
                "crps:Q",
                title="mean CRPS on meta-training (lower is better)",
                scale=scale_over([row["crps"] for row in values]),
            ),
            color=alt.Color(
                "role:N", title=None, scale=alt.Scale(domain=roles, range=[VERMILLION, BLUE]), legend=legend
            ),
            shape=alt.Shape(
                "role:N", title=None, scale=alt.Scale(domain=roles, range=["diamond", "circle"]), legend=legend
            ),
            opacity=alt.condition(brush, alt.value(1.0), alt.value(0.2)),
            tooltip=[
                alt.Tooltip("name:N"),
                alt.Tooltip("niche:N"),
                alt.Tooltip("crps:Q", format=".4f"),
                alt.Tooltip("seconds:Q"),
            ],
        )
        .add_params(brush)
        .properties(width=380, height=260, title="drag over points to select them")
    )
    bars = (
        alt.Chart(alt.NamedData(DATA))
        .mark_bar(color=BLUE)
        .encode(
            x=alt.X("count():Q", title="programs selected", axis=alt.Axis(labelExpr=WHOLE)),
            y=alt.Y("niche:N", title=None),
        )
        .transform_filter(brush)
        .properties(width=200, height=110, title="by niche")
    )
    names = (
        alt.Chart(alt.NamedData(DATA))
        .mark_text(align="left", fontSize=11)
        .encode(x=alt.value(4), y=alt.Y("place:O", axis=None), text=alt.Text("label:N"))
        .transform_filter(brush)
        .transform_window(place="row_number()", sort=[alt.SortField("crps")])
        .transform_calculate(label="format(datum.crps, '.4f') + '  ' + datum.name")
        .transform_filter("datum.place <= 8")
        .properties(width=200, height=120, title="the best of them")
    )
    chart = alt.hconcat(points, alt.vconcat(bars, names)).configure(background="white", padding=10)
    first = values[0]
    words = f"Mean CRPS against seconds of {len(values)} programs, {len(best)} on the frontier; the best is {first['name']} with {first['crps']:.4f}."
    return live_chart(chart, words, {DATA: values})


def source_difference(first: KernelProgram, second: KernelProgram) -> Source:
    """The unified difference of two sources, and of two parameter sets."""
    one = [*first.source.splitlines(), *_parameter_lines(first)]
    other = [*second.source.splitlines(), *_parameter_lines(second)]
    lines = list(difflib.unified_diff(one, other, first.name, second.name, lineterm="", n=3))
    return Source("\n".join(lines) or "The two have equal sources and parameters.")


def score_difference(archive: Archive, first: str, second: str) -> Table:
    """CRPS of two programs on each meta-training episode that both were scored on.

    Args:
        archive: opened, read-only is enough.
        first: an identifier.
        second: another.

    Raises:
        InputError: when there is no such episode.
    """
    one, other = _episode_scores(archive, first), _episode_scores(archive, second)
    shared = [episode for episode in one if episode in other]
    if not shared:
        raise InputError("Expected two programs that were scored on the same episodes. Got none in common.")
    rows = [(episode, one[episode], other[episode], one[episode] - other[episode]) for episode in shared]
    count = len(rows)
    first_mean, second_mean = sum(one[key] for key in shared) / count, sum(other[key] for key in shared) / count
    caption = f"CRPS on {count} meta-training episodes; a difference below 0 says that the first is better"
    return table(
        ("episode", "first", "second", "difference"),
        [("mean", first_mean, second_mean, first_mean - second_mean), *sorted(rows, key=lambda row: row[3])],
        caption,
    )


def export_program(program: KernelProgram, folder: str | Path) -> Path:
    """Write a program as a candidate file named after it.

    Raises:
        InputError: when the folder cannot be written.
    """
    path = Path(folder) / f"{program.name}-{program.id[:8]}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_candidate(program, path)
    except OSError as error:
        raise InputError(f"Expected a folder that can be written at {folder}. Got: {error.strerror}.") from error
    return path


def _parameter_lines(program: KernelProgram) -> list[str]:
    return [f"parameter {name} = {value!r}" for name, value in sorted(thaw(program.parameters).items())]


def _episode_scores(archive: Archive, program_id: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for record in archive.evaluations(program_id=program_id, purpose="search"):
        for outcome in thaw(record.outcomes):
            if "regret" not in outcome and "regret_auc" not in outcome:
                found[outcome["episode"]] = float(outcome.get("crps", PREDICTIVE_PENALTY))
    return found
