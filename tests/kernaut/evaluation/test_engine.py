from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from scipy import linalg
from threadpoolctl import threadpool_info, threadpool_limits

from kernaut.errors import InputError, SandboxFailure, WorkerLost
from kernaut.evaluation.engine import _race_at_the_end_untold, ordered_map, ordered_stream, single_thread

ROOT = Path(__file__).resolve().parents[3]


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


def vanish(item: int) -> int:
    if item == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def test_a_lost_worker_is_an_error_that_says_how_it_ended() -> None:
    with pytest.raises(WorkerLost, match=r"Got workers that ended with \{.*SIGKILL"):
        ordered_map(vanish, [1, 2, 3], workers=2)
    assert ordered_map(vanish, [1, 3, 5], workers=2) == [1, 3, 5]  # the next work gets workers again


def test_a_stream_that_is_left_early_leaves_no_work_and_no_warning() -> None:
    stream = ordered_stream(vanish, [1, 3, 5, 7], workers=2)
    assert next(stream) == 1
    stream.close()  # type: ignore[attr-defined]


def test_workers_follow_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ["KERNAUT_SET_LATER", "KERNAUT_SET_LATER"]
    assert ordered_map(os.environ.get, asked, workers=2) == [None, None]  # the workers have started
    monkeypatch.setenv("KERNAUT_SET_LATER", "here")
    assert ordered_map(os.environ.get, asked, workers=2) == ["here", "here"]
    monkeypatch.delenv("KERNAUT_SET_LATER")
    assert ordered_map(os.environ.get, asked, workers=2) == [None, None]


@pytest.mark.parametrize(
    ("name", "error", "told"),
    [("ExecutorManagerThread", KeyError, 0), ("ExecutorManagerThread", ValueError, 1), ("Thread-9", KeyError, 1)],
)
def test_only_the_race_of_the_workers_thread_is_untold(
    monkeypatch: pytest.MonkeyPatch, name: str, error: type[Exception], told: int
) -> None:
    heard: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", heard.append)

    def fail() -> None:
        raise error

    with _race_at_the_end_untold():
        thread = threading.Thread(target=fail, name=name)
        thread.start()
        thread.join()
    assert len(heard) == told
    assert threading.excepthook == heard.append


PARENT = """
import time
from kernaut.evaluation.engine import ordered_stream
if __name__ == "__main__":
    try:
        for _ in ordered_stream(time.sleep, [0.01, 60.0, 60.0], workers=2):
            print("working", flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.fixture
def parent(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """A process with two workers that have begun, and all of its descendants."""
    (tmp_path / "parent.py").write_text(PARENT, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "parent.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    yield (
        process,
        [
            child
            for child in psutil.Process(process.pid).children(recursive=True)
            if "loky" in " ".join(child.cmdline())
        ],
    )
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)


def test_workers_die_with_their_parent(parent: tuple[subprocess.Popen[str], list[psutil.Process]]) -> None:
    process, workers = parent
    assert len(workers) >= 2
    process.kill()
    _, alive = psutil.wait_procs(
        [worker for worker in workers if "LokyProcess" in " ".join(worker.cmdline())], timeout=30
    )
    assert alive == []


def test_ctrl_c_reaches_the_parent_alone(parent: tuple[subprocess.Popen[str], list[psutil.Process]]) -> None:
    process, _ = parent
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (out, err, process.returncode) == ("interrupted\n", "", 0)
