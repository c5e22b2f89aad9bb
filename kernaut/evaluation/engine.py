"""Parallel work through joblib: processes on this machine, results in the order of the work, equal numbers for any number of workers.

Each unit of work is calculated whole in one process with one thread, so that its floating-point operations do not depend on how many units run beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TypeVar

import torch
from joblib import Parallel, delayed
from threadpoolctl import ThreadpoolController

from kernaut.errors import InputError

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
    """
    count = min(require_workers(workers), max(1, len(items)))
    if count == 1:
        return (_alone(function, item) for item in items)
    stream = Parallel(n_jobs=count, return_as="generator", batch_size=1)(delayed(_alone)(function, i) for i in items)
    return iter(stream)


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


def _alone(function: Callable[[Item], Result], item: Item) -> Result:
    """One unit of work, with one thread."""
    with single_thread():
        return function(item)
