"""Benchmarks by name: Kernaut's own, and those of installed packages (entry point group ``kernaut.tasks``)."""

from __future__ import annotations

from inspect import signature
from typing import Any

from kernaut.episodes.bbo import BlackBoxOptimization
from kernaut.episodes.benchmark import Benchmark
from kernaut.episodes.enzymes import EnzymeKinetics
from kernaut.episodes.glucose import GlucoseForecasts
from kernaut.episodes.greenhouse import GreenhouseGases
from kernaut.episodes.table_benchmark import TableRegression
from kernaut.errors import InputError
from kernaut.plugins import extensions, load_extension

GROUP = "kernaut.tasks"
OWN: dict[str, type[Benchmark]] = {
    kind.name: kind
    for kind in (BlackBoxOptimization, GreenhouseGases, EnzymeKinetics, GlucoseForecasts, TableRegression)
}


def benchmark_names() -> tuple[str, ...]:
    """Every benchmark that can be asked for, Kernaut's own first.

    Raises:
        InputError: when an installed package claims a name of Kernaut's own, or two packages claim one name.
    """
    found = extensions(GROUP)
    for name in OWN:
        if name in found:
            raise InputError(
                f"Expected tasks of packages to have names of their own. Got {name!r}, a benchmark of Kernaut, from {found[name].value}.",
                hint="Uninstall that package, or have its task renamed.",
            )
    return (*OWN, *found)


def benchmark_named(name: str, **options: Any) -> Benchmark:
    """Make a benchmark.

    Args:
        name: its name on the command line.
        options: what its constructor takes.

    Raises:
        InputError: for an unknown name, an option it does not take, or an extension that makes no :class:`Benchmark`.
    """
    if name not in OWN and name not in benchmark_names():  # listing what is installed takes 0.1 s
        raise InputError(f"Expected a benchmark of {', '.join(benchmark_names())}. Got {name!r}.")
    make = OWN[name] if name in OWN else load_extension(GROUP, name)
    try:
        benchmark = make(**options)
    except TypeError as error:
        known = [word for word in signature(make).parameters if word not in ("args", "kwargs")]
        why = "" if set(options) - set(known) else f": {error}"
        raise InputError(
            f"Expected options that benchmark {name} takes. Got {sorted(options)}{why}.",
            hint=f"It takes {', '.join(known) or 'none'}.",
        ) from error
    if not isinstance(benchmark, Benchmark):
        raise InputError(f"Expected a Benchmark from extension {name!r}. Got {type(benchmark).__name__}.")
    return benchmark
