"""Arrays as text: base64 of an uncompressed ``npz`` archive whose bytes depend on the arrays alone.

Fixed: little-endian float64 or int64, C order, ``npy`` format 1.0, members in the order of their names, dates of 1980.  Used by both sides.
"""

from __future__ import annotations

import base64
import binascii
import io
import re
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.errors import InputError

Array = NDArray[Any]

MAX_BYTES = 16 * 1024 * 1024
_DATE = (1980, 1, 1, 0, 0, 0)
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


def encode_arrays(arrays: Mapping[str, Array]) -> str:
    """The text of named arrays; equal arrays have equal texts.

    Args:
        arrays: float or integer arrays of any shape, by name (lower case).

    Raises:
        InputError: for a name or a dtype that has no fixed form, or a number that is not finite.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(arrays):
            if not _NAME.fullmatch(name):
                raise InputError(f"Expected array names of lower-case letters, digits and _. Got {name!r}.")
            member = zipfile.ZipInfo(f"{name}.npy", date_time=_DATE)
            member.create_system = 3
            member.external_attr = 0o600 << 16
            archive.writestr(member, _npy(name, arrays[name]))
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def decode_arrays(text: str, where: str) -> dict[str, Array]:
    """The arrays of a text, read-only; nothing is ever unpickled.

    Args:
        text: as written by :func:`encode_arrays`.
        where: what the text is, for messages.

    Raises:
        InputError: when the text is no such archive, or larger than 16 MiB.
    """
    if not isinstance(text, str) or len(text) > MAX_BYTES:
        raise InputError(f"Expected {where} to be base64 text of at most {MAX_BYTES} bytes. Got something else.")
    arrays: dict[str, Array] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(base64.b64decode(text, validate=True))) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > MAX_BYTES:
                raise InputError(f"Expected arrays of at most {MAX_BYTES} bytes in {where}. Got more.")
            for member in members:
                name = member.filename.removesuffix(".npy")
                array = np.lib.format.read_array(io.BytesIO(archive.read(member)), allow_pickle=False)
                if not _NAME.fullmatch(name) or array.dtype.str not in ("<f8", "<i8"):
                    raise InputError(f"Expected float64 or int64 arrays in {where}. Got {member.filename!r}.")
                array.flags.writeable = False
                arrays[name] = array
    except (binascii.Error, zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError) as error:
        raise InputError(f"Expected {where} to be base64 text of an npz archive. Got: {error}.") from error
    return arrays


def _npy(name: str, array: Array) -> bytes:
    given = np.asarray(array)
    if given.dtype.kind not in "fiu":
        raise InputError(f"Expected numbers in array {name!r}. Got {given.dtype}.")
    if not np.isfinite(given).all():
        raise InputError(f"Expected finite numbers in array {name!r}. Got others.")
    fixed = np.ascontiguousarray(given, dtype="<f8" if given.dtype.kind == "f" else "<i8").reshape(given.shape)
    stream = io.BytesIO()
    np.lib.format.write_array(stream, fixed, version=(1, 0), allow_pickle=False)
    return stream.getvalue()
