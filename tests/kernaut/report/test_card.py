from __future__ import annotations

from dataclasses import replace

from kernaut.program.formulation import FORMULATION_FIELDS, Formulation
from kernaut.program.parameters import ParameterSpec
from kernaut.program.program import KernelProgram
from kernaut.report.card import Highlighted, formulation_markdown, parameters_markdown

VALUES = dict.fromkeys(FORMULATION_FIELDS, "A <b>word</b>.") | {
    "construction_niche": "open_ended",
    "feature_growth": "linear",
}
PROGRAM = KernelProgram(
    "waves",
    "feature_map",
    "def feature_point(x, parameters):\n    return [x[0]]\n",
    {"rate": 0.123456789, "mode": "up", "base_kernel": {"kind": "rbf"}},
    formulation=Formulation(**VALUES),
    space=(
        ParameterSpec("rate", scale="log", lower=0.01, upper=2.0),
        ParameterSpec("mode", "categorical", choices=("up", "down")),
    ),
)


def test_parameters_come_with_their_ranges() -> None:
    lines = parameters_markdown(PROGRAM).splitlines()[2:]
    assert lines == [
        "| rate | 0.123457 | 0.01 to 2 (log) |",
        '| mode | "up" | one of up, down |',
        '| base\\_kernel | {"kind":"rbf"} | fixed |',
    ]


def test_source_is_highlighted_and_cannot_become_markup() -> None:
    program = replace(PROGRAM, source="def feature_point(x, parameters):\n    return [x[0] < 1]  # </code><b>\n")
    html = Highlighted(program)._repr_html_()
    assert "&lt;/code&gt;&lt;b&gt;" in html
    assert "<b>" not in html
    assert "<span style=" in html
    assert repr(Highlighted(program)) == program.source


def test_a_formulation_is_shown_as_words() -> None:
    lines = formulation_markdown(PROGRAM).splitlines()
    assert len(lines) == 14
    assert "- **PSD argument.** A &lt;b&gt;word&lt;/b&gt;." in lines
    assert "- **Expected BO behavior.** A &lt;b&gt;word&lt;/b&gt;." in lines
    assert "No formulation" in formulation_markdown(KernelProgram("a", "feature_map", "x = 1\n"))
