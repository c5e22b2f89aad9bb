"""The pool and the per-process default."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from kernaut.errors import InputError, SandboxFailure
from kernaut.sandbox.limits import Limits
from kernaut.sandbox.link import VARIABLE, OwnedTemplate
from kernaut.sandbox.pool import SandboxPool, default_pool
from tests.kernaut.sandbox.conftest import gone, program

ONE = "def feature_point(x, parameters):\n    return [1.0]\n"


def test_closing_a_pool_ends_its_children_and_no_others(template: OwnedTemplate, pool: SandboxPool) -> None:
    outside = pool.child(program(ONE))
    with SandboxPool(socket=template.path) as other:
        inside = other.child(program(ONE))
    assert gone(inside.pid)
    with pytest.raises(SandboxFailure, match="closed"):
        inside.evaluate(np.zeros((1, 1)), {})
    with pytest.raises(InputError, match="closed"):
        other.child(program(ONE))
    np.testing.assert_array_equal(outside.evaluate(np.zeros((1, 1)), {})[0], [[1.0]])
    outside.close()


def test_a_forgotten_child_ends(template: OwnedTemplate) -> None:
    with SandboxPool(socket=template.path) as pool:
        child = pool.child(program(ONE))
        pid = child.pid
        del child
        gc.collect()
        assert gone(pid)


def test_the_default_pool_is_one_per_process_with_default_limits(
    template: OwnedTemplate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, template.path)
    assert default_pool() is default_pool()
    assert default_pool().limits == Limits()
    assert default_pool(Limits(memory_mib=300)) is default_pool(Limits(memory_mib=300)) is not default_pool()
    assert default_pool(Limits(memory_mib=300)).limits == Limits(memory_mib=300)
    default_pool().start()
    child = default_pool().child(program(ONE))
    np.testing.assert_array_equal(child.evaluate(np.zeros((1, 1)), {})[0], [[1.0]])
    child.close()
    monkeypatch.setattr("kernaut.sandbox.pool.os.getpid", lambda: -1)
    assert default_pool() is not SandboxPool


def test_a_template_that_is_not_there_starts_no_child() -> None:
    with SandboxPool(socket="/nonexistent/control") as pool, pytest.raises(SandboxFailure, match="started no child"):
        pool.child(program(ONE))
