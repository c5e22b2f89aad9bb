"""Plain tables: aligned text for a terminal, Markdown for notebooks and pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

EMPTY = "-"


def aligned(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Lines of aligned columns: text to the left, numbers to the right, floats with four digits after the point.

    Args:
        columns: ``k`` headings.
        rows: each of ``k`` cells; None becomes a dash.
    """
    texts = [[cell(value) for value in row] for row in rows]
    numeric = [_numeric([row[place] for row in rows]) for place in range(len(columns))]
    widths = [max(len(line[place]) for line in [list(columns), *texts]) for place in range(len(columns))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(cells, widths, numeric, strict=True)
        ]
        return "  ".join(padded).rstrip()

    return "\n".join([line(columns), "  ".join("-" * width for width in widths), *map(line, texts)])


def markdown(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, strong: Sequence[int] = ()) -> str:
    """A Markdown table.

    Args:
        columns: ``k`` headings.
        rows: each of ``k`` cells.
        strong: indices of rows to set in bold.
    """
    numeric = [_numeric([row[place] for row in rows]) for place in range(len(columns))]
    lines = [_markdown_line(columns), _markdown_line(["---:" if right else ":---" for right in numeric])]
    for index, row in enumerate(rows):
        texts = [escaped(cell(value)) for value in row]
        lines.append(_markdown_line([f"**{text}**" if index in strong else text for text in texts]))
    return "\n".join(lines)


def cell(value: Any) -> str:
    """One cell as text."""
    if value is None:
        return EMPTY
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def escaped(text: str) -> str:
    """Text that Markdown and HTML show as it stands, on one line; programs' own words pass through here."""
    for mark in ("\\", "`", "*", "_", "|", "[", "]", "#", "$", "~"):
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").split())


def _markdown_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _numeric(values: Sequence[Any]) -> bool:
    return any(isinstance(value, (int, float)) for value in values) and not any(isinstance(v, str) for v in values)
