"""Limits are positive finite numbers."""

from __future__ import annotations

from typing import Any

import pytest

from kernaut.errors import InputError
from kernaut.sandbox.limits import Limits


def test_the_defaults_are_the_published_ones() -> None:
    limits = Limits()
    assert (limits.request_seconds, limits.load_seconds, limits.cpu_seconds) == (2.0, 5.0, 60.0)
    assert (limits.memory_mib, limits.output_mib, limits.open_files) == (512, 64, 16)


@pytest.mark.parametrize(
    "values",
    [
        {"request_seconds": 0.0},
        {"load_seconds": -1.0},
        {"cpu_seconds": float("nan")},
        {"request_seconds": float("inf")},
        {"memory_mib": 1.5},
        {"output_mib": True},
        {"open_files": 7},
        {"cpu_seconds": "60"},
    ],
)
def test_a_limit_that_is_none_is_refused_by_name(values: dict[str, Any]) -> None:
    (name,) = values
    with pytest.raises(InputError, match=name):
        Limits(**values)
