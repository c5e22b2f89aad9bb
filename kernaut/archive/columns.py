"""Column types of the archive: canonical JSON, guarded text and integers of any size.

JSON is stored as canonical text, so that equal values have equal bytes and floats come back bit for bit; it is read as frozen
mappings and tuples.  Seeds go up to 2**64 - 1, more than SQLite's integers hold, and are stored in decimal.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Dialect, String, Text
from sqlalchemy.types import TypeDecorator

from kernaut.archive.redaction import refuse_secrets
from kernaut.digest import canonical_json, freeze, loads_finite, thaw
from kernaut.errors import ArchiveError


class CanonicalJSON(TypeDecorator[Any]):
    """A JSON value as canonical text; read back frozen."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Write canonical text.

        Raises:
            ArchiveError: for a value that is not finite JSON, or that holds a secret.
        """
        if value is None:
            return None
        try:
            text = canonical_json(value)
            text.encode("utf-8")
        except (TypeError, ValueError) as error:
            raise ArchiveError(f"Expected finite JSON for the archive. Got: {error}.") from error
        refuse_secrets(text, "an archived JSON value")
        return text

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Read frozen mappings and tuples."""
        return None if value is None else freeze(loads_finite(value, "an archived JSON value"))


class OrderedJSON(CanonicalJSON):
    """A JSON value whose objects keep the order of their keys (a program's parameters, a candidate as its author wrote it)."""

    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Write the text in the order of the keys, under the rules of :class:`CanonicalJSON`."""
        if super().process_bind_param(value, dialect) is None:
            return None
        return json.dumps(thaw(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)


class GuardedText(TypeDecorator[str]):
    """Free text that is checked for secrets and for characters UTF-8 cannot hold."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Write the text as it is.

        Raises:
            ArchiveError: for a text that holds a secret or a lone surrogate.
        """
        if value is None:
            return None
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ArchiveError(f"Expected text that UTF-8 can hold. Got {error.reason}.") from error
        refuse_secrets(value, "an archived text")
        return value


class DecimalInteger(TypeDecorator[int]):
    """An integer of any size, in decimal."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: int | None, dialect: Dialect) -> str | None:
        """Write decimal digits."""
        return None if value is None else str(int(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> int | None:
        """Read decimal digits."""
        return None if value is None else int(value)
