"""A folder of what takes long and never changes: banks of candidates, measured symptoms, verdicts, each under an identifier of all it depends on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernaut.errors import InputError
from kernaut.operators.records import Verdicts


def cache_folder() -> Path:
    """Where banks are kept: ``$KERNAUT_CACHE``, else ``$XDG_CACHE_HOME/kernaut``, else ``~/.cache/kernaut``."""
    given = os.environ.get("KERNAUT_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernaut"


def require_cache(folder: Path) -> Path:
    """Make a cache folder where there is none, before long work is done for it.

    Raises:
        InputError: when it cannot be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Expected a cache folder to write to at {folder}. Got: {error.strerror}.") from error
    if not os.access(folder, os.W_OK):
        raise InputError(f"Expected a cache folder to write to at {folder}. Got one that may only be read.")
    return folder


def write_cache(place: Path, records: Any) -> None:
    """Write JSON so that nobody meets half of it.

    Raises:
        InputError: when it cannot be written.
    """
    beside = place.with_suffix(f".{os.getpid()}.part")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps(records), encoding="utf-8")
        beside.replace(place)
    except OSError as error:
        raise InputError(f"Expected a cache folder to write to at {place.parent}. Got: {error.strerror}.") from error


def remembered(place: Path | None, form: Callable[[], Verdicts]) -> Verdicts:
    """Verdicts from a file, or formed and written there; formed alone where there is no place for them."""
    if place is not None and place.is_file():
        return Verdicts.from_json(json.loads(place.read_text(encoding="utf-8")))
    found = form()
    if place is not None:
        write_cache(place, found.to_json())
    return found
