"""Waiting for a server: one deadline for a whole answer, bounded attempts, Retry-After, and an end by Ctrl-C at any moment.

A call is made in a thread of its own, since looking up a name or reading an answer that comes drop by drop cannot be interrupted
otherwise.  A call that is given up goes on in its thread until the connection ends; nobody listens to it any more.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

from kernaut.errors import ModelFailure

T = TypeVar("T")
FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0
LONGEST_ASKED_WAIT = 300.0
"""A server that asks for a longer wait is not waited for [s]."""


class PassingFailure(Exception):
    """An attempt failed in a way that another may not.

    Args:
        message: what came instead of an answer.
        wait: how long the server asks to be left alone [s]; None when it does not say.
    """

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.wait = wait


def within(seconds: float, call: Callable[[], T]) -> T:
    """The result of a call, or its exception, if either comes in time.

    Args:
        seconds: the deadline, on a monotonic clock [s].
        call: made in a daemon thread.

    Raises:
        PassingFailure: when neither comes in time.
    """
    answers: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()

    def work() -> None:
        value: T | None = None
        with suppress(BaseException):  # whatever it is, it is raised where the answer is awaited
            try:
                value = call()
            finally:
                answers.put((value, sys.exception()))

    Thread(target=work, daemon=True, name="kernaut-model-call").start()
    try:
        value, error = answers.get(timeout=seconds)
    except Empty:
        raise PassingFailure(f"no whole answer within {seconds:g} s") from None
    if error is not None:
        raise error
    return value  # type: ignore[return-value]  # there is no error, so this is what the call returned


def patiently(ask: Callable[[], T], *, retries: int, whom: str, sleep: Callable[[float], None] = time.sleep) -> T:
    """Ask, and ask again after failures that may pass, each time after a longer wait, or after the one that the server asks for.

    Args:
        ask: one attempt.
        retries: further attempts after the first.
        whom: who is asked, for the error.
        sleep: waits; Ctrl-C ends it.

    Raises:
        ModelFailure: when the last attempt failed too, or the server asks for too long a wait.
    """
    for attempt in range(retries + 1):
        try:
            return ask()
        except PassingFailure as failure:
            tried = f"{attempt + 1} attempt{'s' if attempt else ''}"
            if failure.wait is not None and failure.wait > LONGEST_ASKED_WAIT:
                raise ModelFailure(
                    f"Expected an answer of {whom}. Got {failure.message}; it asks for a wait of {failure.wait:.0f} s.",
                    hint="Go on later: what was accepted is kept, and the same command continues.",
                ) from failure
            if attempt == retries:
                raise ModelFailure(
                    f"Expected an answer of {whom}. Got none in {tried}; the last: {failure.message}.",
                    hint="Is the server up, and its address right? The same command continues from here.",
                ) from failure
            sleep(min(FIRST_WAIT * 2.0**attempt, LONGEST_WAIT) if failure.wait is None else failure.wait)
    raise AssertionError("an attempt returns or raises")


def asked_wait(header: str | None) -> float | None:
    """The seconds that a ``Retry-After`` header asks for; None without one, or for one that says neither seconds nor a date."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
