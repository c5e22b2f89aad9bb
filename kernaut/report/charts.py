"""Charts of a campaign and of what came of it, each with its static picture.

Colour is never the only cue: shapes, labels and dashes say the same.  Every axis of a score says which direction is better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernaut.errors import InputError
from kernaut.program.formulation import NICHES
from kernaut.report.comparison import Comparison, episode_scores
from kernaut.report.picture import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION, Picture, chart_picture
from kernaut.report.vega import alt

BANDS = ("duplicate", "near_reference", "distinct", "strongly_distinct")
COLOURS = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, SKY, BLACK)
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
WIDTH = 560


def convergence_chart(report: Mapping[str, Any], reference: tuple[str, float] | None = None) -> Picture:
    """Mean CRPS on meta-training of what each run brought, and the best so far.

    Args:
        report: of :func:`kernaut.search.campaign.campaign_report`.
        reference: name and mean CRPS of a reference kernel on the same episodes, drawn as a dashed line.

    Raises:
        InputError: for a campaign that accepted nothing.
    """
    rows, best, steps = [], float("inf"), []
    for entry in _accepted(report):
        crps = entry["scores"]["mean_crps"]
        best = min(best, crps)
        rows.append({"run": entry["run"] + 1, "crps": crps, "name": entry["name"], "niche": _words(entry["niche"])})
        steps.append({"run": entry["run"] + 1, "best": best})
    steps.append({"run": report["campaign"]["runs"], "best": best})
    x = alt.X(
        "run:Q",
        title="run",
        axis=alt.Axis(values=_whole(report["campaign"]["runs"]), format="d"),
        scale=alt.Scale(nice=False, padding=12),
    )
    axis = "mean CRPS on meta-training (lower is better)"
    points = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, size=90, opacity=1)
        .encode(
            x=x,
            y=alt.Y("crps:Q", title=axis, scale=alt.Scale(zero=False, padding=12)),
            color=_niche_colours(),
            shape=_niche_shapes(),
            tooltip=[alt.Tooltip("name:N"), alt.Tooltip("niche:N"), alt.Tooltip("crps:Q", format=".4f")],
        )
    )
    line = alt.Chart(alt.Data(values=steps)).mark_line(interpolate="step-after", color=BLACK, strokeWidth=1.5)
    layers = [line.encode(x=x, y="best:Q"), points]
    title = "line: best so far"
    words = f"best {best:.4f} after {report['campaign']['runs']} runs"
    if reference is not None:
        name, value = reference
        rule = alt.Chart(alt.Data(values=[{"y": value}]))
        layers.append(rule.mark_rule(strokeDash=[6, 4], color="#555555").encode(y="y:Q"))
        title = f"line: best so far; dashed: best reference, {name} ({value:.4f})"
        words += f"; the best reference, {name}, has {value:.4f}"
    heading = alt.Title(title, anchor="start", fontSize=12, fontWeight="normal")
    chart = alt.layer(*layers).properties(width=WIDTH, height=280, title=heading)
    return chart_picture(
        _styled(chart), f"Mean CRPS on meta-training of each run's accepted program, and the best so far: {words}."
    )


def elite_chart(report: Mapping[str, Any]) -> Picture:
    """The elites: the best program of each cell of niche, novelty band and feature growth.

    Args:
        report: of :func:`kernaut.search.campaign.campaign_report`.

    Raises:
        InputError: for a campaign that accepted nothing.
    """
    accepted = {entry["candidate_id"]: entry for entry in _accepted(report)}
    rows = []
    for elite in report["elites"]:
        entry = accepted[elite["candidate_id"]]
        rows.append(
            {
                "niche": _words(elite["niche"]),
                "band": _words(elite["novelty_band"]),
                "growth": f"feature growth: {elite['feature_growth']}",
                "crps": entry["scores"]["mean_crps"],
                "name": entry["name"],
            }
        )
    values = sorted(row["crps"] for row in rows)
    middle = (values[0] + values[-1]) / 2.0
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X(
            "band:N",
            title="novelty",
            sort=[_words(b) for b in BANDS],
            scale=alt.Scale(domain=[_words(b) for b in BANDS]),
            axis=alt.Axis(grid=False, labelAngle=0),
        ),
        y=alt.Y(
            "niche:N",
            title=None,
            sort=[_words(n) for n in NICHES],
            scale=alt.Scale(domain=[_words(n) for n in NICHES]),
            axis=alt.Axis(grid=False),
        ),
    )
    cells = base.mark_rect(stroke="white", strokeWidth=2).encode(
        color=alt.Color(
            "crps:Q",
            title=["mean CRPS on", "meta-training", "(lower is better)"],
            scale=scale_over(values, scheme="viridis", reverse=True),
        ),
        tooltip=[alt.Tooltip("name:N"), alt.Tooltip("crps:Q", format=".4f")],
    )
    texts = base.mark_text(fontSize=11).encode(
        text=alt.Text("crps:Q", format=".3f"),
        color=alt.condition(alt.datum.crps <= middle, alt.value("black"), alt.value("white")),
    )
    chart = alt.layer(cells, texts).properties(width=400, height=210)
    faceted = chart.facet(facet=alt.Facet("growth:N", title=None, header=alt.Header(labelFontSize=12)), columns=1)
    words = "; ".join(f"{row['niche']}, {row['band']}: {row['crps']:.4f}" for row in rows)
    return chart_picture(
        _styled(faceted), f"Elite grid, mean CRPS on meta-training of the best program in each cell. {words}."
    )


def scale_over(values: Sequence[float], **options: Any) -> alt.Scale:
    """A scale over values; around the only one, which Vega would otherwise call 0."""
    if len(set(values)) == 1:
        return alt.Scale(domain=[round(values[0] + side, 6) for side in (-0.05, 0.05)], nice=False, **options)
    return alt.Scale(**options) if options else alt.Scale(zero=False, padding=12)


def selection_chart(report: Mapping[str, Any], validation: Mapping[str, float], choice: str) -> Picture:
    """Meta-training CRPS against validation CRPS of every candidate, the selected one marked.

    Args:
        report: of :func:`kernaut.search.campaign.campaign_report`.
        validation: mean CRPS on validation by identifier.
        choice: the selected identifier.
    """
    rows = [
        {
            "train": entry["scores"]["mean_crps"],
            "validation": validation[entry["candidate_id"]],
            "name": entry["name"],
            "role": "selected" if entry["candidate_id"] == choice else "other candidates",
        }
        for entry in _accepted(report)
        if entry["candidate_id"] in validation
    ]
    roles = ["selected", "other candidates"]
    points = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, size=110, opacity=1)
        .encode(
            x=alt.X(
                "train:Q",
                title="mean CRPS on meta-training (lower is better)",
                scale=scale_over([row["train"] for row in rows]),
            ),
            y=alt.Y(
                "validation:Q",
                title="mean CRPS on validation (lower is better)",
                scale=scale_over([row["validation"] for row in rows]),
            ),
            color=alt.Color("role:N", title=None, scale=alt.Scale(domain=roles, range=[VERMILLION, BLUE])),
            shape=alt.Shape("role:N", title=None, scale=alt.Scale(domain=roles, range=["diamond", "circle"])),
            tooltip=[
                alt.Tooltip("name:N"),
                alt.Tooltip("train:Q", format=".4f"),
                alt.Tooltip("validation:Q", format=".4f"),
            ],
        )
        .properties(width=420, height=280)
    )
    words = f"{len(rows)} candidates; the selected one has {validation[choice]:.4f} on validation"
    return chart_picture(_styled(points), f"Mean CRPS on meta-training against validation of every candidate: {words}.")


def family_chart(report: Mapping[str, Any], comparison: Comparison, split: str = "test") -> Picture:
    """Mean CRPS on each function family of a split, the program against the best reference.

    Args:
        report: of :func:`kernaut.search.benchmarking.benchmark_report`.
        comparison: of the program in that report.
        split: the split.
    """
    entries = {entry["candidate_id"]: entry for entry in report["candidates"]}
    roles = [comparison.program.name, comparison.best_reference.name]
    rows: list[dict[str, Any]] = []
    for row in (comparison.best_reference, comparison.program):  # the later one is drawn on top
        families: dict[str, list[float]] = {}
        for episode, crps in episode_scores(entries[row.candidate_id], split).items():
            families.setdefault(episode.split(":")[0], []).append(crps)
        rows += [
            {"family": family, "crps": sum(values) / len(values), "kernel": row.name}
            for family, values in families.items()
        ]
    y = alt.Y("family:N", title=None, sort=report["protocol"]["splits"][split]["families"])
    x = alt.X("crps:Q", title=f"mean CRPS on {split} (lower is better)", scale=alt.Scale(zero=False, padding=12))
    data = alt.Data(values=rows)
    bars = alt.Chart(data).mark_line(color="#999999", strokeWidth=2).encode(x=x, y=y, detail="family:N")
    points = (
        alt.Chart(data)
        .mark_point(filled=True, size=110, opacity=1)
        .encode(
            x=x,
            y=y,
            color=alt.Color("kernel:N", title=None, scale=alt.Scale(domain=roles, range=[VERMILLION, BLUE])),
            shape=alt.Shape("kernel:N", title=None, scale=alt.Scale(domain=roles, range=["diamond", "circle"])),
            tooltip=[alt.Tooltip("kernel:N"), alt.Tooltip("family:N"), alt.Tooltip("crps:Q", format=".4f")],
        )
    )
    chart = alt.layer(bars, points).properties(width=420, height=alt.Step(34))
    words = "; ".join(f"{row['kernel']} on {row['family']} {row['crps']:.4f}" for row in rows)
    return chart_picture(_styled(chart), f"Mean CRPS on {split} by function family: {words}.")


def _accepted(report: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    accepted: Sequence[Mapping[str, Any]] = report["accepted"]
    if not accepted:
        raise InputError("Expected a campaign with accepted programs. Got none.")
    return accepted


def _whole(last: int) -> list[int]:
    """At most some twenty whole numbers from 1 to the last."""
    return list(range(1, last + 1, 1 + last // 20))


def _words(name: str) -> str:
    return name.replace("_", " ")


def _niche_colours() -> Any:
    return alt.Color("niche:N", title="niche", scale=alt.Scale(domain=[_words(n) for n in NICHES], range=list(COLOURS)))


def _niche_shapes() -> Any:
    return alt.Shape("niche:N", title="niche", scale=alt.Scale(domain=[_words(n) for n in NICHES], range=list(SHAPES)))


def _styled(chart: Any) -> Any:
    """Readable on a light and on a dark page: its own white ground, text of one size."""
    return (
        chart.configure(background="white", padding=10)
        .configure_axis(labelFontSize=12, titleFontSize=12, titleFontWeight="normal", grid=True, gridColor="#eeeeee")
        .configure_legend(labelLimit=0, labelFontSize=12, titleFontSize=12, titleFontWeight="normal", symbolOpacity=1)
        .configure_view(stroke="#dddddd")
    )
