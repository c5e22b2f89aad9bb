"""A program for people: its source, parameters and formulation as Markdown, which every notebook front end shows, trusted or not."""

from __future__ import annotations

from kernaut.program.formulation import FORMULATION_FIELDS
from kernaut.program.program import KernelProgram
from kernaut.report.table import escaped, markdown


def source_markdown(program: KernelProgram) -> str:
    """The source as a highlighted block; the fence is longer than any in the source."""
    fence = "```"
    while fence in program.source:
        fence += "`"
    return f"{fence}python\n{program.source.rstrip()}\n{fence}"


def parameters_markdown(program: KernelProgram) -> str:
    """Parameters with their declared ranges."""
    ranges = {spec.name: spec for spec in program.space}
    rows = []
    for name, value in program.parameters.items():
        spec = ranges.get(name)
        if spec is None:
            declared = "fixed"
        elif spec.choices:
            declared = f"one of {', '.join(map(str, spec.choices))}"
        else:
            declared = f"{spec.lower} to {spec.upper} ({spec.scale})"
        rows.append([name, f"{value:.6g}" if isinstance(value, float) else str(value), declared])
    return markdown(("parameter", "value", "declared range"), rows)


def formulation_markdown(program: KernelProgram) -> str:
    """The formulation's fields as a list; a sentence where none is stated."""
    if program.formulation is None:
        return "*No formulation is stated.*"
    values = program.formulation.to_json()
    lines = [f"- **{field.replace('_', ' ').capitalize()}.** {escaped(values[field])}" for field in FORMULATION_FIELDS]
    return "\n".join(lines)
