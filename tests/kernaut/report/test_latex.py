from __future__ import annotations

import re

from kernaut.report.latex import CODE, latex, latex_document
from kernaut.report.page import Note, Source, table


def test_what_latex_would_read_is_escaped() -> None:
    assert latex(r"a_b\c {d} ~^<#$&%") == (
        r"a\_\allowbreak{}b\textbackslash{}c \{d\} \textasciitilde{}\textasciicircum{}\textless{}\#\$\&\%"
    )


def test_every_letter_is_one_that_fonts_have() -> None:
    assert latex("Matérn, λ ≤ Ω") == r"Matérn, \ensuremath{\lambda} \ensuremath{\le} \ensuremath{\Omega}"
    assert latex("ﬁt Α 中") == "fit [U+0391] [U+4E2D]"


def test_a_wide_table_shares_the_line_and_a_narrow_one_does_not() -> None:
    wide = table(("name", "reason"), [("a", "x" * 200), ("[b]", None)], "Why")
    text = latex_document("t", [("s", (wide, table(("k", "v"), [(1, 2)]), table(("k",), (), "Nothing")))], None)
    shares = [float(share) for share in re.findall(r"p\{([\d.]+)\\linewidth\}", text)]
    assert len(shares) == 2 and shares[0] < shares[1] and sum(shares) < 1.0
    assert r"\begin{longtable}{@{}ll@{}}" in text
    assert r"{}[b] & {}- \\" in text  # a bracket after a line's end would be read as its height
    assert text.count(r"\begin{longtable}") == 2 and "None." in text


def test_source_stays_in_its_place_and_on_the_page() -> None:
    source = "def f(x):\n    return " + " + ".join(["x"] * 60) + "  # π\n\\end{verbatim}"
    text = latex_document("t", [("s", (Source(source), Note("50 %")))], None)
    inside = text[text.index(r"\begin{verbatim}") : text.index(r"\end{verbatim}")].splitlines()[1:]
    assert inside[0] == "def f(x):" and all(len(line) <= CODE for line in inside)
    assert text.count(r"\end{verbatim}") == 1 and "# ?" in text and "50 \\%" in text
