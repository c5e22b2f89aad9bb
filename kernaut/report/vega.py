"""Altair, imported without what takes most of its import's seconds: the grammar of one text format that jsonschema would check, and that no chart has.

Modules that draw with Altair take it from here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def _without(name: str) -> Iterator[None]:
    """Have an import of a module fail meanwhile, unless it is there already; whoever can do without does."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]


with _without("rfc3987_syntax"):
    import altair as alt

__all__ = ["alt"]
