"""Child side, trusted, domain ``code``: plain values as JSON, so that nothing but data goes between a candidate's process and that of its tests.

What is decoded is built from plain types only, whatever the other side wrote: no class of a candidate, and no method of it, ever reaches a test.
"""

from __future__ import annotations

import collections
import decimal
import fractions
import json
from typing import Any

MOST_TEXT = 400_000
MOST_DEPTH = 60
MOST_ITEMS = 20_000
_WHOLE = 1 << 62

_GROUPS: tuple[Any, ...] = (tuple, list, set, frozenset, collections.deque)
_VIEWS: tuple[Any, ...] = (type({}.keys()), type({}.values()), type({}.items()))


class NotPlain(Exception):
    """A value that cannot go between processes."""


def encoded(value: Any) -> str:
    """A value as JSON text.

    Raises:
        NotPlain: for functions, objects of other classes, and values too deep or too large.
    """
    text = json.dumps(_encode(value, 0), allow_nan=False, separators=(",", ":"))
    if len(text) > MOST_TEXT:
        raise NotPlain(f"a value of {len(text)} characters")
    return text


def decoded(text: str) -> Any:
    """The value of a text.

    Raises:
        NotPlain: for a text that :func:`encoded` does not write.
    """
    try:
        return _decode(json.loads(text))
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError) as error:
        raise NotPlain("no plain value") from error


def _encode(value: Any, depth: int) -> Any:
    if depth > MOST_DEPTH:
        raise NotPlain("a value nested too deep")
    if value is None or isinstance(value, bool) or type(value) is str:
        return value
    if isinstance(value, int):
        return int(value) if -_WHOLE < value < _WHOLE else {"int": format(value, "x")}
    if isinstance(value, float):
        return float(value) if abs(value) < float("inf") else {"float": repr(float(value))}
    if type(value) is list:
        return [_encode(item, depth + 1) for item in value]
    kind, items = _parts(value)
    return {kind: [_encode(item, depth + 1) for item in items]}


def _parts(value: Any) -> tuple[str, Any]:
    """The name of a value's kind, and the parts that make it."""
    if isinstance(value, str):
        return "str", [str.__str__(value)]
    if isinstance(value, complex):
        return "complex", [value.real, value.imag]
    if isinstance(value, (bytes, bytearray)):
        return type(value).__name__, list(value)
    if isinstance(value, (decimal.Decimal, fractions.Fraction)):
        return type(value).__name__, [str(value)]
    if isinstance(value, range):
        return "range", [value.start, value.stop, value.step]
    for mapping in (collections.Counter, collections.OrderedDict, dict):
        if isinstance(value, mapping):
            return mapping.__name__, [list(pair) for pair in dict.items(value)]
    if isinstance(value, _VIEWS):
        return type(value).__name__, [tuple(item) if isinstance(item, tuple) else item for item in value]
    for group in _GROUPS:
        if isinstance(value, group):
            return group.__name__, list(value)
    if hasattr(type(value), "__next__"):
        items = []
        for item in value:
            items.append(item)
            if len(items) > MOST_ITEMS:
                raise NotPlain(f"an iterator of more than {MOST_ITEMS} items")
        return "iterator", items
    raise NotPlain(f"an object of type {type(value).__name__}")


_MAKERS: dict[str, Any] = {
    "str": lambda items: str(*items),
    "complex": lambda items: complex(*items),
    "bytes": bytes,
    "bytearray": bytearray,
    "Decimal": lambda items: decimal.Decimal(*items),
    "Fraction": lambda items: fractions.Fraction(*items),
    "range": lambda items: range(*items),
    "Counter": lambda items: collections.Counter(dict(items)),
    "OrderedDict": collections.OrderedDict,
    "dict": dict,
    "dict_keys": lambda items: dict.fromkeys(items).keys(),
    "dict_values": lambda items: dict(enumerate(items)).values(),
    "dict_items": lambda items: dict(items).items(),
    "tuple": tuple,
    "list": list,
    "set": set,
    "frozenset": frozenset,
    "deque": collections.deque,
    "iterator": iter,
}


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, items),) = value.items()
    if kind == "int":
        return int(items, 16)
    if kind == "float":
        return float(items)
    return _MAKERS[kind]([_decode(item) for item in items])
