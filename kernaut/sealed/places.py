"""Where keys and tokens lie, and files that their owner alone may read.  Knows nothing of what is in them; used by both sides."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Literal

from kernaut.errors import InputError

Role = Literal["runner", "owner"]

VARIABLE = "KERNAUT_SEALED_HOME"


def home() -> Path:
    """Where keys and tokens lie unless told otherwise: ``$KERNAUT_SEALED_HOME``, or ``~/.config/kernaut/sealed``."""
    given = os.environ.get(VARIABLE)
    return Path(given) if given else Path.home() / ".config" / "kernaut" / "sealed"


def key_path(key_id: str) -> Path:
    """Where the key of that id lies unless told otherwise."""
    return home() / "keys" / f"{key_id}.key"


def token_path(key_id: str, role: Role) -> Path:
    """Where a running service leaves the token of a role."""
    return home() / "tokens" / f"{key_id}.{role}"


def read_secret(path: Path, what: str, hint: str) -> str:
    """The text of a file that its owner alone may read.

    Args:
        path: the file.
        what: what it holds, for messages, which never show the content.
        hint: what to do when there is none.

    Raises:
        InputError: when it is missing, no text, or readable by others.
    """
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "no text"
        raise InputError(f"Expected {what} in {path}. Got: {reason}.", hint=hint) from None
    if stat.S_IMODE(mode) & 0o077:
        raise InputError(f"Expected {path} to be readable by its owner alone.", hint=f"Run: chmod 600 {path}")
    return text


def write_secret(path: Path, text: str, *, replace: bool = False) -> None:
    """Write a file with mode 600, in a folder made with mode 700, and sync it.

    Raises:
        InputError: when it exists (unless it may be replaced) or cannot be written.
    """
    target = path.with_name(f".{path.name}.{os.getpid()}") if replace else path
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if replace else os.O_EXCL), 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        if replace:
            target.replace(path)
    except OSError as error:
        raise InputError(f"Expected to write a new file {path}. Got: {error.strerror}.") from error
