"""Messages between client and template, and what an exit status means."""

from __future__ import annotations

import signal

import pytest

from kernaut.sandbox.control import Exit, pack_start, unpack_start
from kernaut.sandbox.limits import Limits

LIMITS = Limits(1.5, 2.5, 3.5, 101, 102, 103)


def test_limits_arrive_as_they_were_sent() -> None:
    assert unpack_start(pack_start(LIMITS)) == LIMITS


@pytest.mark.parametrize(
    "data", [b"", b"x", pack_start(LIMITS)[:-1], b"OLD0" + pack_start(LIMITS)[4:], b"KNT1" + b"\0" * 48]
)
def test_another_version_is_no_start(data: bytes) -> None:
    assert unpack_start(data) is None


def test_an_exit_arrives_as_it_was_sent() -> None:
    record = Exit(4242, 256, 1.25)
    assert Exit.unpack(record.pack()) == record
    assert Exit.unpack(record.pack()[:-1]) is None
    assert Exit.unpack(b"OLD0" + record.pack()[4:]) is None


@pytest.mark.parametrize(
    ("status", "cpu", "state", "words"),
    [
        (signal.SIGSYS, 0.1, "refused", "forbidden system call"),
        (signal.SIGXCPU, 3.6, "timed out", "3.5 processor seconds"),
        (signal.SIGKILL, 4.0, "timed out", "3.5 processor seconds"),
        (signal.SIGKILL, 0.2, "crashed", "SIGKILL"),
        (signal.SIGSEGV, 0.2, "crashed", "SIGSEGV"),
        (3 << 8, 0.2, "crashed", "exit code 3"),
        (0, 0.2, "crashed", "exit code 0"),
    ],
)
def test_each_end_is_a_named_state(status: int, cpu: float, state: str, words: str) -> None:
    named, reason = Exit(1, int(status), cpu).meaning(LIMITS)
    assert named == state
    assert words in reason
