from __future__ import annotations

import os

import pytest

from kernaut.cli.options import dimension_list, worker_count
from kernaut.errors import InputError


def test_workers_default_to_the_cores_but_not_more_than_four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(3)))
    assert worker_count(None) == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)))
    assert worker_count(None) == 4
    assert worker_count(7) == 7


def test_dimensions_may_be_listed_or_repeated() -> None:
    assert dimension_list(["2,5", "8"], (1,)) == (2, 5, 8)
    assert dimension_list(None, (3,)) == (3,)
    for wrong in (["2,x"], ["-2"], ["0"], [""], ["1.5"]):
        with pytest.raises(InputError, match="Expected"):
            dimension_list(wrong, (1,))
