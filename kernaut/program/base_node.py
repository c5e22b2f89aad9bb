"""Base nodes: one library leaf with its parameters, read from JSON and checked.

Numbers may be given as references ``{"$": i}`` into a vector of floats (which is how a sandboxed ``closure_tree`` marks what
depends on its float parameters), so that trusted code knows which number of the tree is which entry of that vector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from kernaut.errors import ProgramRefused
from kernaut.program.leaves import HUGE, LEAF_KINDS, LENGTHSCALE, LENGTHSCALES, TINY, LeafKind, Number

MAX_ENTRIES = 100_000
RAMP_KEYS = ("mode", "min", "max")


def is_reference(record: Any) -> bool:
    """Whether a JSON value is ``{"$": i}``."""
    return isinstance(record, Mapping) and len(record) == 1 and "$" in record


class NumberReader:
    """Reads numbers and references, and remembers where each number came from.

    Args:
        values: the vector that references point into.

    Attributes:
        references: for each number read so far, in order, its index into ``values``, or -1 for a plain number.
        detached: whether a reference was used where it cannot be differentiated.
        nodes: how many closure nodes were read.
    """

    def __init__(self, values: Sequence[float] = ()) -> None:
        self.values = values
        self.references: list[int] = []
        self.detached = False
        self.nodes = 0

    def dereference(self, record: Any, path: str) -> tuple[Any, int]:
        """A JSON value and its index into ``values`` (-1 unless it is a reference).

        Raises:
            ProgramRefused: for a reference to no entry.
        """
        if not is_reference(record):
            return record, -1
        index = record["$"]
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(self.values):
            raise ProgramRefused(f"Expected {path} to refer to one of {len(self.values)} values. Got {index!r}.")
        return float(self.values[index]), index

    def number(self, record: Any, path: str, lower: float = -HUGE, upper: float = HUGE) -> float:
        """One finite number in ``[lower, upper]``; its origin is appended to :attr:`references`.

        Raises:
            ProgramRefused: naming the path and the legal range.
        """
        value, index = self.dereference(record, path)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not lower <= value <= upper:
            raise ProgramRefused(f"Expected a number in [{lower:g}, {upper:g}] for {path}. Got {value!r}.")
        self.references.append(index)
        return float(value)

    def array(self, record: Any, path: str, field: Number) -> Array:
        """A number, list or list of equally long lists, as the field allows.

        Raises:
            ProgramRefused: for another rank, ragged lists, or a number out of range.
        """
        shape: list[int] = []
        head = record
        while isinstance(head, (list, tuple)) and len(shape) < 3:
            shape.append(len(head))
            head = head[0] if head else None
        if len(shape) not in field.ranks or 0 in shape or prod(shape) > MAX_ENTRIES:
            legal = " or ".join(("a number", "a list of numbers", "a list of lists of numbers")[r] for r in field.ranks)
            raise ProgramRefused(f"Expected {legal} for {path}. Got {_brief(record)}.")
        values = []
        for place in product(*(range(size) for size in shape)):
            entry, row = record, record
            for depth, index in enumerate(place):
                row = entry
                if not isinstance(row, (list, tuple)) or len(row) != shape[depth]:
                    raise ProgramRefused(f"Expected lists of equal length for {path}. Got {_brief(record)}.")
                entry = row[index]
            where = path + "".join(f"[{index}]" for index in place)
            values.append(self.number(entry, where, field.lower, field.upper))
        return Array(field.name, tuple(shape), tuple(values))


@dataclass(frozen=True)
class Array:
    """Numbers of one name: a scalar (shape ``()``), a vector or a matrix, in row-major order."""

    name: str
    shape: tuple[int, ...]
    values: tuple[float, ...]

    def names(self) -> tuple[str, ...]:
        """One name a number, such as ``means[0][1]``."""
        places = product(*(range(size) for size in self.shape))
        return tuple(self.name + "".join(f"[{index}]" for index in place) for place in places)


@dataclass(frozen=True)
class Base:
    """A library leaf.

    Args:
        kind: one of :data:`kernaut.program.leaves.LEAF_KINDS`.
        arrays: its numbers, in declared order.
        options: its whole-number options by name; ``ramp`` says that lengthscales run from ``min`` to ``max``.
    """

    kind: str
    arrays: tuple[Array, ...]
    options: tuple[tuple[str, int], ...] = ()

    def numbers(self) -> tuple[float, ...]:
        """All numbers in a fixed order."""
        return tuple(value for array in self.arrays for value in array.values)

    def skeleton(self) -> tuple[Any, ...]:
        """Everything but the numbers; equal skeletons have equally long :meth:`numbers`."""
        return ("base", self.kind, tuple((a.name, a.shape) for a in self.arrays), self.options)


def base_node(record: Any, path: str = "base_kernel", reader: NumberReader | None = None) -> Base:
    """Read ``{"kind": k, ...}`` (an ``op`` of ``base`` may stand beside it).

    Raises:
        ProgramRefused: for an unknown kind or key, a missing parameter, or a value outside its range.
    """
    reader = NumberReader() if reader is None else reader
    if not isinstance(record, Mapping):
        raise ProgramRefused(f"Expected {path} to be a base node such as {{'kind': 'rbf'}}. Got {_brief(record)}.")
    kind = record.get("kind")
    if not isinstance(kind, str) or kind not in LEAF_KINDS:
        raise ProgramRefused(f"Expected {path}.kind of {', '.join(LEAF_KINDS)}. Got {kind!r}.")
    if record.get("op", "base") != "base":
        raise ProgramRefused(f"Expected {path}.op to be base or absent. Got {record['op']!r}.")
    leaf = LEAF_KINDS[kind]
    unknown = sorted(set(record) - set(leaf.keys))
    if unknown:
        raise ProgramRefused(f"Expected only the keys {', '.join(leaf.keys)} in {path}. Got {', '.join(unknown)}.")
    given = {key: value for key, value in record.items() if value is not None}
    options = _options(leaf, given, path, reader)
    arrays = []
    for number in leaf.numbers:
        if number.name in given:
            arrays.append(reader.array(given[number.name], f"{path}.{number.name}", number))
        elif number.default is not None:
            reader.references.append(-1)
            arrays.append(Array(number.name, (), (number.default,)))
        elif kind != "rff":
            raise ProgramRefused(f"Expected {path}.{number.name} for kind {kind}. Got nothing.")
    if leaf.ard:
        scales, ramp = _lengthscales(given, path, reader)
        arrays += scales
        options += (("ramp", 1),) if ramp else ()
    node = Base(kind, tuple(arrays), options)
    _require_consistent(node, path)
    return node


def _options(leaf: LeafKind, given: Mapping[str, Any], path: str, reader: NumberReader) -> tuple[tuple[str, int], ...]:
    found = []
    for option in leaf.options:
        value = given.get(option.name, option.default)
        if value is None:
            continue
        if is_reference(value):
            raise ProgramRefused(f"Expected a plain whole number for {path}.{option.name}. Got a float parameter.")
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if isinstance(value, bool) or not whole or not option.lower <= value <= option.upper:
            raise ProgramRefused(
                f"Expected a whole number in [{option.lower}, {option.upper}] for {path}.{option.name}. Got {value!r}."
            )
        found.append((option.name, int(value)))
    return tuple(found)


def _lengthscales(given: Mapping[str, Any], path: str, reader: NumberReader) -> tuple[list[Array], bool]:
    """The arrays of an ARD leaf, and whether they are the ends of a geometric ramp."""
    if "lengthscales" in given and "lengthscale" in given:
        raise ProgramRefused(f"Expected lengthscales or lengthscale in {path}. Got both.")
    scales = given.get("lengthscales", given.get("lengthscale", 1.0))
    where = f"{path}.lengthscales" if "lengthscales" in given else f"{path}.lengthscale"
    if isinstance(scales, Mapping) and not is_reference(scales):
        if scales.get("mode") != "geometric_ramp" or set(scales) != set(RAMP_KEYS):
            raise ProgramRefused(
                f"Expected {where} to be a list, a number or {{'mode': 'geometric_ramp', 'min', 'max'}}. Got {dict(scales)!r}."
            )
        ends = [Number(end, LENGTHSCALE.lower) for end in ("min", "max")]
        return [reader.array(scales[end.name], f"{where}.{end.name}", end) for end in ends], True
    if "lengthscales" in given:
        return [reader.array(scales, where, LENGTHSCALES)], False
    return [Array("lengthscales", (), (reader.number(scales, where, TINY),))], False


def _require_consistent(node: Base, path: str) -> None:
    """Relations between the parameters of one leaf."""
    shapes = {array.name: array.shape for array in node.arrays}
    options = dict(node.options)
    if node.kind == "spectral_mixture":
        count = shapes["weights"][0]
        for name in ("means", "scales"):
            if shapes[name][0] != count:
                raise ProgramRefused(f"Expected {count} {path}.{name}, one a weight. Got {shapes[name][0]}.")
    if node.kind == "rff":
        drawn = "features" in options and not {"omega", "bias"} & set(shapes)
        stored = {"omega", "bias"} <= set(shapes) and not options
        if not (drawn or stored):
            raise ProgramRefused(
                f"Expected {path} to give features and seed, or omega and bias. Got {', '.join((*options, *shapes))}."
            )
        if stored and shapes["omega"][0] != shapes["bias"][0]:
            raise ProgramRefused(
                f"Expected {shapes['omega'][0]} entries of {path}.bias, one a frequency. Got {shapes['bias'][0]}."
            )


def _brief(record: Any) -> str:
    text = repr(record)
    return text if len(text) <= 80 else text[:77] + "..."
