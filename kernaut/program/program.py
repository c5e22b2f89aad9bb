"""The frozen, content-addressed kernel program and its candidate file.

The identifier covers name, contract, source, parameters and parents; rationale, formulation and declared ranges describe the
program and do not change what it computes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from kernaut.digest import FrozenMapping, content_id, freeze, loads_finite, require_json, thaw
from kernaut.errors import InputError, ProgramRefused
from kernaut.program.contracts import Contract, contract_named
from kernaut.program.formulation import FORMULATION_FIELDS, Formulation, formulation_from_json
from kernaut.program.parameters import ParameterSpec, parameter_space

NAME_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
MAX_NAME = 80
MAX_SOURCE = 100_000
DEFAULT_BASE: Mapping[str, Any] = FrozenMapping({"kind": "matern52", "lengthscale": 0.5})
"""The trusted base of input transforms and residual contracts when ``base_kernel`` is absent."""

CANDIDATE_KEYS = ("name", "contract", "source", "parameters", "parents", "rationale")
EXTRA_KEYS = ("candidate_id", "formulation", "parameter_space", *FORMULATION_FIELDS)


@dataclass(frozen=True)
class KernelProgram:
    """A kernel component: source text, the contract it is written to, its parameter values and its parents.

    Args:
        name: ``[A-Za-z][A-Za-z0-9_-]*``, at most 80 characters.
        contract: one of :data:`kernaut.program.contracts.CONTRACTS`.
        source: Python text that defines the contract's entry point.
        parameters: JSON values by name, finite; passed to the entry point.
        parents: identifiers of the programs this one revises or combines.
        rationale: a sentence or two, for people.
        formulation: the fourteen published fields, when stated.
        space: declared ranges of the tunable parameters, at most 12.

    Raises:
        ProgramRefused: when a field breaks one of these rules.
    """

    name: str
    contract: str
    source: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    parents: tuple[str, ...] = ()
    rationale: str = ""
    formulation: Formulation | None = None
    space: tuple[ParameterSpec, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or len(self.name) > MAX_NAME or not NAME_PATTERN.fullmatch(self.name):
            raise ProgramRefused(
                f"Expected a name of letters, digits, _ and - that starts with a letter, at most {MAX_NAME} long. Got {self.name!r}."
            )
        contract_named(self.contract)
        if not isinstance(self.source, str) or not self.source.strip():
            raise ProgramRefused("Expected source text. Got none.")
        if len(self.source) > MAX_SOURCE:
            raise ProgramRefused(f"Expected source of at most {MAX_SOURCE} characters. Got {len(self.source)}.")
        if not isinstance(self.parameters, Mapping):
            raise ProgramRefused(f"Expected parameters to be an object. Got {type(self.parameters).__name__}.")
        try:
            require_json(self.parameters, "parameters")
            self.source.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ProgramRefused(f"Expected source that UTF-8 can hold. Got {error.reason}.") from error
        except InputError as error:
            raise ProgramRefused(error.message) from error
        if isinstance(self.parents, str) or not all(isinstance(parent, str) for parent in self.parents):
            raise ProgramRefused(f"Expected parents to be identifiers. Got {self.parents!r}.")
        object.__setattr__(self, "parameters", freeze(self.parameters))
        object.__setattr__(self, "parents", tuple(self.parents))
        for spec in self.space:
            if spec.name not in self.parameters:
                raise ProgramRefused(
                    f"Expected a value in parameters for the declared parameter {spec.name!r}. "
                    f"Got {', '.join(self.parameters) or 'no parameters'}."
                )
            try:
                spec.require(self.parameters[spec.name])
            except InputError as error:
                raise ProgramRefused(error.message) from error

    @cached_property
    def id(self) -> str:
        """First 16 hex digits of SHA-256 over the canonical JSON of name, contract, source, parameters, parents."""
        return content_id(
            {
                "name": self.name,
                "contract": self.contract,
                "source": self.source,
                "parameters": self.parameters,
                "parents": self.parents,
            }
        )

    @property
    def rules(self) -> Contract:
        """The contract's record."""
        return contract_named(self.contract)

    def with_parameters(self, values: Mapping[str, Any]) -> KernelProgram:
        """The same program with some parameter values replaced.

        Raises:
            ProgramRefused: for a name the program has no parameter of, or a value outside its range.
        """
        unknown = sorted(set(values) - set(self.parameters))
        if unknown:
            raise ProgramRefused(
                f"Expected parameters of {', '.join(self.parameters) or '(none)'}. Got {', '.join(unknown)}."
            )
        return replace(self, parameters={**self.parameters, **values})

    def to_json(self) -> dict[str, Any]:
        """The candidate file's object; formulation and parameter_space only where stated."""
        record: dict[str, Any] = {
            "name": self.name,
            "contract": self.contract,
            "source": self.source,
            "parameters": thaw(self.parameters),
            "parents": list(self.parents),
            "rationale": self.rationale,
        }
        if self.formulation is not None:
            record |= self.formulation.to_json()
        if self.space:
            record["parameter_space"] = {spec.name: spec.to_json() for spec in self.space}
        return record


def program_from_json(record: Any, where: str = "candidate") -> KernelProgram:
    """Read a candidate object as published; unknown keys are refused by name.

    Raises:
        ProgramRefused: when a key is missing, unknown or of the wrong form.
    """
    if not isinstance(record, Mapping):
        raise ProgramRefused(f"Expected {where} to be a JSON object. Got {type(record).__name__}.")
    missing = [key for key in ("name", "contract", "source") if key not in record]
    if missing:
        raise ProgramRefused(
            f"Expected the keys {', '.join(CANDIDATE_KEYS)} in {where}. Got none of: {', '.join(missing)}."
        )
    unknown = sorted(set(record) - set(CANDIDATE_KEYS) - set(EXTRA_KEYS))
    if unknown:
        raise ProgramRefused(
            f"Expected only the keys {', '.join((*CANDIDATE_KEYS, *EXTRA_KEYS))} in {where}. Got {', '.join(unknown)}."
        )
    stated = {name: record[name] for name in FORMULATION_FIELDS if name in record} or record.get("formulation")
    try:
        program = KernelProgram(
            name=record["name"],
            contract=record["contract"],
            source=record["source"],
            parameters=_or_default(record, "parameters", {}),
            parents=tuple(_array(record, "parents", where)),
            rationale=str(_or_default(record, "rationale", "")),
            formulation=formulation_from_json(stated) if stated else None,
            space=parameter_space(_or_default(record, "parameter_space", {})),
        )
    except ProgramRefused:
        raise
    except InputError as error:
        raise ProgramRefused(error.message, hint=error.hint) from error
    declared = record.get("candidate_id")
    if declared is not None and declared != program.id:
        raise ProgramRefused(f"Expected candidate_id {program.id} for this content of {where}. Got {declared!r}.")
    return program


def load_candidate(path: str | Path) -> KernelProgram:
    """Read one candidate JSON file.

    Raises:
        InputError: when the file cannot be read, is not JSON, or is not a candidate.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"Expected a readable candidate file at {file}. Got: {reason}.") from error
    return program_from_json(loads_finite(text, str(file)), str(file))


def save_candidate(program: KernelProgram, path: str | Path) -> None:
    """Write a program as a candidate JSON file, indented for people."""
    Path(path).write_text(json.dumps(program.to_json(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _or_default(record: Mapping[str, Any], key: str, default: Any) -> Any:
    value = record.get(key)
    return default if value is None else value


def _array(record: Mapping[str, Any], key: str, where: str) -> Iterable[Any]:
    value = _or_default(record, key, [])
    if not isinstance(value, (list, tuple)):
        raise ProgramRefused(f"Expected {key} of {where} to be an array. Got {value!r}.")
    return value
