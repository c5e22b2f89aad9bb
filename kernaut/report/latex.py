"""A report as LaTeX: tables that break over pages and never leave the line, long names that may be broken, and text that any LaTeX sets."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from kernaut.report.page import Note, Section, Source, Table, picture_file, singles
from kernaut.report.table import cell

LINE = 92
"""Letters of a table's line at its size; a wider table breaks its cells."""
WIDEST = 36
"""Letters that a column may claim of a line that is shared."""
CODE = 98
"""Letters of a line of source."""
PREAMBLE = r"""\documentclass[10pt,a4paper]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage[margin=2.2cm]{geometry}
\usepackage{array,booktabs,graphicx,longtable}
\setlength{\parindent}{0pt}
\setlength{\parskip}{4pt}
\setlength{\LTleft}{0pt}
\newcommand{\roomfor}[1]{\par\vskip 0pt plus #1\baselineskip\penalty-200\vskip 0pt plus -#1\baselineskip}
\date{}"""
MARKS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "_": r"\_\allowbreak{}",
    "≤": r"\ensuremath{\le}",
    "≥": r"\ensuremath{\ge}",
    "≈": r"\ensuremath{\approx}",
    "≠": r"\ensuremath{\ne}",
    "×": r"\ensuremath{\times}",
    "·": r"\ensuremath{\cdot}",
    "±": r"\ensuremath{\pm}",
    "−": r"\ensuremath{-}",
    "→": r"\ensuremath{\to}",
    "∞": r"\ensuremath{\infty}",
    "∈": r"\ensuremath{\in}",
    "∑": r"\ensuremath{\sum}",
    "√": r"\ensuremath{\surd}",
    "–": "--",
    "—": "---",
    "’": "'",
    "‘": "`",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
} | {mark: "\\" + mark for mark in "&%$#{}"}


def latex_document(title: str, sections: Sequence[Section], pictures: Path | None) -> str:
    """A whole document.

    Args:
        title: of the document.
        sections: headings and parts.
        pictures: the folder that pictures are written to; the words alone stand there if absent.
    """
    lines = [PREAMBLE, rf"\title{{{latex(title)}}}", r"\begin{document}", r"\maketitle"]
    count = 0
    for head, parts in sections:
        lines.append(rf"\section*{{{latex(head)}}}")
        for part in singles(parts):
            if isinstance(part, Table):
                lines += _table(part)
            elif isinstance(part, Source):
                lines += [r"{\footnotesize\begin{verbatim}", *_code(part.text), r"\end{verbatim}}"]
            elif isinstance(part, Note):
                lines += [latex(part.text), ""]
            else:
                count += 1
                name = picture_file(part, pictures, count)
                lines += _picture(name, repr(part))
    return "\n".join([*lines, r"\end{document}"]) + "\n"


def latex(text: str) -> str:
    """Text that LaTeX sets as it stands; a letter that common fonts lack is named."""
    return "".join(MARKS.get(letter) or _known(letter) for letter in " ".join(text.split()))


def _known(letter: str) -> str:
    """A letter of Latin scripts as it is, a Greek one as mathematics, any other by the nearest plain letters or its number."""
    if ord(letter) < 0x180:
        return letter
    words = unicodedata.name(letter, "").split()
    if words[:1] == ["GREEK"] and words[2:3] == ["LETTER"] and len(words) == 4 and words[3] not in _LATIN_LIKE:
        name = words[3].lower().replace("lamda", "lambda")
        if words[1] == "SMALL" or name in _CAPITALS:
            return rf"\ensuremath{{\{name if words[1] == 'SMALL' else name.capitalize()}}}"
    plain = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode("ascii")
    return plain or f"[U+{ord(letter):04X}]"


_LATIN_LIKE = {"OMICRON"}
_CAPITALS = {"gamma", "delta", "theta", "lambda", "xi", "pi", "sigma", "upsilon", "phi", "psi", "omega"}


def _table(part: Table) -> list[str]:
    """Columns as wide as they are long, or, where that is too wide for the line, shares of it."""
    rows = [[cell(value) for value in row] for row in part.rows]
    widths = [max(len(line[place]) for line in [part.columns, *rows]) for place in range(len(part.columns))]
    if sum(widths) + 2 * len(widths) <= LINE:
        layout = "l" * len(widths)
    else:
        pieces = [_longest_piece([line[place] for line in [part.columns, *rows]]) for place in range(len(widths))]
        layout = "".join(
            rf">{{\raggedright\arraybackslash}}p{{{share:.3f}\linewidth}}" for share in _shares(widths, pieces)
        )
    head = " & ".join(rf"\textbf{{{latex(column)}}}" for column in part.columns) + r" \\"
    body = [" & ".join(f"{{}}{latex(value)}" for value in row) + r" \\" for row in rows]
    caption = [r"\roomfor{10}", rf"\textbf{{{latex(part.caption)}}}", ""] if part.caption else []
    if not rows:
        return [*caption, "None.", ""]
    return [
        *caption,
        r"{\small\setlength{\tabcolsep}{4pt}",
        rf"\begin{{longtable}}{{@{{}}{layout}@{{}}}}",
        r"\toprule",
        head,
        r"\midrule\endhead",
        r"\bottomrule\endfoot",
        *body,
        r"\end{longtable}}",
        "",
    ]


def _longest_piece(texts: Sequence[str]) -> int:
    """Letters of the longest piece that no line break may divide."""
    return max((len(piece) for text in texts for piece in re.split(r"[\s_-]", text)), default=0)


def _shares(widths: Sequence[int], pieces: Sequence[int]) -> list[float]:
    """Parts of the line by column: room for its longest piece, and the rest by what else it claims."""
    least = [min(piece + 1, WIDEST) for piece in pieces]
    further = [max(min(width, WIDEST) - first, 0) for width, first in zip(widths, least, strict=True)]
    room = LINE - 2 * len(widths)
    part = max(room - sum(least), 0) / max(sum(further), 1)
    claims = [first + part * more for first, more in zip(least, further, strict=True)]
    return [claim * min(room / sum(claims), 1.0) / LINE for claim in claims]


def _code(text: str) -> list[str]:
    """Lines of source, broken where they are too long; what follows a break is indented further."""
    lines = []
    for line in text.replace(r"\end{verbatim}", "").expandtabs(4).splitlines():
        plain = "".join(letter if ord(letter) < 0x100 else "?" for letter in line)
        indent = " " * (len(plain) - len(plain.lstrip()) + 8)
        lines += textwrap.wrap(
            plain, CODE, subsequent_indent=indent, drop_whitespace=False, replace_whitespace=False
        ) or [""]
    return lines


def _picture(name: str, words: str) -> list[str]:
    graphic = [r"\begin{center}", rf"\includegraphics[width=0.72\linewidth]{{{name}}}\\", rf"\emph{{{latex(words)}}}"]
    return [*graphic, r"\end{center}", ""] if name else [rf"\emph{{{latex(words)}}}", ""]
