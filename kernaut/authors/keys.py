"""Keys of model servers: read from the environment, or from a file ``.env``; never stored, printed or taken from a configuration.

Only a variable whose name ends in KEY, TOKEN, SECRET or PASSWORD can hold a key, since the values of those are kept out of the archive
and out of every message (:mod:`kernaut.archive.redaction`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from kernaut.archive.redaction import SHORTEST, SUFFIXES
from kernaut.authors.chat import ModelSettings
from kernaut.errors import InputError

VARIABLES = {"openai": "OPENAI_API_KEY", "openrouter": "OPENROUTER_API_KEY"}
"""Where a provider's key is looked for when a configuration does not say; the others need none."""

NO_KEY = "unused"
"""What a server that asks for no key is sent."""


def key_variable(settings: ModelSettings) -> str | None:
    """The environment variable that holds a model's key; None when it needs none.

    Raises:
        InputError: for a variable whose value would not be kept secret.
    """
    name = VARIABLES.get(settings.provider) if settings.api_key_env is None else settings.api_key_env or None
    if name is not None and not (name.isidentifier() and name.upper().endswith(SUFFIXES)):
        raise InputError(
            f"Expected api_key_env to be the name of an environment variable that ends in {', '.join(SUFFIXES)}. Got another text.",
            hint="A key itself never stands in a configuration.",
        )
    return name


def key_of(settings: ModelSettings) -> str:
    """The key of a model's server.

    Raises:
        InputError: when its variable is not set, or holds what cannot be a key; the value is not shown.
    """
    name = key_variable(settings)
    if name is None:
        return NO_KEY
    value = os.environ.get(name, "").strip()
    if not value:
        raise InputError(
            f"Expected a key for {settings.name} in the environment variable {name}. Got none.",
            hint=f"Set it (export {name}=...), or write it into a file .env in the folder you work in.",
        )
    if len(value) < SHORTEST or not all("!" <= mark <= "~" and mark not in '"\\' for mark in value):
        raise InputError(
            f"Expected a key of at least {SHORTEST} letters, digits and signs in the environment variable {name}. Got another kind of text."
        )
    return value


def read_dotenv(names: Iterable[str], path: Path = Path(".env")) -> list[str]:
    """Set those of these environment variables that are not set and that a file ``.env`` sets; others in it are passed over.

    Args:
        names: the variables that are wanted.
        path: lines ``NAME=value``, with or without ``export`` and quotes; comments begin with ``#``.

    Returns:
        The variables that came from the file.

    Raises:
        InputError: when the file is there and cannot be read.
    """
    wanted = [name for name in dict.fromkeys(names) if not os.environ.get(name)]
    if not wanted or not path.is_file():
        return []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"Expected a readable file of variables at {path}. Got: {type(error).__name__}.") from error
    found: dict[str, str] = {}
    for line in lines:
        name, sign, value = line.strip().removeprefix("export ").partition("=")
        if sign and name.strip() in wanted:
            found[name.strip()] = _unquoted(value.strip())
    os.environ.update({name: value for name, value in found.items() if value})
    return [name for name in wanted if found.get(name)]


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value.split(" #", 1)[0].strip()
