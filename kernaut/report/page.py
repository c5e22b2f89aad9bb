"""Several pictures, tables and lines of text as one output: what a widget leaves where nobody is there to run it.

It carries HTML with every picture inside, and plain text; never a chart beside HTML, which would hide it.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from kernaut.report.drawing import Drawing
from kernaut.report.picture import Chart, Picture
from kernaut.report.table import aligned, cell

CELL = "text-align:left;vertical-align:top;padding:2px 12px 2px 0;border-bottom:1px solid #dddddd"


SHORT = 80
"""Letters of a caption that stays on one line, however narrow its table."""


@dataclass(frozen=True)
class Table:
    """A table.

    Args:
        columns: ``k`` headings.
        rows: each of ``k`` cells.
        caption: a line above it.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    caption: str = ""

    def __repr__(self) -> str:
        text = aligned(self.columns, self.rows)
        return f"{self.caption}\n{text}" if self.caption else text

    def html(self) -> str:
        """A ``table`` element, every cell escaped."""
        head = "".join(f'<th scope="col" style="{CELL}">{html.escape(name)}</th>' for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f'<td style="{CELL}">{html.escape(cell(value))}</td>' for value in row) + "</tr>"
            for row in self.rows
        )
        kept = ";white-space:nowrap" if len(self.caption) <= SHORT else ""
        style = f"text-align:left;caption-side:top;padding:8px 0 2px{kept}"
        caption = f'<caption style="{style}">{html.escape(self.caption)}</caption>' if self.caption else ""
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True)
class Note:
    """A line of text."""

    text: str

    def __repr__(self) -> str:
        return self.text

    def html(self) -> str:
        """A paragraph."""
        return f"<p>{html.escape(self.text)}</p>"


@dataclass(frozen=True)
class Source:
    """A text of several lines, such as a program's source or a difference of two."""

    text: str

    def __repr__(self) -> str:
        return self.text

    def html(self) -> str:
        """A ``pre`` element, the lines of a difference marked by sign and colour."""
        lines = []
        for line in self.text.splitlines():
            shade = {"+": "#dfeffb", "-": "#fbe5d6"}.get(line[:1], "") if not line.startswith(("+++", "---")) else ""
            style = f' style="background:{shade}"' if shade else ""
            lines.append(f"<span{style}>{html.escape(line)}</span>")
        return (
            '<pre style="font-family:monospace;line-height:1.35;white-space:pre-wrap;overflow-wrap:anywhere;color:#111111;background:#ffffff">'
            + "\n".join(lines)
            + "</pre>"
        )


@dataclass(frozen=True)
class Columns:
    """Parts in two columns; one below the other on a narrow page."""

    left: tuple[Part, ...]
    right: tuple[Part, ...]

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, (*self.left, *self.right)))

    def html(self) -> str:
        """Two ``div`` elements side by side."""
        style = "flex:1 1 380px;min-width:0"
        inner = "".join(
            f'<div style="{style}">{"".join(part.html() for part in parts)}</div>' for parts in (self.left, self.right)
        )
        return f'<div style="display:flex;flex-wrap:wrap;gap:16px">{inner}</div>'


Single: TypeAlias = "Picture | Chart | Drawing | Table | Note | Source"
Part: TypeAlias = "Single | Columns"
Section = tuple[str, tuple[Part, ...]]
"""A heading of a document, and what stands below it."""


@dataclass(frozen=True)
class Page:
    """Parts from top to bottom."""

    parts: tuple[Part, ...]

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.parts))

    def html(self) -> str:
        """All parts as one ``div``; drawings and charts as PNG, which every reader of notebooks shows."""
        return f"<div>{''.join(_still(part).html() for part in self.parts)}</div>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/plain": repr(self), "text/html": self.html()}


def _still(part: Part) -> Part:
    """A part with its drawings as PNG."""
    if isinstance(part, Columns):
        return Columns(tuple(map(_still, part.left)), tuple(map(_still, part.right)))
    return part.picture() if isinstance(part, Drawing) else part


def singles(parts: Sequence[Part]) -> Iterator[Single]:
    """Parts one below the other, columns too."""
    for part in parts:
        if isinstance(part, Columns):
            yield from singles((*part.left, *part.right))
        else:
            yield part


def picture_file(part: Picture | Chart | Drawing, folder: Path | None, number: int) -> str:
    """Write a picture beside a document; its name relative to the document, or nothing without a folder."""
    if folder is None:
        return ""
    folder.mkdir(parents=True, exist_ok=True)
    png = part if isinstance(part, Picture) else part.picture()
    return f"{folder.name}/{png.save(folder / f'figure-{number}.png').name}"


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "") -> Table:
    """A table of any sequences."""
    return Table(tuple(columns), tuple(tuple(row) for row in rows), caption)


def record_table(record: Mapping[str, Any], caption: str = "") -> Table:
    """Names and values of a record."""
    return table(("", "value"), [(key, value) for key, value in record.items()], caption)
