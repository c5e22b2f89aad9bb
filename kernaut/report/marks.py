"""What :mod:`kernaut.report.drawing` is drawn with: axes, ticks, legends and marks as SVG elements, in pixels of the page."""

from __future__ import annotations

import base64
import html
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.image import imsave
from numpy.typing import NDArray

Array = NDArray[np.float64]

TICKS = 5
Z95 = 1.959964
"""Half the width of a central 95 % interval, in standard deviations."""
SHAPES: dict[str, tuple[tuple[float, float], ...]] = {
    "circle": (),
    "square": ((-0.8, -0.8), (0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)),
    "triangle": ((0.0, -1.0), (1.0, 0.8), (-1.0, 0.8)),
    "diamond": ((0.0, -1.1), (1.1, 0.0), (0.0, 1.1), (-1.1, 0.0)),
}
"""Corners of the marks of points, for a size of 1."""
TITLE = 16
"""Where the foot of a title is [px]."""
LEGEND = 16
"""Height of a legend's row [px]."""
TEXT = 'font-family="sans-serif" font-size="11" fill="#222222"'


@dataclass(frozen=True)
class Frame:
    """Where a panel's axes are on the page, and what they span."""

    left: float
    top: float
    width: float
    height: float
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    log: bool

    def x(self, values: Any) -> Any:
        """Pixels of horizontal data."""
        low, high = self.x_range
        return self.left + (np.clip(np.asarray(values, float), -1e12, 1e12) - low) / (high - low) * self.width

    def y(self, values: Any) -> Any:
        """Pixels of vertical data."""
        low, high = self.y_range
        values = np.clip(np.asarray(values, float), 1e-300 if self.log else -1e12, 1e12)
        if self.log:
            values, low, high = np.log10(values), math.log10(low), math.log10(high)
        return self.top + self.height - (values - low) / (high - low) * self.height


def padded(values: Array, share: float) -> tuple[float, float]:
    """The range of some values, wider by a share of it at both ends."""
    if not len(values):
        return (0.0, 1.0)
    low, high = float(values.min()), float(values.max())
    if low == high:
        return (low - 0.5 - abs(low) * 0.1, high + 0.5 + abs(high) * 0.1) if low <= 0 else (low * 0.5, high * 1.5)
    return low - share * (high - low), high + share * (high - low)


def ticks(low: float, high: float, count: int = TICKS, *, whole: bool = False) -> list[float]:
    """Round numbers within a range, at most about twice ``count``; only whole ones where things are counted."""
    low, high = min(low, high), max(low, high)
    step = 10.0 ** math.floor(math.log10((high - low) / count))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= count)
    step = max(step, 1.0) if whole else step
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def decades(low: float, high: float) -> list[float]:
    """Powers of ten within a range."""
    places = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
    return [10.0**place for place in places] or [low, high]


def _text(x: float, y: float, words: str, anchor: str = "middle", extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {TEXT} {extra}>{html.escape(words)}</text>'


def axes(frame: Frame, panel: Any) -> str:
    """Box, ticks, labels and title of a panel."""
    bottom, middle = frame.top + frame.height, frame.top + frame.height / 2
    box = f'x="{frame.left:.1f}" y="{frame.top}" width="{frame.width:.1f}" height="{frame.height:.1f}"'
    parts = [f'<rect {box} fill="none" stroke="#888888"/>']
    for number, name in enumerate(panel.columns):
        parts.append(_text(float(frame.x(number)), bottom + 16, name))
    for value in [] if panel.columns else ticks(*frame.x_range, whole=panel.whole):
        place = float(frame.x(value))
        parts.append(f'<line x1="{place:.1f}" y1="{bottom}" x2="{place:.1f}" y2="{bottom + 4}" stroke="#888888"/>')
        parts.append(_text(place, bottom + 16, f"{value:.6g}"))
    if panel.categories:
        for place, name in enumerate(panel.categories):
            parts.append(_text(frame.left - 6, float(frame.y(place)) + 4, name, "end"))
    else:
        for value in decades(*frame.y_range) if frame.log else ticks(*frame.y_range):
            place = float(frame.y(value))
            line = f'x1="{frame.left - 4:.1f}" y1="{place:.1f}" x2="{frame.left:.1f}" y2="{place:.1f}"'
            parts.append(f'<line {line} stroke="#888888"/>' + _text(frame.left - 6, place + 4, f"{value:.6g}", "end"))
    turn = f'transform="rotate(-90 {frame.left - 44:.1f} {middle:.1f})"'
    parts.append(_text(frame.left - 44, middle, panel.y, extra=turn) if panel.y else "")
    parts.append(_text(frame.left + frame.width / 2, bottom + 33, panel.x))
    parts.append(_text(frame.left, TITLE, panel.title, "start", 'font-weight="bold"') if panel.title else "")
    return "".join(parts)


def _path(frame: Frame, x: Any, y: Any) -> str:
    xs, ys = frame.x(x), np.clip(frame.y(y), frame.top - 1e4, frame.top + 1e4)
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(xs, ys, strict=True) if math.isfinite(b))


def _line(frame: Frame, mark: dict[str, Any]) -> str:
    dash = f' stroke-dasharray="{mark["dash"]}"' if mark["dash"] else ""
    points = _path(frame, mark["x"], mark["y"])
    return f'<polyline points="{points}" fill="none" stroke="{mark["colour"]}" stroke-width="{mark["size"]}"{dash}/>'


def _band(frame: Frame, mark: dict[str, Any]) -> str:
    there, back = _path(frame, mark["x"], mark["y"]), _path(frame, mark["x"][::-1], mark["high"][::-1])
    return f'<polygon points="{there} {back}" fill="{mark["colour"]}" fill-opacity="0.2"/>'


def _points(frame: Frame, mark: dict[str, Any]) -> str:
    places = zip(frame.x(mark["x"]), frame.y(mark["y"]), strict=True)
    return "".join(_point(a, b, mark, mark["size"]) for a, b in places if math.isfinite(b))


def _point(x: float, y: float, mark: dict[str, Any], size: float) -> str:
    fill = "white" if mark["hollow"] else mark["colour"]
    style = f'fill="{fill}" stroke="{mark["colour"]}" stroke-width="1.2"'
    if mark["shape"] == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" {style}/>'
    corners = " ".join(f"{x + 1.25 * size * a:.1f},{y + 1.25 * size * b:.1f}" for a, b in SHAPES[mark["shape"]])
    return f'<polygon points="{corners}" {style}/>'


def _cross(frame: Frame, mark: dict[str, Any]) -> str:
    x, y = float(frame.x(mark["x"])[0]), float(frame.y(mark["y"])[0])
    return f'<path d="M {x - 7:.1f} {y:.1f} h 14 M {x:.1f} {y - 7:.1f} v 14" stroke="black" stroke-width="2"/>'


def _rule(frame: Frame, mark: dict[str, Any]) -> str:
    x, y = mark["at"]
    place = float(frame.x(x) - frame.left) if x is not None else float(frame.y(y) - frame.top)
    if not 0.0 <= place <= (frame.width if x is not None else frame.height):
        return ""
    if x is not None:
        place, end = float(frame.x(x)), frame.top + frame.height
        return f'<line x1="{place:.1f}" y1="{frame.top}" x2="{place:.1f}" y2="{end}" stroke="#aaaaaa"/>'
    place, end = float(frame.y(y)), frame.left + frame.width
    return f'<line x1="{frame.left}" y1="{place:.1f}" x2="{end}" y2="{place:.1f}" stroke="#aaaaaa"/>'


def _bars(frame: Frame, mark: dict[str, Any]) -> str:
    parts = []
    for place, (base, value) in enumerate(zip(mark["base"], mark["x"][1:], strict=True)):
        start, end, middle = float(frame.x(base)), float(frame.x(value)), float(frame.y(place))
        size = f'x="{min(start, end):.1f}" y="{middle - 7:.1f}" width="{abs(end - start):.1f}" height="14"'
        parts.append(f'<rect {size} fill="{mark["colour"]}" stroke="black" stroke-width="0.5"/>')
    return "".join(parts)


def _spans(frame: Frame, mark: dict[str, Any]) -> str:
    parts = []
    for low, high, place in zip(mark["low"], mark["x"], mark["y"], strict=True):
        y, ends = float(frame.y(place)), (float(frame.x(low)), float(frame.x(high)))
        parts.append(
            f'<path d="M {ends[0]:.1f} {y - 4:.1f} v 8 m 0 -4 H {ends[1]:.1f} m 0 -4 v 8" fill="none" stroke="black" stroke-width="1.2"/>'
        )
    return "".join(parts)


def _cells(frame: Frame, mark: dict[str, Any]) -> str:
    low, high = mark["range"]
    width, height = float(frame.x(1) - frame.x(0)), float(frame.y(1) - frame.y(0))
    parts = []
    for row, values in enumerate(mark["values"]):
        for column, value in enumerate(values):
            if value is None:
                continue
            red, green, blue, _ = colormaps[mark["colours"]]((value - low) / ((high - low) or 1.0), bytes=True)
            ink = "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 130 else "#ffffff"
            x, y = float(frame.x(column)), float(frame.y(row))
            size = f'x="{x - width / 2 + 1:.1f}" y="{y - height / 2 + 1:.1f}" width="{width - 2:.1f}" height="{height - 2:.1f}"'
            parts.append(f'<rect {size} fill="rgb({red},{green},{blue})"/>')
            parts.append(_text(x, y + 4, f"{value:.3f}").replace("#222222", ink))
    return "".join(parts)


def _map(frame: Frame, mark: dict[str, Any]) -> str:
    low, high = mark["range"]
    shades = colormaps[mark["colours"]](np.clip((mark["values"] - low) / ((high - low) or 1.0), 0.0, 1.0), bytes=True)
    return _image(frame.left, frame.top, frame.width, frame.height, shades, smooth=mark["smooth"])


def _scale(frame: Frame, mark: dict[str, Any]) -> str:
    left, (low, high) = frame.left + frame.width + 8, mark["range"]
    shades = colormaps[mark["colours"]](np.linspace(1.0, 0.0, 64)[:, None], bytes=True)
    parts = [_image(left, frame.top, 10, frame.height, shades, smooth=True)]
    for value in ticks(low, high) if high > low else [low]:
        share = (value - low) / ((high - low) or 1.0)
        parts.append(_text(left + 13, frame.top + frame.height * (1 - share) + 4, f"{value:.3g}", "start"))
    return "".join(parts)


def _image(left: float, top: float, width: float, height: float, shades: Any, *, smooth: bool) -> str:
    stream = io.BytesIO()
    imsave(stream, shades, format="png")
    data = base64.b64encode(stream.getvalue()).decode("ascii")
    place = f'x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" preserveAspectRatio="none"'
    rendering = "" if smooth else ' style="image-rendering: pixelated"'
    return f'<image {place}{rendering} xlink:href="data:image/png;base64,{data}"/>'


def legend_rows(marks: Sequence[dict[str, Any]], width: float) -> list[list[dict[str, Any]]]:
    """Marks with a label, each label once, in rows that are no wider than the axes."""
    named = {mark["label"]: mark for mark in marks if mark.get("label")}
    rows: list[list[dict[str, Any]]] = []
    room = 0.0
    for mark in named.values():
        wanted = _legend_width(mark)
        if not rows or wanted > room:
            rows.append([])
            room = width
        rows[-1].append(mark)
        room -= wanted
    return rows


def legend(frame: Frame, rows: Sequence[Sequence[dict[str, Any]]]) -> str:
    """The rows above the axes, where they hide nothing."""
    parts = []
    for number, row in enumerate(rows):
        left, y = frame.left, frame.top - LEGEND * (len(rows) - number) + 9
        for mark in row:
            if mark["kind"] == "points":
                parts.append(_point(left + 11, y - 4, mark, 3.5))
            elif mark["kind"] == "bars":
                parts.append(
                    f'<rect x="{left + 4:.1f}" y="{y - 9}" width="14" height="10" fill="{mark["colour"]}" stroke="black" stroke-width="0.5"/>'
                )
            else:
                dash = f'stroke-dasharray="{mark["dash"]}"' if mark["dash"] else ""
                line = f'x1="{left:.1f}" y1="{y - 4}" x2="{left + 22:.1f}" y2="{y - 4}"'
                parts.append(f'<line {line} stroke="{mark["colour"]}" stroke-width="1.8" {dash}/>')
            parts.append(_text(left + 26, y, mark["label"], "start"))
            left += _legend_width(mark)
    return "".join(parts)


def _legend_width(mark: dict[str, Any]) -> float:
    return 42.0 + 6.2 * len(mark["label"])


MARKS = {
    "line": _line,
    "band": _band,
    "points": _points,
    "cross": _cross,
    "rule": _rule,
    "bars": _bars,
    "spans": _spans,
    "cells": _cells,
    "map": _map,
    "scale": _scale,
}
