"""Closure trees: sums, products, scalings and pullbacks of library leaves and kernel programs, read and checked.

Positive semi-definite kernels are closed under these operations (Scholkopf and Smola, 2002, section 13.1), so a tree whose
leaves are valid is valid.  Reading executes nothing; :mod:`kernaut.kernels.closure` assembles the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from kernaut.digest import canonical_json, thaw
from kernaut.errors import ProgramRefused
from kernaut.program.base_node import Array, Base, NumberReader, base_node, is_reference
from kernaut.program.contracts import CONTRACTS
from kernaut.program.leaves import HUGE, Number
from kernaut.program.program import DEFAULT_BASE, KernelProgram, program_from_json

OPERATIONS = ("sum", "product", "scale", "pullback", "program", "base")
MAX_DEPTH = 16
MAX_NODES = 256

Resolve: TypeAlias = Callable[[str], KernelProgram]
"""Looks an accepted program up by its identifier."""


@dataclass(frozen=True)
class Sum:
    """k(x, z) = sum of the children."""

    children: tuple[Node, ...]

    def numbers(self) -> tuple[float, ...]:
        """All numbers below, in a fixed order."""
        return tuple(value for child in self.children for value in child.numbers())

    def skeleton(self) -> tuple[Any, ...]:
        """Everything but the numbers."""
        return ("sum", *(child.skeleton() for child in self.children))


@dataclass(frozen=True)
class Product:
    """k(x, z) = product of the children."""

    children: tuple[Node, ...]

    def numbers(self) -> tuple[float, ...]:
        """All numbers below, in a fixed order."""
        return tuple(value for child in self.children for value in child.numbers())

    def skeleton(self) -> tuple[Any, ...]:
        """Everything but the numbers."""
        return ("product", *(child.skeleton() for child in self.children))


@dataclass(frozen=True)
class Scale:
    """k(x, z) = weight child(x, z), weight >= 0."""

    weight: float
    child: Node

    def numbers(self) -> tuple[float, ...]:
        """The weight, then the child's numbers."""
        return (self.weight, *self.child.numbers())

    def skeleton(self) -> tuple[Any, ...]:
        """Everything but the numbers."""
        return ("scale", self.child.skeleton())


@dataclass(frozen=True)
class Pullback:
    """k(x, z) = child(x M, z M) for a matrix M, d x q."""

    matrix: Array
    child: Node

    def numbers(self) -> tuple[float, ...]:
        """The matrix by rows, then the child's numbers."""
        return (*self.matrix.values, *self.child.numbers())

    def skeleton(self) -> tuple[Any, ...]:
        """Everything but the numbers."""
        return ("pullback", self.matrix.shape, self.child.skeleton())


@dataclass(frozen=True)
class ProgramLeaf:
    """A kernel program as a leaf (and, at the top, the program itself).

    Args:
        program: the program with its present parameter values.
        floats: names of its float-valued parameters, in order.
        base: the trusted base that its contract adds to or composes with, if any.
        residual_base: the trusted base of the transformed points (``residual_input_transform`` only).
        residual_weight: the weight, when it is not among ``floats``.
    """

    program: KernelProgram
    floats: tuple[str, ...]
    base: Base | None
    residual_base: Base | None
    residual_weight: float

    def numbers(self) -> tuple[float, ...]:
        """The float-valued parameters, then the numbers of the bases."""
        values = tuple(float(self.program.parameters[name]) for name in self.floats)
        bases = (base for base in (self.base, self.residual_base) if base is not None)
        return values + tuple(value for base in bases for value in base.numbers())

    def skeleton(self) -> tuple[Any, ...]:
        """Everything but the numbers."""
        skip = {*self.floats, "base_kernel", "residual_base_kernel"}
        fixed = {key: value for key, value in self.program.parameters.items() if key not in skip}
        bases = tuple(base.skeleton() for base in (self.base, self.residual_base) if base is not None)
        return ("program", self.program.contract, self.program.source, canonical_json(fixed), self.floats, bases)


Node: TypeAlias = Base | Sum | Product | Scale | Pullback | ProgramLeaf


def float_names(program: KernelProgram) -> tuple[str, ...]:
    """The float-valued parameters: those declared ``float``, or every float of the parameters when nothing is declared."""
    if program.space:
        declared = {spec.name for spec in program.space if spec.type == "float"}
        return tuple(name for name in program.parameters if name in declared)
    return tuple(name for name, value in program.parameters.items() if isinstance(value, float))


def program_leaf(program: KernelProgram, path: str = "parameters") -> ProgramLeaf:
    """A program with its trusted bases read and checked.

    Raises:
        ProgramRefused: for a base kernel or residual weight that breaks a rule, naming its path.
    """
    return _program_leaf(program, program.parameters, path, NumberReader())


def closure_node(
    record: Any, *, reader: NumberReader | None = None, resolve: Resolve | None = None, path: str = "tree"
) -> Node:
    """Read a closure tree.

    Args:
        record: the JSON value that ``closure_tree`` returned.
        reader: holds the values that references point into, and learns where each number came from.
        resolve: looks up program leaves that are given by identifier.
        path: what the tree is called in errors.

    Raises:
        ProgramRefused: naming the path of the first node that breaks a rule, and the legal values.
    """
    return _node(record, path, reader or NumberReader(), resolve, 0)


def _node(record: Any, path: str, reader: NumberReader, resolve: Resolve | None, depth: int) -> Node:
    reader.nodes += 1
    if depth > MAX_DEPTH or reader.nodes > MAX_NODES:
        raise ProgramRefused(f"Expected a tree of depth {MAX_DEPTH} and {MAX_NODES} nodes at most. Got more at {path}.")
    operation = record.get("op") if isinstance(record, Mapping) else None
    if operation not in OPERATIONS:
        raise ProgramRefused(f"Expected {path} to be a node with op of {', '.join(OPERATIONS)}. Got {_brief(record)}.")
    if operation == "base":
        return base_node(record, path, reader)
    if operation in ("sum", "product"):
        _require_keys(record, path, ("op", "children"))
        children = record["children"]
        if not isinstance(children, (list, tuple)) or len(children) < 2:
            raise ProgramRefused(f"Expected {path}.children to be a list of two or more nodes. Got {_brief(children)}.")
        nodes = tuple(_node(c, f"{path}.children[{i}]", reader, resolve, depth + 1) for i, c in enumerate(children))
        return Sum(nodes) if operation == "sum" else Product(nodes)
    if operation == "scale":
        _require_keys(record, path, ("op", "weight", "child"))
        weight = reader.number(record["weight"], f"{path}.weight", 0.0)
        return Scale(weight, _node(record["child"], f"{path}.child", reader, resolve, depth + 1))
    if operation == "pullback":
        _require_keys(record, path, ("op", "matrix", "child"))
        matrix = reader.array(record["matrix"], f"{path}.matrix", Number("matrix", -HUGE, ranks=(2,)))
        return Pullback(matrix, _node(record["child"], f"{path}.child", reader, resolve, depth + 1))
    _require_keys(record, path, ("op", "candidate"))
    return _candidate(record["candidate"], f"{path}.candidate", reader, resolve)


def _candidate(record: Any, path: str, reader: NumberReader, resolve: Resolve | None) -> ProgramLeaf:
    """A program leaf from a candidate object or an identifier."""
    if isinstance(record, str):
        if resolve is None:
            raise ProgramRefused(
                f"Expected {path} to be a candidate object, since no archive is at hand. Got the identifier {record!r}."
            )
        try:
            program = resolve(record)
        except LookupError as error:
            raise ProgramRefused(f"Expected {path} to be a known program's identifier. Got {record!r}.") from error
        _require_acceptable(program, path)
        return _program_leaf(program, program.parameters, f"{path}.parameters", reader)
    if not isinstance(record, Mapping):
        raise ProgramRefused(f"Expected {path} to be a candidate object or an identifier. Got {_brief(record)}.")
    seen: list[int] = []
    program = program_from_json(_plain(record, path, reader, seen), path)
    _require_acceptable(program, path)
    parameters = record.get("parameters") or {}
    before = len(reader.references)
    leaf = _program_leaf(program, parameters, f"{path}.parameters", reader)
    kept = sum(index >= 0 for index in reader.references[before:])
    reader.detached = reader.detached or kept < len(seen)
    return leaf


def _program_leaf(
    program: KernelProgram, parameters: Mapping[str, Any], path: str, reader: NumberReader
) -> ProgramLeaf:
    referenced = {name for name, value in parameters.items() if is_reference(value)}
    floats = tuple(name for name in program.parameters if name in referenced or name in float_names(program))
    for name in floats:
        reader.references.append(reader.dereference(parameters[name], f"{path}.{name}")[1])
    base = residual_base = None
    if program.rules.residual or program.contract == "input_transform":
        base = base_node(_given(parameters, "base_kernel"), f"{path}.base_kernel", reader)
    if program.contract == "residual_input_transform":
        residual_base = base_node(_given(parameters, "residual_base_kernel"), f"{path}.residual_base_kernel", reader)
    weight = 1.0
    if program.rules.residual:
        given = program.parameters.get("residual_weight", 1.0)
        weight = NumberReader().number(given, f"{path}.residual_weight")
    return ProgramLeaf(program, floats, base, residual_base, weight)


def _given(parameters: Mapping[str, Any], key: str) -> Any:
    record = parameters.get(key)
    return DEFAULT_BASE if record is None else record


def _require_acceptable(program: KernelProgram, path: str) -> None:
    if not program.rules.acceptable:
        legal = ", ".join(contract.name for contract in CONTRACTS.values() if contract.acceptable)
        raise ProgramRefused(f"Expected {path} to have a contract of {legal}. Got {program.contract}.")


def _plain(record: Any, path: str, reader: NumberReader, seen: list[int]) -> Any:
    """A copy with every reference replaced by its value; the references are appended to ``seen``."""
    if is_reference(record):
        value, index = reader.dereference(record, path)
        seen.append(index)
        return value
    if isinstance(record, Mapping):
        return {key: _plain(value, f"{path}.{key}", reader, seen) for key, value in record.items()}
    if isinstance(record, (list, tuple)):
        return [_plain(value, f"{path}[{index}]", reader, seen) for index, value in enumerate(record)]
    return record


def _require_keys(record: Mapping[str, Any], path: str, keys: Collection[str]) -> None:
    if set(record) != set(keys):
        raise ProgramRefused(f"Expected exactly the keys {', '.join(keys)} in {path}. Got {', '.join(record)}.")


def _brief(record: Any) -> str:
    text = repr(thaw(record))
    return text if len(text) <= 80 else text[:77] + "..."
