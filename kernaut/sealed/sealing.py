"""The sealed key: tags of ledger rows, tokens, and the streams that hidden quantities are drawn from.  Trusted side.

The generator's code and the instances' seeds are public, so that whatever is hidden comes from ``HMAC-SHA256(key, task_id)``, expanded by
SHAKE-256 (FIPS 202): no part of a stream can be computed from another, as could be with a statistical generator whose noise is published.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from kernaut.digest import canonical_json
from kernaut.errors import InputError
from kernaut.sealed.places import key_path, read_secret, write_secret

Array = NDArray[np.float64]

KEY_BYTES = 32


class SealedKey:
    """The key of one ledger; its bytes show in no representation.

    Args:
        secret: 32 bytes.

    Raises:
        InputError: for another length.
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        if len(secret) != KEY_BYTES:
            raise InputError(f"Expected a sealed key of {KEY_BYTES} bytes. Got {len(secret)}.")
        self._secret = secret

    def __repr__(self) -> str:
        return f"SealedKey(id={self.id!r})"

    def __reduce__(self) -> tuple[object, ...]:
        """Keys are not pickled.

        Raises:
            TypeError: always.
        """
        raise TypeError("a sealed key is not pickled")

    @property
    def id(self) -> str:
        """A public name that tells nothing of the key: 16 hex digits."""
        return self.mac("kernaut sealed key id")[:16]

    def mac(self, text: str) -> str:
        """HMAC-SHA256 of a text, in hex."""
        return hmac.new(self._secret, text.encode("utf-8"), hashlib.sha256).hexdigest()

    def tag(self, payload: object) -> str:
        """HMAC-SHA256 over the canonical JSON of a payload, in hex."""
        return self.mac(canonical_json(payload))

    def stream(self, task_id: str, seed: int, purpose: str) -> SealedStream:
        """The hidden stream of one task.

        Args:
            task_id: the task.
            seed: the instance's public seed (so that one key serves several sets).
            purpose: what is drawn; streams of different purposes are independent.
        """
        return SealedStream(f"{self.mac(task_id)}|{seed}|{purpose}")


class SealedStream:
    """Draws of one hidden stream, in order.

    Args:
        name: what seeds it; whoever knows it knows the draws.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._block = 0

    def uniform(self, shape: int | tuple[int, ...] = ()) -> Array:
        """Uniform numbers in (0, 1), 53 bits each."""
        count = math.prod(shape) if isinstance(shape, tuple) else shape
        data = hashlib.shake_256(f"{self._name}|{self._block}".encode()).digest(8 * count)
        self._block += 1
        whole = np.frombuffer(data, dtype="<u8") >> np.uint64(11)
        return ((whole.astype(np.float64) + 0.5) * 2.0**-53).reshape(shape)

    def normal(self, shape: int | tuple[int, ...] = ()) -> Array:
        """Standard normal numbers, by the inverse distribution function."""
        return np.asarray(ndtri(self.uniform(shape)))


def new_key() -> SealedKey:
    """A key that nobody has had before; :func:`write_key` keeps it."""
    return SealedKey(secrets.token_bytes(KEY_BYTES))


def write_key(key: SealedKey, path: Path | None = None) -> Path:
    """Write a key, readable by its owner alone; where it went.

    Args:
        key: what to write.
        path: where to; a place of its own under :func:`kernaut.sealed.places.home` if absent.

    Raises:
        InputError: when the file exists or cannot be written.
    """
    where = key_path(key.id) if path is None else path
    write_secret(where, key._secret.hex() + "\n")
    return where


def read_key(path: Path) -> SealedKey:
    """Read a key file: 64 hex digits, readable by its owner alone.

    Raises:
        InputError: when it is missing, readable by others, or no key; the message never holds its content.
    """
    text = read_secret(path, "a sealed key", "Name it with --key-file.")
    try:
        return SealedKey(bytes.fromhex(text))
    except (ValueError, InputError):
        raise InputError(f"Expected 64 hex digits in {path}. Got something else.") from None
