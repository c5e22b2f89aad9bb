"""A program for people: its source highlighted, its parameters and formulation as Markdown, which every notebook front end shows, trusted or not."""

from __future__ import annotations

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from kernaut.digest import canonical_json
from kernaut.program.formulation import FORMULATION_FIELDS
from kernaut.program.parameters import ParameterSpec
from kernaut.program.program import KernelProgram
from kernaut.report.table import escaped, markdown


class Highlighted:
    """A program's source, highlighted where HTML is shown, plain text elsewhere."""

    def __init__(self, program: KernelProgram) -> None:
        self._source = program.source

    def __repr__(self) -> str:
        return self._source

    def _repr_html_(self) -> str:
        lines = highlight(self._source, PythonLexer(), HtmlFormatter(nowrap=True, noclasses=True, style="default"))
        return f'<pre style="line-height: 1.35"><code>{lines}</code></pre>'


def range_words(spec: ParameterSpec | None) -> str:
    """A parameter's declared range for people; None is a parameter without one."""
    if spec is None:
        return "fixed"
    if spec.choices:
        return f"one of {', '.join(map(str, spec.choices))}"
    return f"{spec.lower:.4g} to {spec.upper:.4g} ({spec.scale})"


def parameters_markdown(program: KernelProgram) -> str:
    """Parameters with their declared ranges."""
    ranges = {spec.name: spec for spec in program.space}
    rows = []
    for name, value in program.parameters.items():
        declared = range_words(ranges.get(name))
        rows.append([name, f"{value:.6g}" if isinstance(value, float) else canonical_json(value), declared])
    return markdown(("parameter", "value", "declared range"), rows)


def formulation_markdown(program: KernelProgram) -> str:
    """The formulation's fields as a list; a sentence where none is stated."""
    if program.formulation is None:
        return "*No formulation is stated.*"
    values = program.formulation.to_json()
    return "\n".join(f"- **{_title(field)}.** {escaped(values[field])}" for field in FORMULATION_FIELDS)


def _title(field: str) -> str:
    words = [{"psd": "PSD", "bo": "BO"}.get(word, word) for word in field.split("_")]
    return " ".join([words[0][0].upper() + words[0][1:], *words[1:]])
