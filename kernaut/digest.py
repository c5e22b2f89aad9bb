"""Canonical JSON and content identifiers.

Canonical JSON has sorted keys, no white space, UTF-8 and finite numbers only, so that equal values have equal bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kernaut.errors import InputError


class FrozenMapping(Mapping[str, Any]):
    """An immutable, picklable JSON object; nested objects and arrays are frozen with it."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any]) -> None:
        self._items = {str(key): freeze(value) for key, value in items.items()}

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(canonical_json(self))

    def __repr__(self) -> str:
        return f"FrozenMapping({thaw(self)!r})"


def freeze(value: Any) -> Any:
    """A deeply immutable copy of a JSON value: objects to :class:`FrozenMapping`, arrays to tuples."""
    if isinstance(value, Mapping):
        return value if isinstance(value, FrozenMapping) else FrozenMapping(value)
    if isinstance(value, (list, tuple)):
        return tuple(freeze(item) for item in value)
    return value


def thaw(value: Any) -> Any:
    """The inverse of :func:`freeze`: plain dictionaries and lists, copied."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [thaw(item) for item in value]
    return value


def require_json(value: Any, where: str) -> None:
    """Check that a value is finite JSON, and its texts can be written as UTF-8.

    Raises:
        InputError: naming the path of the first value that is not.
    """
    if isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InputError(f"Expected string keys in {where}. Got {key!r}.")
            _require_utf8(key, where)
            require_json(item, f"{where}.{key}")
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        for index, item in enumerate(value):
            require_json(item, f"{where}[{index}]")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(f"Expected a finite number for {where}. Got {value!r}.")
    elif isinstance(value, str):
        if not value.isascii():
            _require_utf8(value, where)
    elif value is not None and not isinstance(value, (int, bool)):
        raise InputError(f"Expected a JSON value for {where}. Got {type(value).__name__}.")


def _require_utf8(text: str, where: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"Expected text that UTF-8 can hold for {where}. Got {text[error.start]!r}.") from error


def canonical_json(value: Any) -> str:
    """Sorted keys, no white space, no escapes beyond JSON's own.

    Raises:
        ValueError: for a number that is not finite.
    """
    return json.dumps(thaw(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def content_id(value: Any) -> str:
    """First 16 hex digits of SHA-256 over the canonical JSON of a value."""
    return hashlib.sha256(canonical_json(value).encode("utf-8")).hexdigest()[:16]


def loads_finite(text: str | bytes, where: str) -> Any:
    """Parse JSON, refusing ``NaN`` and ``Infinity`` and naming the place of a syntax error.

    Raises:
        InputError: when the text is not JSON or holds a number that is not finite.
    """
    try:
        value = json.loads(text)
        require_json(value, where)
    except (ValueError, RecursionError) as error:
        raise InputError(f"Expected JSON in {where}. Got: {error}.") from error
    return value
