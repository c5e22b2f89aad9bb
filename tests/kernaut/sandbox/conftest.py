"""One pool with short deadlines for all tests; after each test, nothing but the tests' own children is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from kernaut.sandbox.child import Child
from kernaut.sandbox.limits import Limits
from kernaut.sandbox.link import OwnedTemplate, start_template
from kernaut.sandbox.pool import SandboxPool
from kernaut.sandbox.records import Backend, Calling, SandboxProgram

ENTRY_POINTS = {
    "point": "feature_point",
    "coordinate": "coordinate_feature",
    "dimension": "spectral_components",
    "tree": "closure_tree",
    "matrix": "kernel_matrix",
    "json": "answer",
}

Load = Callable[..., Child]


def program(source: str, calling: Calling = "point", backend: Backend | None = None) -> SandboxProgram:
    chosen: Backend = backend or ("torch" if "import torch" in source else "numpy")
    return SandboxProgram(source, ENTRY_POINTS[calling], calling, chosen)


def gone(pid: int, seconds: float = 5.0) -> bool:
    """Whether a process ends within the time, zombies counting as not ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid):
            return True
        time.sleep(0.01)
    return False


@pytest.fixture(scope="session")
def template() -> Iterator[OwnedTemplate]:
    started = start_template()
    yield started
    started.stop()


@pytest.fixture(scope="session")
def pool(template: OwnedTemplate) -> Iterator[SandboxPool]:
    with SandboxPool(Limits(request_seconds=5.0, load_seconds=10.0), socket=template.path) as made:
        yield made


@pytest.fixture(scope="session")
def strict_pool(template: OwnedTemplate) -> Iterator[SandboxPool]:
    """For programs that must be stopped: the deadline is part of the test's own time."""
    limits = Limits(request_seconds=0.6, load_seconds=5.0, memory_mib=256, output_mib=1)
    with SandboxPool(limits, socket=template.path) as made:
        yield made


@pytest.fixture
def load(pool: SandboxPool) -> Iterator[Load]:
    """``load(source, calling, backend)`` makes a child that ends with the test."""
    children: list[Child] = []

    def make(source: str, calling: Calling = "point", backend: Backend | None = None) -> Child:
        children.append(pool.child(program(source, calling, backend)))
        return children[-1]

    yield make
    for child in children:
        child.close()


@pytest.fixture
def nothing_left(template: OwnedTemplate) -> Iterator[None]:
    """The template has, after a test, the children it had before it, give or take its one spare; no zombies."""
    parent = psutil.Process(template.process.pid)
    before = len(parent.children(recursive=True))
    yield
    deadline = time.monotonic() + 5.0
    while time.monotonic() < deadline:
        now = parent.children(recursive=True)
        if len(now) <= before + 1 and not any(_is_zombie(process) for process in now):
            return
        time.sleep(0.01)
    assert [process.pid for process in parent.children(recursive=True)] == []


def _is_zombie(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
