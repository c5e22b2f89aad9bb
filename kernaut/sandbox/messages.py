"""Frames between a client and its child: a fixed binary header, raw float64 buffers, then text.

Header (little-endian, 108 bytes): magic, kind, flags, array count, text length, and four times (ndim, rows, columns).  Arrays
follow in order, C-contiguous, then the text in UTF-8.  Every size is checked before a byte is allocated, so that a hostile child can
neither make its client allocate nor unpickle.  Used by both sides.
"""

from __future__ import annotations

import socket
import struct
import time
from dataclasses import dataclass

import numpy as np

from kernaut.sandbox.records import Floats

MAGIC = b"KRN1"
HEADER = struct.Struct("<4sBBHI12q")
MAX_ARRAYS = 4
MAX_TEXT = 4 << 20
MIB = 1 << 20
_JOIN_BELOW = 1 << 16
_FIRST = 1 << 16
_PADDING = ((0, 0), (0,), ())

# kinds, client to child
LOAD, EVALUATE, TREE, PULLBACK, ASK = 1, 2, 3, 4, 5
# kinds, child to client
HELLO, VALUE, FAILED, REFUSED = 16, 17, 18, 19
# flags of a request
WANT_POINTS = 1
# flags of a reply
SLOW_PATH, NOT_DIFFERENTIABLE = 1, 2


class BrokenFrame(Exception):
    """Bytes that are no frame, or a frame larger than agreed."""


class DeadlinePassed(Exception):
    """The request's deadline passed before the whole frame had come or gone."""


@dataclass(frozen=True, eq=False)
class Frame:
    """One message.

    Args:
        kind: one of the constants above.
        flags: bits, by kind.
        arrays: up to four float64 arrays of at most two dimensions.
        text: UTF-8 bytes.
    """

    kind: int
    flags: int = 0
    arrays: tuple[Floats, ...] = ()
    text: bytes = b""


def send(peer: socket.socket, frame: Frame, deadline: float | None = None) -> None:
    """Write one frame.

    Args:
        peer: a connected stream socket.
        frame: the message.
        deadline: ``time.monotonic()`` value; None waits for ever.

    Raises:
        DeadlinePassed: when the peer does not read in time.
        OSError: when the peer is gone.
    """
    shapes: list[int] = []
    size = 0
    for array in frame.arrays:
        size += array.nbytes
        shapes += (array.ndim, *array.shape, *_PADDING[array.ndim])
    shapes += [0] * (3 * (MAX_ARRAYS - len(frame.arrays)))
    header = HEADER.pack(MAGIC, frame.kind, frame.flags, len(frame.arrays), len(frame.text), *shapes)
    if size < _JOIN_BELOW:
        _send_all(peer, b"".join((header, *(array.tobytes() for array in frame.arrays), frame.text)), deadline)
        return
    _send_all(peer, header, deadline)
    for array in frame.arrays:
        if array.nbytes:
            _send_all(peer, np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, deadline)
    if frame.text:
        _send_all(peer, frame.text, deadline)


def receive(peer: socket.socket, largest: int, deadline: float | None = None) -> Frame | None:
    """Read one frame.

    Args:
        peer: a connected stream socket.
        largest: most bytes of all arrays together.
        deadline: ``time.monotonic()`` value for the whole frame, however slowly it drips; None waits for ever.

    Returns:
        The frame, or None when the peer closed its end first.

    Raises:
        BrokenFrame: for bytes that are no frame, a frame cut short, or one larger than ``largest``.
        DeadlinePassed: when the frame is not complete in time.
    """
    begun = _receive_some(peer, deadline)
    if not begun:
        return None
    while len(begun) < HEADER.size:
        more = _receive_some(peer, deadline)
        if not more:
            raise BrokenFrame("a reply cut short")
        begun += more
    magic, kind, flags, count, text_length, *shapes = HEADER.unpack_from(begun)
    if magic != MAGIC:
        raise BrokenFrame("a reply that is no frame")
    if count > MAX_ARRAYS or text_length > MAX_TEXT:
        raise BrokenFrame(f"a reply of {count} arrays and {text_length} bytes of text")
    sizes = [_size(shapes[i], shapes[i + 1], shapes[i + 2], largest) for i in range(0, 3 * count, 3)]
    total = 8 * sum(sizes)
    if total > largest:
        raise BrokenFrame(f"a reply of {total} bytes where at most {largest} are allowed")
    payload = _payload(peer, memoryview(begun)[HEADER.size :], total + text_length, deadline)
    arrays, start = [], 0
    for index, size in enumerate(sizes):
        shape = shapes[3 * index + 1 : 3 * index + 1 + shapes[3 * index]]
        arrays.append(np.frombuffer(payload, np.float64, size, start).reshape(shape))
        start += 8 * size
    return Frame(kind, flags, tuple(arrays), bytes(payload[start:]))


def _payload(peer: socket.socket, begun: memoryview, length: int, deadline: float | None) -> bytearray:
    """All bytes after the header, of which some have come with it; more than announced are none of a reply."""
    if len(begun) > length:
        raise BrokenFrame("more bytes than it announced")
    payload = bytearray(length)
    payload[: len(begun)] = begun
    filled, view = len(begun), memoryview(payload)
    while filled < length:
        count = _receive_into(peer, view[filled:], deadline)
        if count == 0:
            raise BrokenFrame("a reply cut short")
        filled += count
    return payload


def _size(ndim: int, rows: int, columns: int, largest: int) -> int:
    """Numbers in an array of these dimensions, each checked so that no product can overflow or allocate."""
    if ndim == 2 and 0 <= rows <= largest and 0 <= columns <= largest:
        return rows * columns
    if ndim == 1 and 0 <= rows <= largest:
        return rows
    if ndim == 0:
        return 1
    raise BrokenFrame(f"an array of {ndim} dimensions, {rows} by {columns}, where at most {largest} bytes are allowed")


def _remaining(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise DeadlinePassed
    return left


def _send_all(peer: socket.socket, data: bytes | memoryview, deadline: float | None) -> None:
    if deadline is not None:  # a confined child may not change its socket
        peer.settimeout(_remaining(deadline))
    try:
        peer.sendall(data)
    except TimeoutError as error:
        raise DeadlinePassed from error


def _receive_some(peer: socket.socket, deadline: float | None) -> bytes:
    """What is there, at most enough for a small frame; nothing when the peer closed its end."""
    if deadline is not None:
        peer.settimeout(_remaining(deadline))
    try:
        return peer.recv(_FIRST)
    except TimeoutError as error:
        raise DeadlinePassed from error
    except ConnectionResetError:
        return b""


def _receive_into(peer: socket.socket, view: memoryview, deadline: float | None) -> int:
    """Bytes received, 0 when the peer closed its end."""
    if deadline is not None:
        peer.settimeout(_remaining(deadline))
    try:
        return peer.recv_into(view)
    except TimeoutError as error:
        raise DeadlinePassed from error
    except ConnectionResetError:
        return 0
