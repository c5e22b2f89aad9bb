"""Charts of a sealed report: policies compared, learning curves, how hard each family is.

A report is what :meth:`kernaut.sealed.client.SealedClient.report` returns.  Raw regret comes first, since clipping hides how badly a policy fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernaut.errors import InputError
from kernaut.report.picture import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION, Picture, chart_picture
from kernaut.report.vega import alt

COLOURS = (BLACK, BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY)
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [1, 3], [10, 4], [4, 1])


def policy_chart(report: Mapping[str, Any], measure: str = "raw") -> Picture:
    """Macro mean regret of each policy with its 95 % interval, the best at the top.

    Args:
        report: a sealed report.
        measure: ``raw`` or ``clipped``.

    Raises:
        InputError: for another measure, or when no instance is calibrated.
    """
    if measure not in ("raw", "clipped"):
        raise InputError(f"Expected a measure of raw or clipped. Got {measure!r}.")
    rows = [
        {
            "policy": policy_name(run),
            "regret": run[measure]["macro"]["mean"],
            "lower": run[measure]["macro"]["interval"][0],
            "upper": run[measure]["macro"]["interval"][1],
        }
        for run in _runs(report)
    ]
    rows.sort(key=lambda row: row["regret"])
    order = [row["policy"] for row in rows]
    data = alt.Data(values=rows)
    y = alt.Y("policy:N", sort=order, title=None)
    title = f"{measure} normalized regret, equal weight a family (lower is better)"
    bars = alt.Chart(data).mark_rule(strokeWidth=2).encode(x=alt.X("lower:Q", title=title), x2="upper:Q", y=y)
    points = alt.Chart(data).mark_point(filled=True, size=90, opacity=1, color=BLUE).encode(x="regret:Q", y=y)
    floor = alt.Chart(alt.Data(values=[{"x": 1.0}])).mark_rule(strokeDash=[4, 4], color="#777777").encode(x="x:Q")
    chart = alt.layer(floor, bars, points).properties(width=460, height=alt.Step(26))
    words = "; ".join(f"{row['policy']} {row['regret']:.3f}" for row in rows)
    return chart_picture(_styled(chart), f"Mean {measure} regret by policy, 1 is the random policy: {words}.")


def learning_chart(report: Mapping[str, Any]) -> Picture:
    """Mean raw regret of the best output so far against queries used, one panel a family, one line a policy.

    Args:
        report: a sealed report.

    Raises:
        InputError: when no instance is calibrated.
    """
    runs = _runs(report)
    rows = [
        {"policy": policy_name(run), "family": family, "query": place + 1, "regret": value}
        for run in runs
        for family, found in run["auc_queries"]["families"].items()
        for place, value in enumerate(found["curve"])
    ]
    names = [policy_name(run) for run in runs]
    lines = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(point=alt.OverlayMarkDef(filled=True, size=40))
        .encode(
            x=alt.X("query:Q", title="queries used", axis=alt.Axis(format="d", tickMinStep=1)),
            y=alt.Y("regret:Q", title="raw regret of the best so far (lower is better)"),
            color=_scale("policy", alt.Color, names, COLOURS),
            shape=_scale("policy", alt.Shape, names, SHAPES),
            strokeDash=_scale("policy", alt.StrokeDash, names, DASHES),
        )
        .properties(width=210, height=220)
    )
    families = sorted({row["family"] for row in rows})
    chart = lines.facet(column=alt.Column("family:N", title=None, sort=families))
    words = "; ".join(f"{policy_name(run)} area {run['auc_queries']['macro']:.3f}" for run in runs)
    return chart_picture(
        _styled(chart), f"Learning curves on {', '.join(families)}; mean regret over queries: {words}."
    )


def difficulty_chart(report: Mapping[str, Any], floor: str = "random", ceiling: str = "ceiling") -> Picture:
    """Floor, every policy and fair ceiling on each family.

    Args:
        report: a sealed report that holds both policies.
        floor: the policy that should be near 1.
        ceiling: the policy that should be well below.

    Raises:
        InputError: when one of the two is not in the report.
    """
    runs = _runs(report)
    names = [policy_name(run) for run in runs]
    if missing := {floor, ceiling} - set(names):
        raise InputError(
            f"Expected the policies {floor} and {ceiling} in the report. Got none of {', '.join(missing)}."
        )
    rows = [
        {
            "policy": policy_name(run),
            "family": family,
            "regret": found["mean"],
            "role": {floor: "floor", ceiling: "ceiling"}.get(policy_name(run), "other policies"),
        }
        for run in runs
        for family, found in run["raw"]["families"].items()
    ]
    roles = ["floor", "other policies", "ceiling"]
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, size=100, opacity=1)
        .encode(
            x=alt.X("regret:Q", title="raw normalized regret (lower is better)"),
            y=alt.Y("family:N", title=None),
            color=_scale("role", alt.Color, roles, (BLACK, SKY, VERMILLION)),
            shape=_scale("role", alt.Shape, roles, ("square", "circle", "diamond")),
            tooltip=[alt.Tooltip("policy:N"), alt.Tooltip("regret:Q", format=".4f")],
        )
        .properties(width=460, height=alt.Step(36))
    )
    ends = [row for row in rows if row["role"] != "other policies"]
    words = "; ".join(f"{row['role']} on {row['family']} {row['regret']:.3f}" for row in ends)
    return chart_picture(_styled(chart), f"Difficulty of the families: {words}.")


def _runs(report: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    runs = [run for run in report["runs"] if run["raw"] is not None]
    if not runs:
        raise InputError("Expected a sealed report with calibrated instances. Got none.")
    return runs


def policy_name(run: Mapping[str, Any]) -> str:
    """The policy, with the kernel's name where one was chosen."""
    kernel = run["options"].get("kernel") if isinstance(run["options"], Mapping) else None
    if not isinstance(kernel, Mapping):
        return str(run["policy"])
    return f"{run['policy']} ({kernel.get('name') or kernel.get('kind')})"


def _scale(field: str, channel: Any, names: Sequence[str], values: Sequence[Any]) -> Any:
    spread = [values[place % len(values)] for place in range(len(names))]
    return channel(f"{field}:N", title=None, scale=alt.Scale(domain=list(names), range=spread))


def _styled(chart: Any) -> Any:
    return (
        chart.configure(background="white", padding=10)
        .configure_axis(labelFontSize=12, titleFontSize=12, titleFontWeight="normal", gridColor="#eeeeee")
        .configure_legend(labelLimit=0, labelFontSize=12, symbolOpacity=1)
        .configure_view(stroke="#dddddd")
    )
