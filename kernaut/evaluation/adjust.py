"""Turn the knobs of a kernel: the parameters of a program within their declared ranges, those of a library kernel around their values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kernaut.digest import FrozenMapping, thaw
from kernaut.errors import InputError
from kernaut.evaluation.subject import Subject
from kernaut.program.leaves import LEAF_KINDS
from kernaut.program.parameters import ParameterSpec
from kernaut.program.program import KernelProgram

REACH = 10.0
"""A library kernel's numbers may be turned up and down by this factor."""


def knobs(subject: Subject) -> tuple[tuple[ParameterSpec, Any], ...]:
    """What can be turned: each parameter's range, and its value now.

    Args:
        subject: a program, or a library kernel.
    """
    if isinstance(subject.content, KernelProgram):
        return tuple((spec, subject.content.parameters[spec.name]) for spec in subject.content.space)
    node = thaw(subject.content)
    kind = LEAF_KINDS[node["kind"]]
    names = [number.name for number in kind.numbers] + (["lengthscales"] if kind.ard else [])
    found = []
    for name in names:
        default = next((number.default for number in kind.numbers if number.name == name), None)
        value = node.get(name, default)
        if isinstance(value, (int, float)) and value > 0.0:
            spec = ParameterSpec(name, scale="log", lower=float(value) / REACH, upper=float(value) * REACH)
            found.append((spec, float(value)))
    return tuple(found)


def turned(subject: Subject, values: Mapping[str, Any]) -> Subject:
    """The subject with some parameters replaced; the original when none is.

    Raises:
        InputError: for a parameter it has not, or a value out of range.
    """
    if not values:
        return subject
    if isinstance(subject.content, KernelProgram):
        return replace(subject, content=subject.content.with_parameters(values))
    node = thaw(subject.content)
    known = {number.name for number in LEAF_KINDS[node["kind"]].numbers} | {"lengthscales"}
    unknown = sorted(set(values) - known)
    if unknown:
        raise InputError(f"Expected parameters of {node['kind']}. Got {', '.join(unknown)}.")
    return replace(subject, content=FrozenMapping({**node, **values}))
