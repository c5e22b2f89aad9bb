"""Stable seeds: every random stream is named, none is global.

``numpy.random.default_rng`` of a stable seed is the only source of randomness in Kernaut.
"""

from __future__ import annotations

import hashlib

import numpy as np


def stable_seed(*names: str | int) -> int:
    """The first 8 bytes, big-endian, of SHA-256 over the names joined by ``|``.

    Args:
        names: strings (integers are written in decimal).

    Returns:
        An integer in [0, 2**64), the same on every machine and in every process.
    """
    text = "|".join(str(name) for name in names)
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big")


def generator(*names: str | int) -> np.random.Generator:
    """A fresh generator seeded by :func:`stable_seed` of the names."""
    return np.random.default_rng(stable_seed(*names))
