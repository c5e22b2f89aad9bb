"""The sealed ledger: targets, optima and calibration of each task, tagged row by row.  Trusted side.

A folder readable by its owner alone: ``ledger.json`` (what the set is) and ``rows/TASK.json``.  Each file is ``{"payload": ..., "tag": ...}`` with
the HMAC-SHA256 of the payload's canonical JSON under a key that lies elsewhere.  Tags are verified at every read.
"""

from __future__ import annotations

import hmac
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernaut.digest import canonical_json, loads_finite
from kernaut.errors import InputError, KernautError
from kernaut.sealed.arrays import Array, decode_arrays, encode_arrays
from kernaut.sealed.calibration import RandomLevel
from kernaut.sealed.manifest import Direction, Index
from kernaut.sealed.sealing import SealedKey

HEADER_NAME = "ledger.json"
ROWS_NAME = "rows"
_RESTORE = "Restore the ledger from a copy, or generate it again with the same seed and key file."
_ROW_FIELDS = {
    "task_id",
    "family",
    "objective_direction",
    "public_digest",
    "horizon_budget",
    "compute_budget",
    "targets",
    "j_star",
    "certificate",
    "j_random",
    "j_worst",
    "calibrated",
}


class LedgerDamaged(KernautError):
    """The ledger on disk is not what its owner wrote; nothing may be scored with it."""

    exit_code = 3


@dataclass(frozen=True, eq=False)
class LedgerRow:
    """One task's sealed row.

    Args:
        task_id: the task.
        family: its family.
        objective_direction: its direction.
        public_digest: SHA-256 of the public task's canonical text.
        horizon_budget: most evaluator calls an episode.
        compute_budget: seconds an episode [s].
        targets: hidden arrays by name.
        j_star: the optimum.
        certificate: of the optimum.
        j_random: the random policy's level.
        j_worst: J of an episode without a legal final output.
        calibrated: whether regret is reported.
    """

    task_id: str
    family: str
    objective_direction: Direction
    public_digest: str
    horizon_budget: int
    compute_budget: float
    targets: Mapping[str, Array]
    j_star: float
    certificate: Mapping[str, Any]
    j_random: RandomLevel
    j_worst: float
    calibrated: bool

    def payload(self) -> dict[str, Any]:
        """A JSON object."""
        return {
            "task_id": self.task_id,
            "family": self.family,
            "objective_direction": self.objective_direction,
            "public_digest": self.public_digest,
            "horizon_budget": self.horizon_budget,
            "compute_budget": self.compute_budget,
            "targets": encode_arrays(self.targets),
            "j_star": self.j_star,
            "certificate": dict(self.certificate),
            "j_random": self.j_random.to_json(),
            "j_worst": self.j_worst,
            "calibrated": self.calibrated,
        }


class Ledger:
    """An open ledger.

    Args:
        folder: where it lies.
        key: its key.

    Attributes:
        index: the split assignment that was sealed with it.
        families: task families in the order of their names.

    Raises:
        InputError: when there is no ledger, others may read it, or the key is another's.
        LedgerDamaged: when a tag does not fit, or a row is missing.
    """

    def __init__(self, folder: Path, key: SealedKey) -> None:
        self.folder = folder
        self._key = key
        if sealed_key_id(folder) != key.id:
            raise InputError(
                f"Expected the key that sealed {folder}. Got another one.", hint="Name the right one with --key-file."
            )
        self._verified: dict[str, tuple[bytes, LedgerRow]] = {}
        header = self._payload(folder / HEADER_NAME, _content(folder / HEADER_NAME))
        self.header = header
        self.index = Index({name: tuple(ids) for name, ids in header["splits"].items()}, header["provenance"])
        self.task_ids = tuple(identifier for ids in self.index.splits.values() for identifier in ids)
        _require_private([folder / ROWS_NAME, *(self._path(identifier) for identifier in self.task_ids)])
        self.families = tuple(sorted({self.row(identifier).family for identifier in self.task_ids}))

    def row(self, task_id: str) -> LedgerRow:
        """Read one row from disk and verify its tag.

        Raises:
            LedgerDamaged: when it is missing, or not what was written.
            InputError: for a task that is not in this ledger.
        """
        if task_id not in self.task_ids:
            raise InputError("Expected a task of this ledger. Got another.")
        path = self._path(task_id)
        text = _content(path)
        verified = self._verified.get(task_id)
        if verified is not None and verified[0] == text:  # byte for byte what fitted its tag before
            return verified[1]
        payload = self._payload(path, text)
        if set(payload) != _ROW_FIELDS or payload["task_id"] != task_id:
            raise LedgerDamaged(f"Expected the sealed row of {task_id} in {self.folder}. Got another row.")
        level = RandomLevel(**payload["j_random"])
        targets = decode_arrays(payload["targets"], "sealed targets")
        row = LedgerRow(**{**payload, "targets": targets, "j_random": level})
        self._verified[task_id] = (text, row)
        return row

    def _path(self, task_id: str) -> Path:
        return self.folder / ROWS_NAME / f"{task_id}.json"

    def _payload(self, path: Path, text: bytes) -> dict[str, Any]:
        record = _sealed_record(text)
        if record is None or not hmac.compare_digest(record["tag"], self._key.tag(record["payload"])):
            raise LedgerDamaged(f"Expected {path} to fit its tag. It was changed after it was sealed.", hint=_RESTORE)
        payload: dict[str, Any] = record["payload"]
        return payload


def write_ledger(folder: Path, key: SealedKey, index: Index, rows: list[LedgerRow], extra: Mapping[str, Any]) -> None:
    """Write a new ledger.

    Args:
        folder: a folder that does not exist yet or is empty.
        key: tags every file.
        index: the split assignment.
        rows: one a task.
        extra: further facts for the header.

    Raises:
        InputError: when it cannot be written.
    """
    prepare_private(folder)
    (folder / ROWS_NAME).mkdir(mode=0o700)
    for row in rows:
        _write(folder / ROWS_NAME / f"{row.task_id}.json", key, row.payload())
    header = {**index.to_json(), "key_id": key.id, **extra}
    _write(folder / HEADER_NAME, key, header)


def prepare_private(folder: Path) -> None:
    """Make a folder that its owner alone may read.

    Raises:
        InputError: when it holds files, or cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if any(folder.iterdir()):
            raise InputError(f"Expected an empty or new folder for the ledger. Got {folder}, which holds files.")
        folder.chmod(0o700)
    except OSError as error:
        raise InputError(f"Expected to make the folder {folder}. Got: {error.strerror}.") from error


def sealed_key_id(folder: Path) -> str:
    """The id of the key that sealed a ledger, as it says itself (not verified yet).

    Raises:
        InputError: when there is no ledger, or others may read it.
        LedgerDamaged: when its header cannot be read.
    """
    path = folder / HEADER_NAME
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"Expected a sealed ledger in {folder}. Got: {error.strerror}.",
            hint="Name the ledger folder that kernaut sealed generate printed.",
        ) from None
    _require_private([folder, path])
    record = _sealed_record(text)
    identifier = record["payload"].get("key_id") if record is not None else None
    if not isinstance(identifier, str):
        raise LedgerDamaged(f"Expected {path} to be a ledger header. It was changed after it was sealed.")
    return identifier


def _require_private(paths: list[Path]) -> None:
    """What exists of these is its owner's alone."""
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError:
            continue
        if stat.S_IMODE(mode) & 0o077:
            right = 700 if stat.S_ISDIR(mode) else 600
            raise InputError(f"Expected {path} to be readable by its owner alone.", hint=f"Run: chmod {right} {path}")


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise LedgerDamaged(f"Expected the ledger file {path}. Got: {error.strerror}.", hint=_RESTORE) from None


def _sealed_record(text: bytes) -> dict[str, Any] | None:
    """The record of a ledger file, None when it has not the form or the very bytes that :func:`_write` gives it."""
    try:
        record = loads_finite(text, "a ledger file")
    except InputError:
        return None
    if not isinstance(record, dict) or set(record) != {"payload", "tag"} or not isinstance(record["payload"], dict):
        return None
    if not isinstance(record["tag"], str) or canonical_json(record).encode("utf-8") != text:
        return None
    return record


def _write(path: Path, key: SealedKey, payload: Mapping[str, Any]) -> None:
    text = canonical_json({"payload": payload, "tag": key.tag(payload)})
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
