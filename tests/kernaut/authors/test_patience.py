"""Waiting: deadlines over whole calls, bounded attempts, Retry-After, and what a call raises is raised where it is awaited."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from threading import Event

import pytest

from kernaut.authors.patience import PassingFailure, asked_wait, patiently, within
from kernaut.errors import ModelFailure


class Asked:
    """Fails with these failures in turn, then answers."""

    def __init__(self, *failures: PassingFailure) -> None:
        self.failures = list(failures)
        self.times = 0

    def __call__(self) -> str:
        self.times += 1
        if self.failures:
            raise self.failures.pop(0)
        return "answer"


def test_waits_grow_and_a_server_may_say_how_long() -> None:
    waits: list[float] = []
    ask = Asked(PassingFailure("a"), PassingFailure("b"), PassingFailure("c", wait=7.0), PassingFailure("d"))
    assert patiently(ask, retries=4, whom="m", sleep=waits.append) == "answer"
    assert waits == [0.5, 1.0, 7.0, 4.0]
    long = [PassingFailure("x") for _ in range(9)]
    patiently(Asked(*long), retries=9, whom="m", sleep=waits.append)
    assert max(waits) == 30.0


def test_attempts_are_bounded_and_the_last_failure_is_said() -> None:
    ask = Asked(PassingFailure("one"), PassingFailure("two"), PassingFailure("three"))
    with pytest.raises(ModelFailure, match=r"answer of m\. Got none in 2 attempts; the last: two"):
        patiently(ask, retries=1, whom="m", sleep=lambda seconds: None)
    assert ask.times == 2
    with pytest.raises(ModelFailure, match="asks for a wait of 301 s"):
        patiently(Asked(PassingFailure("busy", wait=301.0)), retries=9, whom="m", sleep=lambda seconds: None)


def test_other_failures_are_raised_at_once() -> None:
    def ask() -> str:
        raise ModelFailure("no key")

    with pytest.raises(ModelFailure, match="no key"):
        patiently(ask, retries=5, whom="m", sleep=lambda seconds: pytest.fail("waited"))


def test_a_call_has_one_deadline_and_its_error_arrives() -> None:
    released = Event()
    with pytest.raises(PassingFailure, match=r"no whole answer within 0\.05 s"):
        within(0.05, released.wait)
    released.set()
    assert within(30.0, lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        within(30.0, lambda: 1 // 0)
    with pytest.raises(KeyboardInterrupt):
        within(30.0, Asked(KeyboardInterrupt()))  # type: ignore[arg-type]  # any exception will do


def test_retry_after_is_seconds_or_a_date() -> None:
    assert asked_wait(None) is None
    assert asked_wait("1.5") == 1.5
    assert asked_wait("-3") == 0.0
    assert asked_wait("soon") is None
    later = asked_wait(format_datetime(datetime.now(UTC) + timedelta(hours=1)))
    assert later is not None
    assert 3000 < later <= 3600
    assert asked_wait("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
