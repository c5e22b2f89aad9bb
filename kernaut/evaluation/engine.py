"""Parallel work through joblib: processes on this machine, results in the order of the work, equal numbers for any number of workers.

Each unit of work is calculated whole in one process with one thread, so that its floating-point operations do not depend on how many units run beside it.
"""

from __future__ import annotations

import os
import re
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain
from multiprocessing import resource_tracker
from typing import TypeVar

import torch
from joblib import Parallel, delayed
from joblib.externals.loky.backend import resource_tracker as loky_resource_tracker
from joblib.externals.loky.process_executor import TerminatedWorkerError
from threadpoolctl import ThreadpoolController

from kernaut.errors import InputError, WorkerLost
from kernaut.sandbox.linux import die_with_parent

Item = TypeVar("Item")
Result = TypeVar("Result")


@contextmanager
def single_thread() -> Iterator[None]:
    """One thread inside, for torch and for the BLAS of NumPy and SciPy; the previous numbers afterwards.

    A Cholesky factor of 500 rows has other last digits with two threads than with one.
    """
    threads = torch.get_num_threads()
    with _libraries().limit(limits=1):
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    """The native libraries of this process that keep threads; finding them takes 10 ms, limiting them 0.1 ms."""
    return ThreadpoolController()


def require_workers(workers: object) -> int:
    """Check a number of worker processes.

    Raises:
        InputError: for anything but a whole number of at least 1.
    """
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InputError(f"Expected at least 1 worker. Got {workers!r}.")
    return workers


def ordered_stream(function: Callable[[Item], Result], items: Sequence[Item], *, workers: int = 1) -> Iterator[Result]:
    """``function(item)`` for each item, in that order, each as soon as it and all before it are finished.

    Args:
        function: a module-level function, so that it can be pickled.
        items: the work.
        workers: processes; 1 stays in this one.

    Raises:
        InputError: for fewer than 1 worker.
        WorkerLost: while iterating, when a worker process ends before its work is done.
    """
    count = min(require_workers(workers), max(1, len(items)))
    if count == 1:
        return (_alone(function, item) for item in items)
    return _in_processes(function, items, count)


def ordered_map(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    workers: int = 1,
    done: Callable[[int], None] | None = None,
) -> list[Result]:
    """``[function(item) for item in items]``; see :func:`ordered_stream`.

    Args:
        function: a module-level function, so that it can be pickled.
        items: the work.
        workers: processes; 1 stays in this one.
        done: called with the number of finished items after each, in order.

    Returns:
        One result for each item.

    Raises:
        InputError: for fewer than 1 worker.
    """
    results: list[Result] = []
    for result in ordered_stream(function, items, workers=workers):
        results.append(result)
        if done is not None:
            done(len(results))
    return results


def _in_processes(function: Callable[[Item], Result], items: Sequence[Item], count: int) -> Iterator[Result]:
    """The stream of several processes; whatever ends it, no worker goes on."""
    with _interrupts_held():
        parent = (os.getpid(), dict(os.environ))
        stream = Parallel(n_jobs=count, return_as="generator", batch_size=1)(
            delayed(_in_worker)(parent, function, item) for item in items
        )
    try:
        yield from chain(
            stream
        )  # which has no close(): that of the stream is called below, and not by whoever leaves early
    except TerminatedWorkerError as error:
        raise WorkerLost(
            f"Expected worker processes to live until their work is done. Got {_exit_codes(error)}.",
            hint="Often memory was short: try fewer workers. What is stored stays, and the same command goes on from there.",
        ) from error
    finally:
        with warnings.catch_warnings(), _race_at_the_end_untold():
            warnings.simplefilter("ignore")  # joblib warns that work was left undone, which is what closing asks for
            stream.close()


def _exit_codes(error: TerminatedWorkerError) -> str:
    """How loky says that workers ended, such as ``{SIGKILL(-9)}``."""
    found = re.search(r"exit codes of the workers are (\{.*?\})", str(error))
    return f"workers that ended with {found.group(1)}" if found else "one that ended before"


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back while processes are started, which inherit that: it then reaches this process alone, which ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    for tracker in (resource_tracker, loky_resource_tracker):
        tracker.ensure_running()  # or its start, together with the first worker's, would let Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _race_at_the_end_untold() -> Iterator[None]:
    """Say nothing of a race in loky: its thread may look for work that was just taken back, and end by a KeyError as it was to end anyway."""
    before = threading.excepthook

    def hook(raised: threading.ExceptHookArgs) -> None:
        name = "" if raised.thread is None else raised.thread.name
        if not (name.startswith("ExecutorManagerThread") and raised.exc_type is KeyError):
            before(raised)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = before


def _in_worker(parent: tuple[int, dict[str, str]], function: Callable[[Item], Result], item: Item) -> Result:
    """One unit of work in a worker process, which does not outlive the process that asked and has its present environment."""
    process, environment = parent
    _bind_to(process)
    for name in _GIVEN - environment.keys():
        os.environ.pop(name, None)
    os.environ.update(environment)
    _GIVEN.clear()
    _GIVEN.update(environment)
    return _alone(function, item)


_GIVEN: set[str] = set()
"""Names of the environment variables that this worker was given; a later one that lacks some takes them back."""


@lru_cache(maxsize=1)
def _bind_to(parent: int) -> None:
    """Where the system can, have this worker killed with its parent: what was begun again must not meet what was left behind."""
    if die_with_parent() and os.getppid() != parent:  # it died before
        os._exit(1)


def _alone(function: Callable[[Item], Result], item: Item) -> Result:
    """One unit of work, with one thread."""
    with single_thread():
        return function(item)
