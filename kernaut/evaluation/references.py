"""Reference kernels on fixed grids, evaluated frozen, and the winner of each kernel family.

A winner is chosen by mean CRPS on meta-training episodes only; it enters comparisons, and is "the best tuned reference" where one is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kernaut.episodes.benchmark import Benchmark
from kernaut.episodes.table_benchmark import TableRegression
from kernaut.errors import InputError
from kernaut.evaluation.baselines import TunedBaseline, tuned_baselines
from kernaut.evaluation.evaluate import Evaluation, Setting, evaluate_all
from kernaut.evaluation.mixture_starts import spectral_mixture_start
from kernaut.evaluation.outcome import mean_loss
from kernaut.evaluation.subject import Subject, program_subject, reference_subject
from kernaut.plugins import extensions, load_extension
from kernaut.program.base_node import base_node
from kernaut.program.program import KernelProgram, program_from_json

GROUP = "kernaut.baselines"
MIN_PER_FAMILY = 2
"""Fewest meta-training episodes a family that a winner may be chosen on."""
MIXTURE_STARTS = 8

Grid = dict[str, list[dict[str, Any]]]


def fixed_grid() -> list[Subject]:
    """The reference kernels of benchmarks on the unit cube: 54 kernels of 10 families.

    Spectral mixture starts are drawn from named streams: weights from a flat Dirichlet, frequencies uniform in [0, 2] cycles a unit, bandwidths log-uniform in
    [0.1, 1], the same in every coordinate.
    """
    grid: Grid = {}
    for kind in ("rbf", "matern32", "matern52"):
        grid[kind] = [{"lengthscale": scale} for scale in (0.1, 0.25, 0.5, 1.0)]
    grid["linear"] = [{}]
    grid["periodic"] = [
        {"lengthscale": scale, "period": period} for scale in (0.25, 0.5, 1.0) for period in (0.25, 0.5, 1.0, 2.0)
    ]
    grid["rq"] = [{"lengthscale": scale, "alpha": alpha} for scale in (0.25, 0.5, 1.0) for alpha in (0.5, 1.0, 4.0)]
    for kind in ("ard_rbf", "ard_matern32", "ard_matern52"):
        grid[kind] = [
            {"lengthscales": 0.25},
            {"lengthscales": 1.0},
            {"lengthscales": {"mode": "geometric_ramp", "min": 0.25, "max": 4.0}},
            {"lengthscales": {"mode": "geometric_ramp", "min": 4.0, "max": 0.25}},
        ]
    grid["spectral_mixture"] = [spectral_mixture_start(start) for start in range(MIXTURE_STARTS)]
    return subjects_of(grid)


def series_grid() -> list[Subject]:
    """The reference kernels of monthly records on [0, 1], where a year is 0.02 to 0.04 of the record: 46 kernels of 10 families.

    ARD starts and spectral mixtures come as a trend and as a year; a mixture has a trend at frequency 0, an annual and a half-annual component.
    """
    grid: Grid = {}
    for kind in ("rbf", "matern32", "matern52"):
        grid[kind] = [{"lengthscale": scale} for scale in (0.05, 0.1, 0.25, 0.5, 1.0)]
    grid["linear"] = [{}]
    grid["periodic"] = [
        {"lengthscale": scale, "period": period} for scale in (0.005, 0.01, 0.05) for period in (0.02, 0.03, 0.04, 0.05)
    ]
    grid["rq"] = [{"lengthscale": scale, "alpha": alpha} for scale in (0.1, 0.5) for alpha in (1.0, 4.0)]
    for kind in ("ard_rbf", "ard_matern32", "ard_matern52"):
        grid[kind] = [{"lengthscales": 0.75}, {"lengthscales": 0.02}]
    grid["spectral_mixture"] = [
        {"weights": [1.0, 0.03, 0.01], "means": [0.0, 1.0 / year, 2.0 / year], "scales": [trend, 0.3, 0.3]}
        for trend in (0.2, 0.5)
        for year in (0.02, 0.025, 0.03, 0.04)
    ]
    return subjects_of(grid)


GRIDS: Mapping[str, Callable[[], list[Subject]]] = {"cube": fixed_grid, "series": series_grid}


def reference_grid(benchmark: Benchmark) -> list[Subject]:
    """The fixed grid of a benchmark, as protocol section 3 lists it for its kind of inputs.

    Raises:
        InputError: when the benchmark names a grid that does not exist.
    """
    if benchmark.reference_grid not in GRIDS:
        raise InputError(
            f"Expected a reference grid of {', '.join(GRIDS)} from benchmark {benchmark.name}. Got {benchmark.reference_grid!r}."
        )
    return GRIDS[benchmark.reference_grid]()


def references_of(benchmark: Benchmark, baselines: Collection[str] | None = None) -> list[Subject]:
    """All reference kernels of a benchmark: its fixed grid, or the eight tuned on a user's table; then those of installed packages.

    Args:
        benchmark: the benchmark.
        baselines: the extensions whose kernels are wanted; None for all that are installed.

    Raises:
        InputError: when the benchmark names a grid that does not exist, or an extension is not installed or gives no kernels.
    """
    own = (
        [baseline.subject() for baseline in table_references(benchmark)]
        if isinstance(benchmark, TableRegression)
        else reference_grid(benchmark)
    )
    return [*own, *extension_references(baselines)]


def table_references(
    benchmark: TableRegression, *, workers: int = 1, done: Callable[[int], None] | None = None
) -> list[TunedBaseline]:
    """The eight references tuned on the rows of a table that may be learnt from; kept in this process, since a search asks again.

    Args:
        benchmark: the table.
        workers: processes.
        done: called with the number of finished kinds.

    Raises:
        FitError: when a kind has no finite likelihood.
    """
    key = benchmark.digest()
    if key not in _TUNED:
        rows = benchmark.training
        _TUNED[key] = tuned_baselines(rows.unit_inputs(), rows.standardized_targets(), workers=workers, done=done)
    return _TUNED[key]


_TUNED: dict[str, list[TunedBaseline]] = {}


def subjects_of(grid: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Subject]:
    """Named subjects of a grid ``{kind: [parameters]}``."""
    return [
        reference_subject({"kind": kind, **parameters}, _name(kind, index, parameters))
        for kind, settings in grid.items()
        for index, parameters in enumerate(settings)
    ]


def extension_references(names: Collection[str] | None = None) -> list[Subject]:
    """Reference kernels of installed packages (entry point group ``kernaut.baselines``).

    An entry point is a mapping, or a function of no arguments that returns one, from names to base nodes, candidate objects or kernel programs.  All kernels of one
    entry point form one family, named after it.

    Args:
        names: the entry points wanted; None for all.

    Raises:
        InputError: when an extension gives something else, or is not installed.
    """
    found = []
    for name in extensions(GROUP) if names is None else sorted(set(names)):
        made = load_extension(GROUP, name)
        made = made() if callable(made) else made
        if not isinstance(made, Mapping):
            raise InputError(f"Expected a mapping of names to kernels from extension {name!r}. Got {made!r}.")
        for label, content in made.items():
            if isinstance(content, Mapping) and "kind" in content:
                base_node(content, f"{name}.{label}")
                subject = reference_subject(content, str(label))
            elif isinstance(content, Mapping):
                subject = program_subject(program_from_json(content, f"{name}.{label}"), "reference")
            elif isinstance(content, KernelProgram):
                subject = program_subject(content, "reference")
            else:
                raise InputError(f"Expected a base node, candidate or program for {name}.{label}. Got {content!r}.")
            found.append(replace(subject, family=name))
    return found


def family_winners(
    references: Sequence[Subject],
    training: Setting,
    *,
    workers: int = 1,
    done: Callable[[int], None] | None = None,
) -> list[Evaluation]:
    """The best reference of each family by mean CRPS (on a user's table: likelihood) on meta-training episodes, ties to the first.

    Args:
        references: any reference kernels.
        training: the command's meta-training setting; at least 2 episodes a family are used whatever it says.
        workers: processes.
        done: called with the number of references evaluated so far.

    Returns:
        The winners' evaluations on those episodes, in the order in which families appear.

    Raises:
        InputError: unless the setting's split is ``train``.
    """
    return winners_of(scored_references(references, training, workers=workers, done=done))


def scored_references(
    references: Sequence[Subject],
    training: Setting,
    *,
    workers: int = 1,
    done: Callable[[int], None] | None = None,
) -> list[Evaluation]:
    """Every reference on the episodes that :func:`family_winners` compares them on, with its arguments and errors."""
    if training.split != "train":
        raise InputError(f"Expected reference winners to be chosen on the train split. Got {training.split!r}.")
    count = min(max(MIN_PER_FAMILY, training.per_family), training.made().most_per_family)
    setting = replace(training, per_family=count, predictive=True, bo_steps=0)
    return [evaluation for (evaluation,) in evaluate_all(references, [setting], workers=workers, done=done)]


def winners_of(evaluations: Sequence[Evaluation], per_family: int | None = None) -> list[Evaluation]:
    """The best evaluation of each family of kernels, ties to the first.

    Args:
        evaluations: from :func:`scored_references`.
        per_family: compare on the first episodes of each family only; on all if absent.
    """
    best: dict[str, tuple[float, Evaluation]] = {}
    for evaluation in evaluations:
        width = evaluation.setting.per_family
        kept = width if per_family is None else per_family
        value = mean_loss([outcome for i, outcome in enumerate(evaluation.predictive) if i % width < kept])
        family = evaluation.subject.family
        if family not in best or value < best[family][0]:
            best[family] = (value, evaluation)
    return [evaluation for _, evaluation in best.values()]


def _name(kind: str, index: int, parameters: Mapping[str, Any]) -> str:
    """A readable name such as ``periodic-lengthscale-0.5-period-1``."""
    if kind == "spectral_mixture":
        return f"spectral_mixture-start-{index}"
    parts = [kind]
    for key, value in parameters.items():
        text = f"ramp-{value['min']:g}-{value['max']:g}" if isinstance(value, Mapping) else f"{value:g}"
        parts += [key, text]
    return "-".join(parts)
