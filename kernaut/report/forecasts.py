"""Pictures of forecasts: bands in the record's units, contributions of a kernel's summands, residuals and calibration.

Every picture has a static form; colour is never the only cue.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from kernaut.evaluation.decomposition import Decomposition
from kernaut.evaluation.forecast import Forecast
from kernaut.report.picture import BLACK, BLUE, ORANGE, Picture, chart_picture

WIDTH = 560
BINS = 10
Z95 = 1.959964


def forecast_chart(found: Forecast, title: str = "", coordinate: int = 0, unit: str | None = None) -> Picture:
    """Observations, the forecast's mean and its 95 % band along one coordinate, in the benchmark's units.

    Args:
        found: the forecast.
        title: of the chart; the episode's name if absent.
        coordinate: the input that is drawn to the right.
        unit: of the vertical axis; the episode's own if absent.
    """
    episode = found.episode
    mean, sd, truth = found.in_units()
    fitted = episode.fit_targets * episode.target_scale + episode.target_mean
    context = episode.context[1] * episode.target_scale + episode.target_mean
    if len(context):
        known_x, known_y = episode.context[0][:, coordinate], context
    else:
        known_x, known_y = episode.fit_inputs[:, coordinate], fitted
    seen = [{"x": float(x), "y": float(y), "kind": "observed"} for x, y in zip(known_x, known_y, strict=True)]
    places = np.argsort(episode.query_inputs[:, coordinate])
    band = [
        {
            "x": float(episode.query_inputs[i, coordinate]),
            "mean": float(mean[i]),
            "low": float(mean[i] - Z95 * sd[i]),
            "high": float(mean[i] + Z95 * sd[i]),
            "y": float(truth[i]),
            "kind": "held out",
        }
        for i in places
    ]
    x = alt.X("x:Q", title="input", scale=alt.Scale(zero=False))
    label = unit or str(episode.tags.get("unit", "value"))
    y = alt.Y("y:Q", title=label, scale=alt.Scale(zero=False))
    layers = [
        alt.Chart(alt.Data(values=band))
        .mark_area(opacity=0.3, color=BLUE)
        .encode(x=x, y=alt.Y("low:Q", title=label, scale=alt.Scale(zero=False)), y2="high:Q"),
        alt.Chart(alt.Data(values=band)).mark_line(color=BLUE, strokeDash=[4, 3]).encode(x=x, y="mean:Q"),
        alt.Chart(alt.Data(values=[*seen, *band]))
        .mark_point(filled=True, size=14, opacity=1)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "kind:N", title=None, scale=alt.Scale(domain=["observed", "held out"], range=[BLACK, ORANGE])
            ),
            shape=alt.Shape("kind:N", title=None),
        ),
    ]
    chart = alt.layer(*layers).properties(width=WIDTH, height=220, title=title or episode.name)
    return chart_picture(chart, f"Forecast of {episode.name} with its 95 % band, in {label}.")


def parts_chart(found: Decomposition, coordinate: int = 0) -> Picture:
    """What each summand of the kernel contributes to the posterior mean, along one coordinate, in the benchmark's units."""
    episode = found.episode
    points = np.concatenate([episode.fit_inputs, episode.context[0], episode.query_inputs])[:, coordinate]
    rows = [
        {"x": float(points[i]), "y": float(values[i]), "part": name}
        for name, values in zip(found.names, found.in_units(), strict=True)
        for i in np.argsort(points, kind="stable")
    ]
    label = str(episode.tags.get("unit", "value"))
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(strokeWidth=1.5)
        .encode(
            x=alt.X("x:Q", title="input", scale=alt.Scale(zero=False)),
            y=alt.Y("y:Q", title=f"contribution [{label}]"),
            color=alt.Color("part:N", title=None),
            strokeDash=alt.StrokeDash("part:N", title=None),
        )
        .properties(width=WIDTH, height=220, title=f"Summands: {episode.name}")
    )
    return chart_picture(
        chart, f"Contributions of {len(found.names)} summands to the posterior mean of {episode.name}."
    )


def calibration_chart(forecasts: Sequence[Forecast]) -> Picture:
    """Histogram of probability integral transforms: flat where predictive distributions are calibrated."""
    values = np.concatenate([found.pit() for found in forecasts])
    counts, edges = np.histogram(values, bins=BINS, range=(0.0, 1.0))
    rows = [
        {"low": float(low), "high": float(high), "share": float(count / len(values))}
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    bars = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(color=BLUE, stroke="white")
        .encode(
            x=alt.X("low:Q", bin="binned", title="probability of a smaller value (PIT)"),
            x2="high:Q",
            y=alt.Y("share:Q", title="share of queries"),
        )
    )
    flat = alt.Chart(alt.Data(values=[{"y": 1.0 / BINS}])).mark_rule(color=BLACK, strokeDash=[4, 3]).encode(y="y:Q")
    chart = alt.layer(bars, flat).properties(width=WIDTH, height=180, title="Calibration: the dashed line is perfect")
    return chart_picture(chart, f"Histogram of {len(values)} probability integral transforms in {BINS} bins.")


def residual_chart(forecasts: Sequence[Forecast]) -> Picture:
    """Residuals in predictive standard deviations, in the order of the queries, by family."""
    rows: list[dict[str, Any]] = [
        {"query": place, "residual": float(value), "family": found.episode.family}
        for found in forecasts
        for place, value in enumerate(np.clip(found.residuals(), -8.0, 8.0))
    ]
    points = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(size=12, opacity=0.6)
        .encode(
            x=alt.X("query:Q", title="query"),
            y=alt.Y("residual:Q", title="residual [predictive deviations, clipped at 8]"),
            color=alt.Color("family:N", title=None),
            shape=alt.Shape("family:N", title=None),
        )
    )
    limits = alt.Chart(alt.Data(values=[{"y": -Z95}, {"y": Z95}])).mark_rule(color=BLACK, strokeDash=[4, 3])
    chart = alt.layer(points, limits.encode(y="y:Q")).properties(width=WIDTH, height=220, title="Residuals")
    return chart_picture(
        chart, f"{len(rows)} residuals in predictive deviations; 95 % should lie between the dashed lines."
    )
