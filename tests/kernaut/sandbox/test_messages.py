"""Frames: what is sent arrives, and nothing else is believed, allocated for, or waited for."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernaut.sandbox.messages import HEADER, MAGIC, MAX_TEXT, VALUE, BrokenFrame, DeadlinePassed, Frame, receive, send

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    yield ours, theirs
    ours.close()
    theirs.close()


def header(count: int = 0, text: int = 0, *shapes: int, magic: bytes = MAGIC) -> bytes:
    return HEADER.pack(magic, VALUE, 0, count, text, *shapes, *[0] * (12 - len(shapes)))


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5), st.integers(0, 7)), max_size=4),
    st.binary(max_size=50),
    st.integers(0, 255),
    st.integers(0, 255),
)
def test_a_frame_arrives_as_it_was_sent(shapes: list[tuple[int, int, int]], text: bytes, kind: int, flags: int) -> None:
    arrays = tuple(
        np.arange(float(np.prod((rows, columns)[:ndim])), dtype=np.float64).reshape((rows, columns)[:ndim]) + 0.25
        for ndim, rows, columns in shapes
    )
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send(ours, Frame(kind, flags, arrays, text), time.monotonic() + 5)
        arrived = receive(theirs, 1 << 20, time.monotonic() + 5)
    assert arrived is not None
    assert (arrived.kind, arrived.flags, arrived.text) == (kind, flags, text)
    assert [array.shape for array in arrived.arrays] == [array.shape for array in arrays]
    for got, sent in zip(arrived.arrays, arrays, strict=True):
        np.testing.assert_array_equal(got, sent)
        assert got.flags.writeable


def test_a_large_frame_passes_in_pieces(pair: Pair) -> None:
    array = np.linspace(0.0, 1.0, 200_000).reshape(1000, 200)
    sender = threading.Thread(target=send, args=(pair[0], Frame(VALUE, 0, (array[:, ::2],), b"end")))
    sender.start()
    arrived = receive(pair[1], 1 << 24, time.monotonic() + 10)
    sender.join()
    assert arrived is not None and arrived.text == b"end"
    np.testing.assert_array_equal(arrived.arrays[0], array[:, ::2])


@pytest.mark.parametrize(
    "data",
    [
        header(magic=b"EVIL"),
        header(5),
        header(1, 0, 3, 1, 1),
        header(1, 0, -1, 1, 1),
        header(1, 0, 2, -4, -4),
        header(1, 0, 2, 1 << 62, 1 << 62),
        header(1, 0, 2, 1 << 40, 1),
        header(1, 0, 2, 0, 1 << 62),
        header(4, 0, *[2, 1000, 1000] * 4),
        header(0, MAX_TEXT + 1),
    ],
)
def test_a_header_that_lies_is_broken_and_nothing_is_allocated(pair: Pair, data: bytes) -> None:
    pair[0].sendall(data)
    with pytest.raises(BrokenFrame):
        receive(pair[1], 1 << 20, time.monotonic() + 5)


@given(st.binary(min_size=1, max_size=300))
def test_noise_is_never_a_frame(data: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(data)
        ours.shutdown(socket.SHUT_WR)
        with pytest.raises(BrokenFrame):
            receive(theirs, 1 << 20, time.monotonic() + 5)


def test_the_end_is_none_and_a_frame_cut_short_is_broken(pair: Pair) -> None:
    pair[0].sendall(header(1, 0, 1, 10)[:50])
    pair[0].shutdown(socket.SHUT_WR)
    with pytest.raises(BrokenFrame, match="cut short"):
        receive(pair[1], 1 << 20, time.monotonic() + 5)
    assert receive(pair[1], 1 << 20, time.monotonic() + 5) is None


def test_the_payload_cut_short_is_broken(pair: Pair) -> None:
    pair[0].sendall(header(1, 0, 1, 10))
    pair[0].shutdown(socket.SHUT_WR)
    with pytest.raises(BrokenFrame, match="cut short"):
        receive(pair[1], 1 << 20, time.monotonic() + 5)


def test_bytes_beyond_a_frame_are_broken(pair: Pair) -> None:
    send(pair[0], Frame(VALUE, 0, (np.ones(3),)))
    pair[0].sendall(b"more")
    with pytest.raises(BrokenFrame, match="more bytes than it announced"):
        receive(pair[1], 1 << 20, time.monotonic() + 5)


def test_one_deadline_holds_for_a_frame_that_drips(pair: Pair) -> None:
    stop = threading.Event()

    def drip() -> None:
        for byte in header(1, 0, 1, 10):
            if stop.wait(0.02):
                return
            pair[0].sendall(bytes([byte]))

    dripping = threading.Thread(target=drip)
    dripping.start()
    start = time.monotonic()
    with pytest.raises(DeadlinePassed):
        receive(pair[1], 1 << 20, start + 0.3)
    stop.set()
    dripping.join()
    assert time.monotonic() - start < 1.5  # dripping it all would take over 2 s


def test_a_peer_that_does_not_read_passes_the_deadline(pair: Pair) -> None:
    with pytest.raises(DeadlinePassed):
        send(pair[0], Frame(VALUE, 0, (np.zeros((1000, 1000)),)), time.monotonic() + 0.1)
    with pytest.raises(DeadlinePassed):
        send(pair[0], Frame(VALUE), time.monotonic() - 1.0)
