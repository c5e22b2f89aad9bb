from __future__ import annotations

import os
from functools import partial

import numpy as np
import pytest
import torch
from scipy import linalg
from threadpoolctl import threadpool_info, threadpool_limits

from kernaut.errors import InputError, SandboxFailure
from kernaut.evaluation.engine import ordered_map, single_thread


def spectrum(size: int, offset: float) -> tuple[list[float], int, int]:
    matrix = np.random.default_rng(size).normal(size=(500, 500)) + offset
    gram = matrix @ matrix.T + np.eye(500)
    values = torch.linalg.eigvalsh(torch.from_numpy(gram))
    digits = [*values.tolist(), *linalg.cholesky(gram, lower=True).sum(0).tolist()]
    return digits, torch.get_num_threads(), os.getpid()


def complain(item: int) -> int:
    if item == 3:
        raise SandboxFailure("timed out", "it took too long", hint="shorten it")
    return item


def test_two_workers_give_the_same_numbers_in_the_same_order() -> None:
    work = [5, 3, 9, 1, 7]
    counts: list[int] = []
    alone = ordered_map(partial(spectrum, offset=0.5), work)
    both = ordered_map(partial(spectrum, offset=0.5), work, workers=2, done=counts.append)
    assert [result[0] for result in both] == [result[0] for result in alone]
    assert {result[1] for result in (*alone, *both)} == {1}
    assert os.getpid() not in {result[2] for result in both}
    assert {result[2] for result in alone} == {os.getpid()}
    assert counts == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("workers", [1, 2])
def test_errors_come_home_whole(workers: int) -> None:
    with pytest.raises(SandboxFailure, match="it took too long") as caught:
        ordered_map(complain, [1, 2, 3, 4], workers=workers)
    assert (caught.value.state, caught.value.hint) == ("timed out", "shorten it")


def test_no_work_is_no_work() -> None:
    assert ordered_map(complain, [], workers=2) == []


@pytest.mark.parametrize("workers", [0, -2, 1.5, True, "2"])
def test_worker_counts_are_checked(workers: object) -> None:
    with pytest.raises(InputError, match="Expected at least 1 worker"):
        ordered_map(complain, [1], workers=workers)  # type: ignore[arg-type]


def test_the_number_of_threads_is_put_back() -> None:
    def threads() -> list[int]:
        return [torch.get_num_threads(), *(library["num_threads"] for library in threadpool_info())]

    usual = torch.get_num_threads()
    with threadpool_limits(2):
        torch.set_num_threads(2)
        try:
            before = threads()
            with pytest.raises(KeyError), single_thread():
                assert set(threads()) == {1}
                raise KeyError
            assert threads() == before
            assert set(before) == {2}
        finally:
            torch.set_num_threads(usual)
