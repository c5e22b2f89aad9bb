"""Pictures that show everywhere: a PNG with alternative text, and for charts the live Vega-Lite form beside it.

A chart never carries HTML: in a notebook that is not trusted, HTML would hide it.  The picture is drawn here, without a browser and without a network.
"""

from __future__ import annotations

import base64
import html
import io
import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import vl_convert

from kernaut.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VEGALITE_MIME = "application/vnd.vegalite.v5+json"
SCALE = 2.0
"""Pixels of the PNG for each pixel on the page."""

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILLION, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
"""Okabe and Ito's colours, which colour-blind people tell apart."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture, with what it shows in words.

    Args:
        png: the PNG file's bytes, at :data:`SCALE`.
        alt: alternative text.
        spec: the Vega-Lite specification of a chart.
    """

    png: bytes
    alt: str
    spec: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return self.alt

    @property
    def size(self) -> tuple[int, int]:
        """Width and height on the page [px]."""
        width, height = struct.unpack(">II", self.png[16:24])
        return round(width / SCALE), round(height / SCALE)

    def html(self) -> str:
        """An ``img`` element that holds everything."""
        width, height = self.size
        data = base64.b64encode(self.png).decode("ascii")
        words = html.escape(self.alt, quote=True)
        return f'<img alt="{words}" width="{width}" height="{height}" src="data:image/png;base64,{data}">'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        data: dict[str, Any] = {"text/plain": self.alt, "image/png": base64.b64encode(self.png).decode("ascii")}
        if self.spec is not None:
            data[VEGALITE_MIME] = self.spec
        width, height = self.size
        return data, {"image/png": {"alt": self.alt, "width": width, "height": height}}

    def save(self, path: str | Path) -> Path:
        """Write it as ``.png``, or a chart as ``.svg`` or ``.json`` too.

        Raises:
            InputError: for another suffix.
        """
        file = Path(path)
        if file.suffix == ".png":
            file.write_bytes(self.png)
        elif file.suffix == ".svg" and self.spec is not None:
            file.write_text(vl_convert.vegalite_to_svg(json.dumps(self.spec)), encoding="utf-8")
        elif file.suffix == ".json" and self.spec is not None:
            file.write_text(json.dumps(self.spec, indent=2) + "\n", encoding="utf-8")
        else:
            kinds = ".png" if self.spec is None else ".png, .svg, .json"
            raise InputError(f"Expected a file name that ends in {kinds}. Got {file.name!r}.")
        return file


@dataclass(frozen=True, eq=False)
class Chart:
    """A live chart: its Vega-Lite specification, drawn by the front end; the PNG is made only where it is asked for, which takes a while.

    Args:
        spec: the Vega-Lite specification.
        alt: alternative text.
    """

    spec: dict[str, Any]
    alt: str

    def __repr__(self) -> str:
        return self.alt

    def picture(self) -> Picture:
        """The same with its PNG."""
        png: bytes = vl_convert.vegalite_to_png(json.dumps(self.spec), scale=SCALE)
        return Picture(png, self.alt, self.spec)

    def html(self) -> str:
        """The picture as an ``img`` element."""
        return self.picture().html()

    def live(self) -> dict[str, Any]:
        """What a front end that draws charts is sent: specification and words."""
        return {VEGALITE_MIME: self.spec, "text/plain": self.alt}

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return self.picture()._repr_mimebundle_(include, exclude)


def live_chart(chart: Any, alt: str, data: dict[str, list[dict[str, Any]]] | None = None) -> Chart:
    """An Altair chart for front ends that draw it themselves; see :func:`chart_picture` for one with its PNG.

    Args:
        chart: any Altair chart of at most some thousand points.
        alt: alternative text.
        data: rows of the chart's named data; Altair would check each row against its schema, which takes seconds for some hundred.
    """
    spec: dict[str, Any] = chart.properties(description=alt).to_dict()
    return Chart(spec | {"datasets": {**spec.get("datasets", {}), **data}} if data else spec, alt)


def chart_picture(chart: Any, alt: str) -> Picture:
    """An Altair chart as a picture.

    Args:
        chart: any Altair chart of at most some thousand points.
        alt: alternative text; it becomes the chart's description, which screen readers read.
    """
    described = chart.properties(description=alt)
    return Picture(chart_png(described), alt, described.to_dict())


def chart_png(chart: Any) -> bytes:
    """An Altair chart drawn to PNG."""
    drawn: bytes = vl_convert.vegalite_to_png(json.dumps(chart.to_dict()), scale=SCALE)
    return drawn


def figure_picture(figure: Figure, alt: str) -> Picture:
    """A matplotlib figure as a picture; the figure belongs to no global state and needs no closing.

    Args:
        figure: made by :class:`matplotlib.figure.Figure`, not by pyplot.
        alt: alternative text.
    """
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=72 * SCALE, metadata={"Software": None})
    return Picture(stream.getvalue(), alt)
