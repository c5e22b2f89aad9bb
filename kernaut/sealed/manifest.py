"""The public side of a task set: one task a file, and the index that fixes its splits.

A task's text is canonical (sorted keys, no white space, UTF-8; arrays as base64 npz), so that equal tasks have equal bytes and
equal digests.  Nothing in it is a label, a target, an optimum or a hash of one.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from kernaut.digest import FrozenMapping, canonical_json, freeze, loads_finite, thaw
from kernaut.errors import InputError
from kernaut.sealed.arrays import Array, decode_arrays, encode_arrays
from kernaut.sealed.spaces import OutputSpace, space_from_json

Direction = Literal["maximize", "minimize", "satisfy"]
Split = Literal["train", "validation", "test"]

VERSION = "v41"
DIRECTIONS: tuple[str, ...] = get_args(Direction)
SPLITS: tuple[str, ...] = get_args(Split)
INDEX_NAME = "index.json"
FOLDER_NAME = "manifest"
FIELDS = ("task_id", "family", "input", "p_i", "objective_direction", "horizon_budget", "compute_budget", "seed")
_TASK_ID = re.compile(r"v41-([a-z][a-z0-9_]{0,39})-([0-9]{4})")
_FAMILY = re.compile(r"[a-z][a-z0-9_]{0,39}")


def task_id(family: str, sequence: int) -> str:
    """``v41-{family}-{sequence:04d}``.

    Raises:
        InputError: for a family name that is not lower case, or a sequence number outside 0 to 9999.
    """
    if not _FAMILY.fullmatch(family) or not 0 <= sequence <= 9999:
        raise InputError(f"Expected a lower-case family name and a number from 0 to 9999. Got {family!r}, {sequence}.")
    return f"{VERSION}-{family}-{sequence:04d}"


@dataclass(frozen=True, eq=False)
class PublicTask:
    """What anyone may know of a task.

    Args:
        task_id: ``v41-{family}-{seq:04d}``.
        family: the task family's name.
        input: public arrays by name.
        p_i: public mechanism parameters; ``p_i["output"]`` describes the outputs the task takes.
        objective_direction: whether J is maximized, minimized, or 1 when all constraints hold (satisfy).
        horizon_budget: most evaluator calls an episode.
        compute_budget: wall-clock seconds a policy may take in an episode [s].
        seed: the instance's public seed.

    Raises:
        InputError: naming the field that is wrong.
    """

    task_id: str
    family: str
    input: Mapping[str, Array]
    p_i: Mapping[str, Any]
    objective_direction: Direction
    horizon_budget: int
    compute_budget: float
    seed: int

    def __post_init__(self) -> None:
        match = _TASK_ID.fullmatch(self.task_id) if isinstance(self.task_id, str) else None
        if match is None or match.group(1) != self.family:
            raise InputError(f"Expected task_id v41-FAMILY-NNNN of its own family. Got {self.task_id!r:.80}.")
        if self.objective_direction not in DIRECTIONS:
            raise InputError(
                f"Expected objective_direction of {', '.join(DIRECTIONS)}. Got {self.objective_direction!r:.80}."
            )
        for name, least in (("horizon_budget", 1), ("seed", 0)):
            value = getattr(self, name)
            if type(value) is not int or not least <= value < 2**63:
                raise InputError(f"Expected {name} to be a whole number of at least {least}. Got {value!r:.80}.")
        budget = self.compute_budget
        if type(budget) not in (int, float) or not (math.isfinite(budget) and budget > 0):
            raise InputError(f"Expected compute_budget to be a positive number of seconds. Got {budget!r:.80}.")
        if not isinstance(self.p_i, Mapping) or not isinstance(self.input, Mapping):
            raise InputError("Expected input and p_i to be objects. Got something else.")
        object.__setattr__(self, "p_i", freeze(self.p_i))
        object.__setattr__(self, "compute_budget", float(budget))
        assert self.space.size > 0

    @cached_property
    def space(self) -> OutputSpace:
        """The legal outputs.

        Raises:
            InputError: when ``p_i["output"]`` describes none.
        """
        return space_from_json(self.p_i.get("output"))

    @property
    def maximizing(self) -> bool:
        """Whether larger J is better (minimize: smaller)."""
        return self.objective_direction != "minimize"

    def to_json(self) -> dict[str, Any]:
        """The eight public fields."""
        fields = {name: thaw(getattr(self, name)) for name in FIELDS if name != "input"}
        return fields | {"input": encode_arrays(self.input)}

    @cached_property
    def text(self) -> str:
        """The canonical text."""
        return canonical_json(self.to_json())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical text, in hex."""
        return hashlib.sha256(self.text.encode("utf-8")).hexdigest()


def task_from_json(record: Any, where: str = "a public task") -> PublicTask:
    """Read a task.

    Raises:
        InputError: naming the field that is missing, unknown or wrong.
    """
    if not isinstance(record, Mapping) or set(record) != set(FIELDS):
        raise InputError(f"Expected {where} to have exactly the fields {', '.join(FIELDS)}. Got others.")
    values = dict(record)
    values["input"] = decode_arrays(values["input"], f"the input of {where}")
    return PublicTask(**values)


@dataclass(frozen=True)
class Index:
    """The frozen assignment of tasks to splits, and where the set comes from.

    Args:
        splits: task ids by split.
        provenance: generator version, random streams, parameter-distribution version, commit, clean-tree flag, seed, counts, seed ranges.
    """

    splits: Mapping[str, tuple[str, ...]]
    provenance: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {
            "version": VERSION,
            "splits": {name: list(self.splits[name]) for name in SPLITS},
            "provenance": thaw(self.provenance),
        }


@dataclass(frozen=True, eq=False)
class Manifest:
    """A public task set.

    Args:
        index: its index.
        tasks: all tasks by id, in the index's order.
    """

    index: Index
    tasks: Mapping[str, PublicTask]

    def split(self, name: str) -> tuple[PublicTask, ...]:
        """The tasks of one split, or of ``all``.

        Raises:
            InputError: for another name, or a split without tasks.
        """
        if name == "all":
            return tuple(self.tasks.values())
        if name not in SPLITS:
            raise InputError(f"Expected a split of {', '.join(SPLITS)} or all. Got {name!r}.")
        chosen = tuple(self.tasks[identifier] for identifier in self.index.splits[name])
        if not chosen:
            raise InputError(f"Expected tasks in split {name}. Got none.", hint="Generate more tasks a family.")
        return chosen


def read_manifest(folder: str | Path) -> Manifest:
    """Read ``index.json`` and ``manifest/*.json`` of a generated folder.

    Raises:
        InputError: naming the file that is missing, not canonical, or wrong.
    """
    root = Path(folder)
    record = loads_finite(_bytes(root / INDEX_NAME), str(root / INDEX_NAME))
    index = _index(record, root / INDEX_NAME)
    tasks: dict[str, PublicTask] = {}
    for identifier in (i for name in SPLITS for i in index.splits[name]):
        path = root / FOLDER_NAME / f"{identifier}.json"
        data = _bytes(path)
        task = task_from_json(loads_finite(data, str(path)), str(path))
        if task.text.encode("utf-8") != data or task.task_id != identifier:
            raise InputError(
                f"Expected the canonical text of task {identifier} in {path}. Got another.",
                hint="The file was edited; generate the set again.",
            )
        tasks[identifier] = task
    return Manifest(index, tasks)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"Expected a readable file {path}. Got: {error.strerror}.",
            hint="Name the folder that kernaut sealed generate wrote.",
        ) from error


def _index(record: Any, path: Path) -> Index:
    if not isinstance(record, Mapping) or record.get("version") != VERSION:
        raise InputError(f"Expected an index of version {VERSION} in {path}. Got another.")
    splits = record.get("splits")
    if not isinstance(splits, Mapping) or set(splits) != set(SPLITS):
        raise InputError(f"Expected the splits {', '.join(SPLITS)} in {path}. Got others.")
    named: dict[str, tuple[str, ...]] = {}
    for name, identifiers in splits.items():
        if not _are_task_ids(identifiers):
            raise InputError(f"Expected task ids in split {name} of {path}. Got something else.")
        named[name] = tuple(identifiers)
    everything = [identifier for identifiers in named.values() for identifier in identifiers]
    if len(set(everything)) != len(everything):
        raise InputError(f"Expected each task in one split in {path}. Got one in two.")
    return Index(named, FrozenMapping(record.get("provenance") or {}))


def _are_task_ids(identifiers: Any) -> bool:
    if not isinstance(identifiers, Sequence) or isinstance(identifiers, str):
        return False
    return all(isinstance(i, str) and _TASK_ID.fullmatch(i) is not None for i in identifiers)
