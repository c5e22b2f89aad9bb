from __future__ import annotations

from collections.abc import Callable

Refused = Callable[..., str]


def test_either_an_archive_or_a_notebook_is_served(refused: Refused) -> None:
    assert "neither" in refused("viz")
    assert "both" in refused("viz", "--archive", "a.sqlite", "--notebook", "tour")
    assert "a.sqlite" in refused("viz", "--archive", "a.sqlite")
    assert "kernel_playground" in refused("viz", "--notebook", "kernel_plaground")
