"""A kernel in words and tables: what it is made of, what its parameters are, what its author stated and what verification found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernaut.archive.store import Archive
from kernaut.digest import loads_finite, thaw
from kernaut.errors import InputError
from kernaut.evaluation.adjust import knobs
from kernaut.evaluation.references import fixed_grid
from kernaut.evaluation.subject import Subject, program_subject
from kernaut.program.formulation import FORMULATION_FIELDS
from kernaut.program.leaves import LEAF_KINDS
from kernaut.program.parameters import ParameterSpec
from kernaut.program.program import KernelProgram, load_candidate
from kernaut.program.screening import screen
from kernaut.report.card import range_words
from kernaut.report.page import Note, Part, Source, Table, table
from kernaut.verification.evidence import Evidence


def library_subjects() -> dict[str, Subject]:
    """Reference kernels of the library by name."""
    return {subject.name: subject for subject in fixed_grid()}


def archive_subject(archive: Archive, program_id: str) -> Subject:
    """A program of an archive.

    Raises:
        ArchiveError: when it is not there.
    """
    return program_subject(archive.program(program_id))


def file_subject(path: str | Path) -> Subject:
    """A candidate file's program, not verified yet.

    Raises:
        InputError: when it is no candidate file.
    """
    if not str(path).strip():
        raise InputError("Expected the path of a candidate file. Got none.", hint="Type one, such as candidate.json.")
    return program_subject(load_candidate(path), "file")


def typed_subject(
    name: str, contract: str, source: str, parameters: str, space: Sequence[ParameterSpec] = ()
) -> Subject:
    """A program that somebody types: screened, not run.

    Args:
        name: its name.
        contract: its contract.
        source: its text.
        parameters: a JSON object.
        space: declared ranges; those of absent parameters are left out.

    Raises:
        InputError: for parameters that are no JSON object.
        ProgramRefused: for a source that breaks a rule, naming the line.
    """
    values = loads_finite(parameters or "{}", "the parameters")
    if not isinstance(values, dict):
        raise InputError(f"Expected parameters as a JSON object. Got {parameters!r}.", hint='Such as {"scale": 0.5}.')
    declared = tuple(spec for spec in space if spec.name in values)
    program = KernelProgram(name, contract, source, values, space=declared)
    screen(program.source, program.rules)
    return program_subject(program, "file")


def parameters_json(program: KernelProgram) -> str:
    """A program's parameters as JSON text for an editor."""
    return json.dumps(thaw(program.parameters), indent=1)


def about(subject: Subject, evidence: Evidence | None = None) -> list[Part]:
    """What the subject is, from top to bottom."""
    parts: list[Part] = []
    if isinstance(subject.content, KernelProgram):
        program = subject.content
        parts.append(
            Note(f"{program.name}, identifier {program.id}, contract {program.contract}: {program.rules.meaning}")
        )
        parts.append(Source(program.source))
    else:
        node = thaw(subject.content)
        parts.append(Note(f"{subject.name}, a kernel of the library: k(x, z) = {LEAF_KINDS[node['kind']].formula}"))
    parts.append(parameter_table(subject))
    if isinstance(subject.content, KernelProgram) and subject.content.formulation is not None:
        stated = subject.content.formulation.to_json()
        rows = [(field.replace("_", " "), stated[field]) for field in FORMULATION_FIELDS]
        parts.append(table(("formulation", "stated"), rows))
    if evidence is not None:
        parts.append(evidence_table(evidence))
    return parts


def parameter_table(subject: Subject) -> Table:
    """Parameters, their values and their ranges."""
    ranges = {spec.name: spec for spec, _ in knobs(subject)}
    values: Mapping[str, Any] = (
        subject.content.parameters if isinstance(subject.content, KernelProgram) else subject.content
    )
    rows = []
    for name, value in thaw(values).items():
        declared = range_words(ranges.get(name))
        rows.append((name, value if isinstance(value, (int, float)) else json.dumps(value), declared))
    return table(("parameter", "value", "range"), rows)


def evidence_table(evidence: Evidence) -> Table:
    """Every check of the evidence ladder, in order."""
    rows = [(check.name, "holds" if check.passed else "fails", check.detail) for check in evidence.checks]
    return table(("check", "", "what was found"), rows, verdict(evidence))


def verdict(evidence: Evidence) -> str:
    """The tier in a sentence."""
    meaning = {
        "none": "it does not run",
        "T0": "it runs, and its matrices are not covariances",
        "T1": "its matrices are covariances at the sampled points, which is no proof for others",
        "T2": "valid by construction, and accepted",
    }[evidence.tier]
    return f"Tier {evidence.tier}: {meaning}."
