"""The report of an archive, or of a headless run, as one document: HTML with every picture inside, Markdown, or LaTeX.

Search results only: what a campaign found, how, with what budget and which failures.  Descriptions of kernels are measured on the frozen programs, whose
identifiers are recomputed from what is stored.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from kernaut.archive.store import Archive
from kernaut.digest import thaw
from kernaut.errors import InputError, KernautError
from kernaut.evaluation.subject import program_subject
from kernaut.kernels.interpreter import interpret
from kernaut.program.program import KernelProgram, program_from_json
from kernaut.report.campaign_view import (
    best_so_far,
    campaign_view,
    elite_table,
    progress_sentence,
    rejection_table,
    trial_table,
)
from kernaut.report.inspection import candidate_rows
from kernaut.report.kernel_pictures import Look, view_picture
from kernaut.report.latex import latex_document
from kernaut.report.page import Note, Part, Section, Source, Table, picture_file, record_table, singles, table
from kernaut.report.subject_view import parameter_table
from kernaut.report.table import escaped, markdown
from kernaut.report.words import describe

Format = Literal["html", "md", "latex"]
FORMATS: tuple[Format, ...] = ("html", "md", "latex")
DESCRIBED = 3
"""Kernels that are described, the best first."""


def archive_sections(archive: Archive, most: int = DESCRIBED) -> list[Section]:
    """What an archive's report says.

    Args:
        archive: opened, read-only is enough.
        most: kernels to describe.

    Raises:
        InputError: for an archive without programs.
        ArchiveError: when a stored program does not have the identifier that it is stored under.
    """
    rows = candidate_rows(archive)
    if not rows:
        raise InputError(
            "Expected an archive with accepted programs. Got none.",
            hint="Search first, for instance with kernaut meta-run.",
        )
    sections: list[Section] = []
    for campaign in archive.campaigns():
        look = campaign_view(archive, campaign.id)
        protocol = {
            "benchmark": campaign.benchmark,
            "strategy": campaign.strategy,
            "seed": campaign.seed,
            "runs": campaign.run_count,
        }
        options = {key: _plainly(value) for key, value in thaw(campaign.options).items()}
        parts: tuple[Part, ...] = (
            Note(progress_sentence(look)), best_so_far(look), elite_table(look), rejection_table(look), trial_table(look),
            record_table(protocol | options, "Protocol and budget"), record_table(thaw(campaign.versions), "Versions"),
        )  # fmt: skip
        sections.append((f"Campaign {campaign.id}", parts))
    columns = ("name", "identifier", "contract", "origin", "mean CRPS")
    cells = [(r["name"], r["candidate_id"], r["contract"], r["origin"], r.get("mean_crps")) for r in rows]
    sections.append(("Programs", (table(columns, cells, "Mean CRPS on meta-training, lower is better"),)))
    for row in rows[:most]:
        program = archive.program(row["candidate_id"])
        evidence = archive.evidence(program.id)
        dimensions = evidence[0].dimensions if evidence else (2,)
        sections.append((f"Kernel {program.name}", tuple(kernel_parts(program, min(dimensions), archive))))
    looks = archive.looks()
    sections.append(("Openings of held-out data", (record_table(looks, "How often validation and test were opened"),)))
    return sections


def _plainly(value: Any) -> str:
    """An option in a table's cell."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plainly(inner)}" for key, inner in value.items()) or "none"
    return str(value)


def kernel_parts(program: KernelProgram, dimension: int, archive: Archive | None = None) -> list[Part]:
    """One kernel: sentences measured on it, a picture, parameters, source.

    Args:
        program: frozen.
        dimension: an input dimension that it was verified in.
        archive: looks up programs that a closure names.
    """
    parts: list[Part] = [
        Note(
            f"Identifier {program.id}, recomputed from the program; contract {program.contract}: {program.rules.meaning}"
        )
    ]
    try:
        kernel = interpret(program, resolve=archive.program if archive is not None else None)
    except KernautError as error:
        return [*parts, Note(f"It gave no kernel: {error.message}"), Source(program.source)]
    try:
        parts += [Note(sentence) for sentence in describe(kernel, dimension)]
        parts.append(view_picture("functions it expects", kernel, Look(dimension)))
    except KernautError as error:
        parts.append(Note(f"It could not be described in {dimension} dimensions: {error.message}"))
    finally:
        kernel.close()
    return [*parts, parameter_table(program_subject(program)), Source(program.source)]


def run_sections(
    report: Mapping[str, Any], environment: Mapping[str, Any], parameters: Mapping[str, Any]
) -> list[Section]:
    """What the report of a headless run says.

    Args:
        report: the content of ``report.json``.
        environment: of ``environment.json``.
        parameters: of ``parameters.json``.
    """
    sections: list[Section] = [("Parameters", (record_table(parameters),))]
    summary = report.get("summary")
    if isinstance(summary, Mapping):
        parts: list[Part] = []
        if summary.get("columns") and summary.get("rows"):
            parts.append(table(summary["columns"], summary["rows"]))
        parts += [Note(str(line)) for line in summary.get("lines", ()) if line]
        sections.append(("Result", tuple(parts)))
    selected = report.get("selected")
    if isinstance(selected, Mapping) and "candidate" in selected:
        program = program_from_json(thaw(selected["candidate"]), "the report")
        sections.append((f"Kernel {program.name}", tuple(kernel_parts(program, 2))))
    shown = {key: environment[key] for key in ("kernaut", "python", "platform") if key in environment}
    packages = environment.get("packages", {})
    shown |= {key: packages[key] for key in ("torch", "gpytorch", "numpy", "scipy") if key in packages}
    sections.append(("Versions", (record_table(shown),)))
    return sections


def render(title: str, sections: Sequence[Section], to: Format, pictures: Path | None = None) -> str:
    """A document of sections.

    Args:
        title: of the document.
        sections: headings and parts.
        to: ``html`` (self-contained), ``md`` or ``latex``.
        pictures: the folder that Markdown's and LaTeX's pictures are written to; the words alone stand there if absent.

    Raises:
        InputError: for another format.
    """
    if to == "html":
        return _html(title, sections)
    if to == "md":
        return _markdown(title, sections, pictures)
    if to == "latex":
        return latex_document(title, sections, pictures)
    raise InputError(f"Expected a format of {', '.join(FORMATS)}. Got {to!r}.")


def _html(title: str, sections: Sequence[Section]) -> str:
    style = "body{font-family:sans-serif;max-width:60em;margin:2em auto;line-height:1.4}td,th{padding:2px 12px 2px 0;vertical-align:top}"
    body = "".join(f"<h2>{html.escape(head)}</h2>{''.join(part.html() for part in parts)}" for head, parts in sections)
    name = html.escape(title)
    head = f'<meta charset="utf-8"><title>{name}</title><style>{style}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body><h1>{name}</h1>{body}</body></html>\n'


def _markdown(title: str, sections: Sequence[Section], pictures: Path | None) -> str:
    lines, count = [f"# {escaped(title)}", ""], 0
    for head, parts in sections:
        lines += [f"## {escaped(head)}", ""]
        for part in singles(parts):
            if isinstance(part, Table):
                lines += [escaped(part.caption), "", markdown(part.columns, part.rows), ""]
            elif isinstance(part, Source):
                lines += ["```python", part.text.replace("```", "` ` `"), "```", ""]
            elif isinstance(part, Note):
                lines += [escaped(part.text), ""]
            else:
                count += 1
                name = picture_file(part, pictures, count)
                words = escaped(repr(part))
                lines += [f"![{words}]({name})" if name else f"*{words}*", ""]
    return "\n".join(lines).rstrip() + "\n"
