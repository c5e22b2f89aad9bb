"""Pictures of forecasts: bands in the record's units, contributions of a kernel's summands, residuals and calibration.

Every picture has a static form; colour is never the only cue.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernaut.episodes.benchmark import Benchmark
from kernaut.episodes.coordinate import Axis, plain_axis
from kernaut.episodes.episode import Episode
from kernaut.evaluation.decomposition import Decomposition
from kernaut.evaluation.forecast import Forecast
from kernaut.report.marks import Z95
from kernaut.report.picture import BLACK, BLUE, ORANGE, Picture, chart_picture
from kernaut.report.vega import alt

WIDTH = 560
BINS = 10


def forecast_chart(
    found: Forecast, benchmark: Benchmark | None = None, title: str = "", coordinate: int = 0, unit: str | None = None
) -> Picture:
    """Observations, the forecast's mean and its 95 % band along one coordinate, in the benchmark's units.

    Where other inputs vary too, neighbours along one coordinate need not be neighbours: each query then has a bar of its own instead of a band.

    Args:
        found: the forecast.
        benchmark: says what the inputs are; without it they are plain numbers.
        title: of the chart; the episode's name if absent.
        coordinate: the input that is drawn to the right.
        unit: of the vertical axis; the episode's own if absent.
    """
    episode = found.episode
    axis = _axis(benchmark, episode, coordinate)
    mean, sd, truth = found.in_units()
    known_x, known_y = episode.context if len(episode.context[1]) else (episode.fit_inputs, episode.fit_targets)
    known_y = known_y * episode.target_scale + episode.target_mean
    known_places = axis.in_units(known_x[:, coordinate])
    places = axis.in_units(episode.query_inputs[:, coordinate])
    seen = [{"x": float(x), "y": float(y), "kind": "observed"} for x, y in zip(known_places, known_y, strict=True)]
    band = [
        {
            "x": float(places[i]),
            "mean": float(mean[i]),
            "low": float(mean[i] - Z95 * sd[i]),
            "high": float(mean[i] + Z95 * sd[i]),
            "y": float(truth[i]),
            "kind": "held out",
        }
        for i in np.argsort(places)
    ]
    label = unit or str(episode.tags.get("unit", "value"))
    x, low = _horizontal(axis), alt.Y("low:Q", title=label, scale=alt.Scale(zero=False))
    base = alt.Chart(alt.Data(values=band))
    if _is_path(episode, coordinate):
        layers = [
            base.mark_area(opacity=0.3, color=BLUE).encode(x=x, y=low, y2="high:Q"),
            base.mark_line(color=BLUE, strokeDash=[4, 3]).encode(x=x, y="mean:Q"),
        ]
    else:
        layers = [
            base.mark_rule(color=BLUE, opacity=0.35, strokeWidth=4).encode(x=x, y=low, y2="high:Q"),
            base.mark_tick(color=BLUE, orient="horizontal", size=10, thickness=2).encode(x=x, y="mean:Q"),
        ]
    kinds = ["observed", "held out"]
    layers.append(
        alt.Chart(alt.Data(values=[*seen, *band]))
        .mark_point(filled=True, size=16, opacity=1)
        .encode(
            x=x,
            y=alt.Y("y:Q", title=label, scale=alt.Scale(zero=False)),
            color=alt.Color("kind:N", title=None, scale=alt.Scale(domain=kinds, range=[BLACK, ORANGE])),
            shape=alt.Shape("kind:N", title=None, scale=alt.Scale(domain=kinds, range=["circle", "square"])),
        )
    )
    chart = alt.layer(*layers).properties(width=WIDTH, height=220, title=title or episode.name)
    return chart_picture(chart, f"Forecast of {episode.name} with its 95 % band, in {label}, along {axis.label}.")


def parts_chart(found: Decomposition, benchmark: Benchmark | None = None, coordinate: int = 0) -> Picture:
    """What each summand of the kernel contributes to the posterior mean, along one coordinate, in the benchmark's units.

    Where an episode has readings of its own before the queries (context), only it is drawn, not the other episodes that were fitted.  A dashed line shows where
    a forecast begins.

    Args:
        found: the contributions.
        benchmark: says what the inputs are; without it they are plain numbers.
        coordinate: the input that is drawn to the right.
    """
    episode = found.episode
    axis = _axis(benchmark, episode, coordinate)
    start = len(episode.fit_inputs) if len(episode.context[1]) else 0
    points = np.concatenate([episode.fit_inputs, episode.context[0], episode.query_inputs])[start:, coordinate]
    places = axis.in_units(points)
    rows = [
        {"x": float(places[i]), "y": float(values[start + i]), "part": name}
        for name, values in zip(found.names, found.in_units(), strict=True)
        for i in np.argsort(places, kind="stable")
    ]
    label = str(episode.tags.get("unit", "value"))
    base = alt.Chart(alt.Data(values=rows))
    x, y = _horizontal(axis), alt.Y("y:Q", title=f"contribution [{label}]")
    color = alt.Color("part:N", title=None, scale=alt.Scale(domain=list(found.names)))
    if _is_path(episode, coordinate):
        dash = alt.StrokeDash("part:N", title=None, scale=alt.Scale(domain=list(found.names)))
        parts = base.mark_line(strokeWidth=1.5).encode(x=x, y=y, color=color, strokeDash=dash)
    else:
        shape = alt.Shape("part:N", title=None, scale=alt.Scale(domain=list(found.names)))
        parts = base.mark_point(size=22).encode(x=x, y=y, color=color, shape=shape)
    layers = [parts]
    known, asked = points[: -len(episode.query_inputs)], points[-len(episode.query_inputs) :]
    if known.max() < asked.min():
        first = [{"x": float(axis.in_units(asked.min(keepdims=True))[0])}]
        layers.append(alt.Chart(alt.Data(values=first)).mark_rule(color=BLACK, strokeDash=[4, 3]).encode(x=x))
    chart = alt.layer(*layers).properties(width=WIDTH, height=220, title=f"Summands: {episode.name}")
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


def _axis(benchmark: Benchmark | None, episode: Episode, coordinate: int) -> Axis:
    return plain_axis(coordinate, episode.dimension) if benchmark is None else benchmark.axis(episode, coordinate)


def _horizontal(axis: Axis) -> alt.X:
    """The horizontal encoding of an axis."""
    scale = alt.Scale(zero=False, type="log") if axis.log else alt.Scale(zero=False)
    return alt.X("x:Q", title=axis.label, scale=scale, axis=alt.Axis(format="d") if axis.whole else alt.Axis())


def _is_path(episode: Episode, coordinate: int) -> bool:
    """Whether queries differ in one coordinate alone, so that a line through them means something."""
    others = np.delete(episode.query_inputs, coordinate, axis=1)
    return bool((np.ptp(others, axis=0) == 0.0).all())
