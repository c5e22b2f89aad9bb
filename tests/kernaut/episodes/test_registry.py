from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest

import kernaut.plugins
from kernaut.episodes.benchmark import Benchmark
from kernaut.episodes.episode import Episode
from kernaut.episodes.registry import benchmark_named, benchmark_names
from kernaut.errors import InputError


class Constant(Benchmark):
    name = "constant"
    dimensions = (1,)

    def __init__(self, level: float = 0.0) -> None:
        self.level = level

    def families(self, split: str) -> tuple[str, ...]:
        return ("flat",)

    def options(self) -> dict[str, Any]:
        return {"level": self.level}

    def _episode(self, split: str, family_index: int, episode_index: int, tuning: bool) -> Episode:
        raise AssertionError


def not_a_benchmark() -> int:
    return 3


def install(monkeypatch: pytest.MonkeyPatch, name: str, target: Any) -> None:
    class Point(EntryPoint):
        def load(self) -> Any:
            return target

    monkeypatch.setattr(
        kernaut.plugins, "entry_points", lambda group: (Point(name, "somewhere:it", group),) if "tasks" in group else ()
    )


def test_bbo_is_there() -> None:
    assert "bbo" in benchmark_names()
    assert benchmark_named("bbo").name == "bbo"


def test_unknown_names_list_the_legal_ones() -> None:
    with pytest.raises(InputError, match=r"Expected a benchmark of bbo.* Got 'bboo'"):
        benchmark_named("bboo")


def test_options_that_a_benchmark_does_not_take_are_refused() -> None:
    with pytest.raises(InputError, match=r"Expected options that benchmark bbo takes. Got \['horizon'\]\.") as refused:
        benchmark_named("bbo", horizon=3)
    assert refused.value.hint == "It takes none."
    with pytest.raises(InputError, match=r"that benchmark greenhouse takes. Got \['root'\]\.") as refused:
        benchmark_named("greenhouse", root="x")
    assert refused.value.hint == "It takes horizon, minimum, data."


def test_an_installed_benchmark_is_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "constant", Constant)
    made = benchmark_named("constant", level=2.0)
    assert isinstance(made, Constant)
    assert made.options() == {"level": 2.0}
    assert made.digest() != Constant(3.0).digest()
    assert made.rollouts("test", 4) == []


def test_an_extension_that_makes_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "odd", not_a_benchmark)
    with pytest.raises(InputError, match=r"Expected a Benchmark from extension 'odd'\. Got int"):
        benchmark_named("odd")
