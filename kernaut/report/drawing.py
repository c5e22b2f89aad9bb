"""Small line drawings as SVG, made in a millisecond: what a picture that follows a slider needs, and matplotlib does not give.

A :class:`Panel` collects lines, bands, points, bars and maps in data coordinates; :func:`drawing` puts panels side by side.  Colours are those of
:mod:`kernaut.report.picture`; colour is never the only cue.  For anything larger use Altair or matplotlib.
"""

from __future__ import annotations

import base64
import html
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import vl_convert
from matplotlib import colormaps
from matplotlib.image import imsave
from numpy.typing import NDArray

from kernaut.errors import InputError
from kernaut.report.picture import BLACK, BLUE, GREEN, ORANGE, PURPLE, SCALE, VERMILLION, Picture

Array = NDArray[np.float64]

STYLES: tuple[tuple[str, str], ...] = (
    (BLUE, ""),
    (VERMILLION, "7 4"),
    (GREEN, "8 3 2 3"),
    (ORANGE, "2 3"),
    (PURPLE, "12 4"),
    (BLACK, "4 2"),
)
"""Colour and dash pattern of the first, second, ... line."""
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 24, 42
TICKS = 5
TEXT = 'font-family="sans-serif" font-size="11" fill="#222222"'


@dataclass(frozen=True)
class Drawing:
    """An SVG picture, with what it shows in words.

    Args:
        svg: the SVG document.
        alt: alternative text.
        width: on the page [px].
        height: likewise.
    """

    svg: str
    alt: str
    width: int
    height: int

    def __repr__(self) -> str:
        return self.alt

    def html(self) -> str:
        """An ``img`` element that holds everything."""
        data = base64.b64encode(self.svg.encode("utf-8")).decode("ascii")
        words = html.escape(self.alt, quote=True)
        size = f'width="{self.width}" height="{self.height}"'
        return (
            f'<img alt="{words}" {size} style="max-width: 100%; height: auto" src="data:image/svg+xml;base64,{data}">'
        )

    def picture(self) -> Picture:
        """The same as PNG."""
        png: bytes = vl_convert.svg_to_png(self.svg, scale=SCALE)
        return Picture(png, self.alt)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return self.picture()._repr_mimebundle_(include, exclude)

    def save(self, path: str | Path) -> Path:
        """Write it as ``.svg`` or ``.png``.

        Raises:
            InputError: for another suffix.
        """
        file = Path(path)
        if file.suffix == ".svg":
            file.write_text(self.svg, encoding="utf-8")
            return file
        if file.suffix == ".png":
            return self.picture().save(file)
        raise InputError(f"Expected a file name that ends in .svg or .png. Got {file.name!r}.")


@dataclass
class Panel:
    """One pair of axes.

    Args:
        x: label of the horizontal axis.
        y: label of the vertical axis.
        title: above it.
        width: of the whole panel [px].
        height: likewise.
        x_range: of the horizontal axis; of the data if absent.
        y_range: of the vertical axis; of the data, with a margin, if absent.
        log_y: a logarithmic vertical axis.
        categories: names along the vertical axis, from top to bottom, at 0, 1, 2, ...
    """

    x: str = ""
    y: str = ""
    title: str = ""
    width: int = 420
    height: int = 260
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    log_y: bool = False
    categories: tuple[str, ...] = ()
    _marks: list[dict[str, Any]] = field(default_factory=list)

    def line(self, x: Any, y: Any, style: int = 0, label: str = "", *, width: float = 1.8, colour: str = "") -> None:
        """A line in the colour and dash of :data:`STYLES`."""
        own, dash = STYLES[style % len(STYLES)]
        self._add("line", x, y, colour=colour or own, dash=dash, label=label, size=width)

    def step(self, x: Any, y: Any, label: str = "") -> None:
        """A line that keeps its value until the next point."""
        first, second = np.repeat(np.asarray(x, float), 2)[1:], np.repeat(np.asarray(y, float), 2)[:-1]
        self._add("line", first, second, colour=BLACK, dash="", label=label, size=1.5)

    def band(self, x: Any, low: Any, high: Any, style: int = 0) -> None:
        """A filled band between two lines."""
        self._add("band", x, low, high=np.asarray(high, float), colour=STYLES[style % len(STYLES)][0])

    def points(
        self, x: Any, y: Any, style: int = 0, label: str = "", *, size: float = 3.5, hollow: bool = False
    ) -> None:
        """Round marks, filled or hollow."""
        colour = STYLES[style % len(STYLES)][0]
        self._add("points", x, y, colour=colour, label=label, size=size, hollow=hollow)

    def cross(self, x: float, y: float) -> None:
        """A black cross."""
        self._add("cross", [x], [y])

    def rule(self, *, x: float | None = None, y: float | None = None) -> None:
        """A thin grey line across, which does not widen the axes."""
        self._marks.append({"kind": "rule", "at": (x, y)})

    def bars(self, values: Sequence[float], style: int = 3) -> None:
        """Horizontal bars, one for each of ``categories``."""
        self._add("bars", [0.0, *values], [0.0] * (len(values) + 1), colour=STYLES[style % len(STYLES)][0])

    def map(self, values: Array, colours: str, low: float, high: float, *, smooth: bool = False) -> None:
        """A map of ``rows x columns`` values, the first row at the top, over the panel's ranges."""
        self._marks.append(
            {"kind": "map", "values": values, "colours": colours, "range": (low, high), "smooth": smooth}
        )
        self._marks.append({"kind": "scale", "colours": colours, "range": (low, high)})

    def svg(self, offset: int) -> str:
        """The panel as SVG elements, ``offset`` pixels to the right."""
        right = RIGHT + (52 if any(mark["kind"] == "scale" for mark in self._marks) else 0)
        left = 200 if self.categories else LEFT
        frame = _Frame(
            left + offset, TOP, self.width - left - right, self.height - TOP - BOTTOM, *self._ranges(), self.log_y
        )
        parts = [_axes(frame, self)]
        parts += [_MARKS[mark["kind"]](frame, mark) for mark in self._marks]
        parts.append(_legend(frame, self._marks))
        return "".join(parts)

    def _add(self, kind: str, x: Any, y: Any, **options: Any) -> None:
        mark = {"kind": kind, "x": np.asarray(x, float).ravel(), "y": np.asarray(y, float).ravel(), **options}
        self._marks.append(mark)

    def _ranges(self) -> tuple[tuple[float, float], tuple[float, float]]:
        data = [mark for mark in self._marks if "x" in mark]
        xs = np.concatenate([mark["x"] for mark in data]) if data else np.array([0.0, 1.0])
        ys = [mark[key] for mark in data for key in ("y", "high") if key in mark]
        y = np.concatenate(ys) if ys else np.array([0.0, 1.0])
        y = y[np.isfinite(y) & ((y > 0.0) | (not self.log_y))]
        if self.categories:
            vertical = (len(self.categories) - 0.5, -0.5)
        else:
            vertical = self.y_range or _padded(y, 0.0 if self.log_y else 0.06)
        return self.x_range or _padded(xs[np.isfinite(xs)], 0.0), vertical


def drawing(panels: Sequence[Panel], alt: str) -> Drawing:
    """Panels side by side.

    Args:
        panels: at least one.
        alt: alternative text.
    """
    width, height = sum(panel.width for panel in panels), max(panel.height for panel in panels)
    offsets = np.cumsum([0, *(panel.width for panel in panels)])[:-1]
    inner = "".join(panel.svg(int(offset)) for panel, offset in zip(panels, offsets, strict=True))
    label = html.escape(alt, quote=True)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{width}" height="{height}"'
    ground = f'<rect width="{width}" height="{height}" fill="white"/>'
    return Drawing(
        f'{head} viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{ground}{inner}</svg>',
        alt,
        width,
        height,
    )


@dataclass(frozen=True)
class _Frame:
    """Where a panel's axes are on the page, and what they span."""

    left: float
    top: float
    width: float
    height: float
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    log: bool

    def x(self, values: Any) -> Any:
        low, high = self.x_range
        return self.left + (np.clip(np.asarray(values, float), -1e12, 1e12) - low) / (high - low) * self.width

    def y(self, values: Any) -> Any:
        low, high = self.y_range
        values = np.clip(np.asarray(values, float), 1e-300 if self.log else -1e12, 1e12)
        if self.log:
            values, low, high = np.log10(values), math.log10(low), math.log10(high)
        return self.top + self.height - (values - low) / (high - low) * self.height


def _padded(values: Array, share: float) -> tuple[float, float]:
    if not len(values):
        return (0.0, 1.0)
    low, high = float(values.min()), float(values.max())
    if low == high:
        return (low - 0.5 - abs(low) * 0.1, high + 0.5 + abs(high) * 0.1) if low <= 0 else (low * 0.5, high * 1.5)
    return low - share * (high - low), high + share * (high - low)


def ticks(low: float, high: float, count: int = TICKS) -> list[float]:
    """Round numbers within a range, at most about twice ``count``."""
    low, high = min(low, high), max(low, high)
    step = 10.0 ** math.floor(math.log10((high - low) / count))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= count)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _decades(low: float, high: float) -> list[float]:
    places = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
    return [10.0**place for place in places] or [low, high]


def _text(x: float, y: float, words: str, anchor: str = "middle", extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {TEXT} {extra}>{html.escape(words)}</text>'


def _axes(frame: _Frame, panel: Panel) -> str:
    bottom, middle = frame.top + frame.height, frame.top + frame.height / 2
    box = f'x="{frame.left:.1f}" y="{frame.top}" width="{frame.width:.1f}" height="{frame.height:.1f}"'
    parts = [f'<rect {box} fill="none" stroke="#888888"/>']
    for value in ticks(*frame.x_range):
        place = float(frame.x(value))
        parts.append(f'<line x1="{place:.1f}" y1="{bottom}" x2="{place:.1f}" y2="{bottom + 4}" stroke="#888888"/>')
        parts.append(_text(place, bottom + 16, f"{value:.6g}"))
    if panel.categories:
        for place, name in enumerate(panel.categories):
            parts.append(_text(frame.left - 6, float(frame.y(place)) + 4, name, "end"))
    else:
        for value in _decades(*frame.y_range) if frame.log else ticks(*frame.y_range):
            place = float(frame.y(value))
            line = f'x1="{frame.left - 4:.1f}" y1="{place:.1f}" x2="{frame.left:.1f}" y2="{place:.1f}"'
            parts.append(f'<line {line} stroke="#888888"/>' + _text(frame.left - 6, place + 4, f"{value:.6g}", "end"))
    turn = f'transform="rotate(-90 {frame.left - 44:.1f} {middle:.1f})"'
    parts.append(_text(frame.left - 44, middle, panel.y, extra=turn) if panel.y else "")
    parts.append(_text(frame.left + frame.width / 2, bottom + 33, panel.x))
    parts.append(_text(frame.left, frame.top - 8, panel.title, "start", 'font-weight="bold"') if panel.title else "")
    return "".join(parts)


def _path(frame: _Frame, x: Any, y: Any) -> str:
    xs, ys = frame.x(x), np.clip(frame.y(y), frame.top - 1e4, frame.top + 1e4)
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(xs, ys, strict=True) if math.isfinite(b))


def _line(frame: _Frame, mark: dict[str, Any]) -> str:
    dash = f' stroke-dasharray="{mark["dash"]}"' if mark["dash"] else ""
    points = _path(frame, mark["x"], mark["y"])
    return f'<polyline points="{points}" fill="none" stroke="{mark["colour"]}" stroke-width="{mark["size"]}"{dash}/>'


def _band(frame: _Frame, mark: dict[str, Any]) -> str:
    there, back = _path(frame, mark["x"], mark["y"]), _path(frame, mark["x"][::-1], mark["high"][::-1])
    return f'<polygon points="{there} {back}" fill="{mark["colour"]}" fill-opacity="0.2"/>'


def _points(frame: _Frame, mark: dict[str, Any]) -> str:
    fill = "white" if mark["hollow"] else mark["colour"]
    style = f'r="{mark["size"]}" fill="{fill}" stroke="{mark["colour"]}" stroke-width="1.2"'
    places = zip(frame.x(mark["x"]), frame.y(mark["y"]), strict=True)
    return "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" {style}/>' for a, b in places if math.isfinite(b))


def _cross(frame: _Frame, mark: dict[str, Any]) -> str:
    x, y = float(frame.x(mark["x"])[0]), float(frame.y(mark["y"])[0])
    return f'<path d="M {x - 7:.1f} {y:.1f} h 14 M {x:.1f} {y - 7:.1f} v 14" stroke="black" stroke-width="2"/>'


def _rule(frame: _Frame, mark: dict[str, Any]) -> str:
    x, y = mark["at"]
    if x is not None:
        place, end = float(frame.x(x)), frame.top + frame.height
        return f'<line x1="{place:.1f}" y1="{frame.top}" x2="{place:.1f}" y2="{end}" stroke="#aaaaaa"/>'
    place, end = float(frame.y(y)), frame.left + frame.width
    return f'<line x1="{frame.left}" y1="{place:.1f}" x2="{end}" y2="{place:.1f}" stroke="#aaaaaa"/>'


def _bars(frame: _Frame, mark: dict[str, Any]) -> str:
    start, parts = float(frame.x(0.0)), []
    for place, value in enumerate(mark["x"][1:]):
        end, middle = float(frame.x(value)), float(frame.y(place))
        size = f'x="{min(start, end):.1f}" y="{middle - 7:.1f}" width="{abs(end - start):.1f}" height="14"'
        parts.append(f'<rect {size} fill="{mark["colour"]}" stroke="black" stroke-width="0.5"/>')
    return "".join(parts)


def _map(frame: _Frame, mark: dict[str, Any]) -> str:
    low, high = mark["range"]
    shades = colormaps[mark["colours"]](np.clip((mark["values"] - low) / ((high - low) or 1.0), 0.0, 1.0), bytes=True)
    return _image(frame.left, frame.top, frame.width, frame.height, shades, smooth=mark["smooth"])


def _scale(frame: _Frame, mark: dict[str, Any]) -> str:
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


def _legend(frame: _Frame, marks: Sequence[dict[str, Any]]) -> str:
    named = [mark for mark in marks if mark.get("label")]
    if not named:
        return ""
    width = 30 + 6.2 * max(len(mark["label"]) for mark in named)
    left = frame.left + frame.width - width - 6
    box = f'x="{left:.1f}" y="{frame.top + 4}" width="{width:.1f}" height="{15 * len(named) + 6}"'
    parts = [f'<rect {box} fill="white" fill-opacity="0.85" stroke="#cccccc"/>']
    for place, mark in enumerate(named):
        y = frame.top + 16 + 15 * place
        if mark["kind"] == "points":
            fill = "white" if mark["hollow"] else mark["colour"]
            parts.append(f'<circle cx="{left + 13:.1f}" cy="{y - 4}" r="3.5" fill="{fill}" stroke="{mark["colour"]}"/>')
        else:
            dash = f'stroke-dasharray="{mark["dash"]}"' if mark["dash"] else ""
            line = f'x1="{left + 4:.1f}" y1="{y - 4}" x2="{left + 22:.1f}" y2="{y - 4}"'
            parts.append(f'<line {line} stroke="{mark["colour"]}" stroke-width="1.8" {dash}/>')
        parts.append(_text(left + 26, y, mark["label"], "start"))
    return "".join(parts)


_MARKS = {
    "line": _line,
    "band": _band,
    "points": _points,
    "cross": _cross,
    "rule": _rule,
    "bars": _bars,
    "map": _map,
    "scale": _scale,
}
