"""Refuse a public task that holds its answer, by name or by content.  Trusted side.

By name: fields called like a label, target, optimum or hash.  By content: the hidden arrays, also transformed (negated, reversed, sorted, scaled,
accumulated ...), serialized in many ways (floats of both widths and byte orders, integers, bits, text, hex, base64 at each offset), and
digests of them, searched for in the public bytes; single hidden numbers; and public numbers that are an affine function of the hidden ones.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.errors import InputError
from kernaut.sealed.manifest import FIELDS, PublicTask

Array = NDArray[np.float64]

_FORBIDDEN = re.compile(
    r"label|target|answer|solution|optim|star|truth|hidden|secret|sealed|oracle|encod|coefficient|perturb|hash|digest|sha\d|md5|hmac|^tag$|j_|worst|^y$"
)
_LEAST_BYTES, _LEAST_TEXT = 5, 8
_LEAST_WINDOW = 8
_AFFINE = 0.9999
_DIGESTS = ("md5", "sha1", "sha256", "sha512", "blake2b")


def require_sealed(task: PublicTask, targets: Mapping[str, NDArray[Any]], values: Mapping[str, float]) -> None:
    """Check that a public task gives nothing away.

    Args:
        task: what is about to be written.
        targets: the hidden arrays.
        values: hidden numbers by name (J_star and the like).

    Raises:
        InputError: naming the field, or the hidden array that was found and in which form.
    """
    for name in _names(task):
        if _FORBIDDEN.search(name.lower()):
            raise InputError(f"Expected public names that are no answer in {task.task_id}. Got {name!r}.")
    haystacks = [task.text.encode("utf-8"), *(array.tobytes() for array in task.input.values())]
    for name, array in targets.items():
        flat = np.asarray(array, dtype=np.float64)
        for form, needle in _needles(flat):
            if any(needle in haystack for haystack in haystacks):
                raise InputError(f"Expected nothing of {name} in the public task {task.task_id}. Found it as {form}.")
        _require_no_copy(task, name, flat.ravel())
    for name, value in values.items():
        if _is_telling(value) and any(n in h for n in _number_needles(value) for h in haystacks):
            raise InputError(f"Expected nothing of {name} in the public task {task.task_id}. Found its value.")


def _names(task: PublicTask) -> Iterator[str]:
    yield from task.input
    queue: list[Any] = [task.p_i]
    while queue:
        item = queue.pop()
        if isinstance(item, Mapping):
            yield from item
            queue.extend(item.values())
        elif isinstance(item, tuple):
            queue.extend(item)
    yield from (name for name in task.to_json() if name not in FIELDS)


def _variants(array: Array) -> Iterator[tuple[str, Array]]:
    flat = array.ravel()
    yield "itself", flat
    if array.ndim == 2:
        yield "its transpose", array.T.ravel()
    spread = flat.std()
    made = {
        "its negative": -flat,
        "its reverse": flat[::-1],
        "its sorted values": np.sort(flat),
        "its ranks": np.argsort(flat).astype(np.float64),
        "its sums": np.cumsum(flat),
        "its squares": flat**2,
        "its double": 2.0 * flat,
        "its half": 0.5 * flat,
        "one more": flat + 1.0,
        "its 0-1 form": 0.5 * (flat + 1.0),
        "its flipped 0-1 form": 0.5 * (1.0 - flat),
        "its signs": np.sign(flat),
        "its standardized form": (flat - flat.mean()) / spread if spread > 0 else flat,
    }
    if flat.size >= _LEAST_WINDOW:
        yield from ((form, value) for form, value in made.items() if len(np.unique(value)) > 1)


def _needles(array: Array) -> Iterator[tuple[str, bytes]]:
    for form, values in _variants(array):
        raw = list(_serialized(values))
        for how, data in raw:
            yield f"{form} in {how}", data
            yield f"{form} in hex of {how}", data.hex().encode()
            yield f"{form} in base64 of {how}", _base64_core(data)
            for shift in (1, 2):
                yield f"{form} in base64 of {how}", _base64_core(b"\0" * shift + data)
        for how, data in raw:
            for algorithm in _DIGESTS:
                digest = hashlib.new(algorithm, data).digest()
                for printed in (digest, digest.hex().encode(), digest.hex()[:16].encode(), base64.b64encode(digest)):
                    yield f"{algorithm} of {form} in {how}", printed


def _serialized(values: Array) -> Iterator[tuple[str, bytes]]:
    whole = bool(np.all(values == np.round(values)))
    for dtype in ("<f8", ">f8", "<f4", ">f4"):
        yield dtype, values.astype(dtype).tobytes()
    if whole and np.abs(values).max(initial=0.0) < 128:
        for dtype in ("i1", "<i4", "<i8"):
            yield dtype, values.astype(dtype).tobytes()
    distinct = np.unique(values)
    if len(distinct) == 2 and values.size >= 8 * _LEAST_BYTES:
        for high in distinct:
            yield "bits", np.packbits(values == high).tobytes()
    numbers = [int(v) if whole else float(v) for v in values]
    for joint in (",", ", ", " ", ""):
        text = joint.join(map(str, numbers)).encode()
        if len(text) >= _LEAST_TEXT and values.size >= _LEAST_WINDOW:
            yield "text", text
    if not whole and values.size >= _LEAST_WINDOW:
        yield "short text", ",".join(f"{v:.6g}" for v in values).encode()


def _base64_core(data: bytes) -> bytes:
    """The middle of the base64 text, which does not depend on what stands around the data."""
    return base64.b64encode(data)[4:-4] if len(data) >= 12 else base64.b64encode(data)


def _number_needles(value: float) -> Iterator[bytes]:
    yield repr(value).encode()
    yield repr(-value).encode()
    for dtype in ("<f8", ">f8"):
        yield np.array(value, dtype=dtype).tobytes()
        yield np.array(-value, dtype=dtype).tobytes()


def _is_telling(value: float) -> bool:
    """Whether a number has so many digits that meeting it is no accident."""
    return len(repr(abs(value)).replace(".", "").strip("0")) >= _LEAST_TEXT


def _require_no_copy(task: PublicTask, name: str, hidden: Array) -> None:
    """No single hidden number stands in public, and no run of public numbers is an affine function of the hidden ones."""
    public = [np.asarray(a, dtype=np.float64) for a in task.input.values()]
    lines = [line for a in public for line in (a.ravel(), a.T.ravel())]
    everything = np.concatenate([a.ravel() for a in public]) if public else np.zeros(0)
    telling = np.array([v for v in hidden if _is_telling(float(v))])
    if np.isin(telling, everything).any() or np.isin(-telling, everything).any():
        raise InputError(f"Expected nothing of {name} in the public task {task.task_id}. Found one of its numbers.")
    size = hidden.size
    centred = hidden - hidden.mean()
    norm = float(np.linalg.norm(centred))
    if size < _LEAST_WINDOW or norm < 1e-12:
        return
    for line in lines:
        if line.size < size:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(line, size)
        shifted = windows - windows.mean(axis=1, keepdims=True)
        lengths = np.linalg.norm(shifted, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            agreement = np.abs(shifted @ centred) / (lengths * norm)
        if np.nanmax(np.where(lengths > 1e-12, agreement, 0.0)) > _AFFINE:
            raise InputError(
                f"Expected nothing of {name} in the public task {task.task_id}. Found an affine function of it."
            )
