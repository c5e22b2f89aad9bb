"""Small line drawings as SVG, made in a millisecond: what a picture that follows a slider needs, and matplotlib does not give.

A :class:`Panel` collects lines, bands, points, bars and maps in data coordinates; :func:`drawing` puts panels side by side.  Colours are those of
:mod:`kernaut.report.picture`; colour is never the only cue.  For anything larger use Altair or matplotlib.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import vl_convert
from numpy.typing import NDArray

from kernaut.errors import InputError
from kernaut.report.marks import LEGEND, MARKS, Frame, axes, legend, legend_rows, padded
from kernaut.report.picture import BLACK, BLUE, GREEN, ORANGE, PURPLE, SCALE, SKY, VERMILLION, Picture

Array = NDArray[np.float64]

STYLES: tuple[tuple[str, str], ...] = (
    (BLUE, ""),
    (VERMILLION, "7 4"),
    (GREEN, "8 3 2 3"),
    (ORANGE, "2 3"),
    (PURPLE, "12 4"),
    (BLACK, "4 2"),
    (SKY, "1 4 6 4"),
    ("#666666", "10 2 2 2 2 2"),
)
"""Colour and dash pattern of the first, second, ... line."""
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 24, 42


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
        columns: names along the horizontal axis, at 0, 1, 2, ...
        whole: the horizontal axis counts, and is marked at whole numbers only.
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
    columns: tuple[str, ...] = ()
    whole: bool = False
    _marks: list[dict[str, Any]] = field(default_factory=list)

    def line(self, x: Any, y: Any, style: int = 0, label: str = "", *, width: float = 1.8, colour: str = "") -> None:
        """A line in the colour and dash of :data:`STYLES`; a solid one where the colour is given."""
        own, dash = STYLES[style % len(STYLES)]
        dash = "" if colour else dash
        self._add("line", x, y, colour=colour or own, dash=dash, label=label, size=width)

    def step(self, x: Any, y: Any, label: str = "") -> None:
        """A line that keeps its value until the next point."""
        first, second = np.repeat(np.asarray(x, float), 2)[1:], np.repeat(np.asarray(y, float), 2)[:-1]
        self._add("line", first, second, colour=BLACK, dash="", label=label, size=1.5)

    def band(self, x: Any, low: Any, high: Any, style: int = 0) -> None:
        """A filled band between two lines."""
        self._add("band", x, low, high=np.asarray(high, float), colour=STYLES[style % len(STYLES)][0])

    def points(
        self,
        x: Any,
        y: Any,
        style: int = 0,
        label: str = "",
        *,
        size: float = 3.5,
        hollow: bool = False,
        shape: str = "circle",
    ) -> None:
        """Marks of a shape of :data:`kernaut.report.marks.SHAPES`, filled or hollow."""
        colour = STYLES[style % len(STYLES)][0]
        self._add("points", x, y, colour=colour, label=label, size=size, hollow=hollow, shape=shape)

    def cross(self, x: float, y: float) -> None:
        """A black cross."""
        self._add("cross", [x], [y])

    def rule(self, *, x: float | None = None, y: float | None = None) -> None:
        """A thin grey line across, which does not widen the axes."""
        self._marks.append({"kind": "rule", "at": (x, y)})

    def bars(self, values: Sequence[float], style: int = 3, label: str = "", *, base: Sequence[float] = ()) -> None:
        """Horizontal bars up to ``values``, one for each of ``categories``, from zero or from where others end."""
        colour = STYLES[style % len(STYLES)][0]
        starts = [*base] or [0.0] * len(values)
        self._add("bars", [0.0, *values], [0.0] * (len(values) + 1), base=starts, colour=colour, label=label)

    def spans(self, low: Any, high: Any, places: Any) -> None:
        """Horizontal intervals with small ends, such as confidence intervals of ``categories``."""
        self._add("spans", high, places, low=np.asarray(low, float).ravel())

    def map(self, values: Array, colours: str, low: float, high: float, *, smooth: bool = False) -> None:
        """A map of ``rows x columns`` values, the first row at the top, over the panel's ranges."""
        self._marks.append(
            {"kind": "map", "values": values, "colours": colours, "range": (low, high), "smooth": smooth}
        )
        self._marks.append({"kind": "scale", "colours": colours, "range": (low, high)})

    def cells(self, values: Sequence[Sequence[float | None]], colours: str, low: float, high: float) -> None:
        """Coloured cells with their numbers, ``categories x columns``; None leaves a cell empty."""
        self._marks.append({"kind": "cells", "values": values, "colours": colours, "range": (low, high)})

    def svg(self, offset: int) -> str:
        """The panel as SVG elements, ``offset`` pixels to the right."""
        right = RIGHT + (52 if any(mark["kind"] == "scale" for mark in self._marks) else 0)
        left = min(260, 16 + round(6.3 * max(map(len, self.categories)))) if self.categories else LEFT
        rows = legend_rows(self._marks, self.width - left - right)
        top = TOP + LEGEND * len(rows)
        frame = Frame(
            left + offset, top, self.width - left - right, self.height - top - BOTTOM, *self._ranges(), self.log_y
        )
        parts = [axes(frame, self)]
        parts += [MARKS[mark["kind"]](frame, mark) for mark in self._marks]
        parts.append(legend(frame, rows))
        return "".join(parts)

    def _add(self, kind: str, x: Any, y: Any, **options: Any) -> None:
        mark = {"kind": kind, "x": np.asarray(x, float).ravel(), "y": np.asarray(y, float).ravel(), **options}
        self._marks.append(mark)

    def _ranges(self) -> tuple[tuple[float, float], tuple[float, float]]:
        data = [mark for mark in self._marks if "x" in mark]
        values = [mark[key] for mark in data for key in ("x", "low") if key in mark]
        xs = np.concatenate(values) if values else np.array([0.0, 1.0])
        ys = [mark[key] for mark in data for key in ("y", "high") if key in mark]
        y = np.concatenate(ys) if ys else np.array([0.0, 1.0])
        y = y[np.isfinite(y) & ((y > 0.0) | (not self.log_y))]
        if self.categories:
            vertical = (len(self.categories) - 0.5, -0.5)
        else:
            vertical = self.y_range or padded(y, 0.0 if self.log_y else 0.06)
        if self.columns:
            return (-0.5, len(self.columns) - 0.5), vertical
        loose = {mark["kind"] for mark in data} == {"points"}
        return self.x_range or padded(xs[np.isfinite(xs)], 0.03 if loose else 0.0), vertical


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
