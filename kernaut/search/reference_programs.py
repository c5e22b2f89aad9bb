"""References that are programs: tuned ARD, input warping, grid spectral mixture, random Fourier features and compositional kernel search.

Each is tuned on the benchmark's meta-training tuning episodes and then frozen, like any program: amplitude and noise are fitted anew on every episode.

References: Snoek et al. (2014), input warping; Wilson and Adams (2013), spectral mixtures; Rahimi and Recht (2007), random features; Duvenaud et al. (2013), compositional
kernel search.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from kernaut.digest import FrozenMapping, content_id, thaw
from kernaut.episodes.benchmark import Benchmark
from kernaut.errors import KernautError
from kernaut.evaluation.evaluate import Setting, evaluate
from kernaut.evaluation.outcome import mean_crps
from kernaut.evaluation.references import MIN_PER_FAMILY
from kernaut.evaluation.subject import Subject, program_subject
from kernaut.fitting.objective import mean_query_crps
from kernaut.fitting.prefixes import Group, PrefixGroup
from kernaut.kernels.interpreter import interpret
from kernaut.program.parameters import ParameterSpec
from kernaut.program.program import KernelProgram
from kernaut.search.tuning import refine

STEPS = 40
"""Gradient steps; 100 instead move no mean CRPS of glucose by more than 0.003."""
MOST_LONG = 3
"""Most tuning episodes a family where episodes are long."""
DEPTH = 3
COMPOSITIONAL = "reference-compositional-search"
FEATURES = 128
GRID_COMPONENTS = {"cube": (0.0, 0.25, 0.5, 1.0, 1.5, 2.0), "series": (0.0, 0.5, 25.0, 30.0, 40.0, 50.0)}
BASE = {"kind": "matern52", "lengthscale": 1.0}

_ARD = '''import torch


def transform_point(x, parameters):
    """Each coordinate in its own lengthscale; coordinates beyond the tuned ones keep the last one's."""
    scales = torch.stack(({scales}))
    places = torch.clamp(torch.arange(0, x.shape[0]), 0, {last})
    return x * scales[places]
'''
_WARP = '''import torch


def transform_point(x, parameters):
    """The Kumaraswamy distribution function of each coordinate, in its own lengthscale."""
    u = torch.clamp(x, 1e-6, 1.0 - 1e-6)
    warped = 1.0 - (1.0 - u ** parameters["a"]) ** parameters["b"]
    scales = torch.stack(({scales}))
    places = torch.clamp(torch.arange(0, x.shape[0]), 0, {last})
    return warped * scales[places]
'''
_LEAF = '''import torch


def closure_tree(parameters):
    """{doc}"""
    return {tree}
'''


@dataclass(frozen=True, eq=False)
class Recipe:
    """A reference program to be.

    Args:
        name: of the program that comes of it.
        make: builds and tunes it.
    """

    name: str
    make: Callable[[], KernelProgram]


def reference_recipes(benchmark: Benchmark, options: Mapping[str, Any], winners: Sequence[Subject]) -> list[Recipe]:
    """How each reference program of a benchmark is made, which may take minutes for each.

    Args:
        benchmark: the benchmark.
        options: what it was made with.
        winners: the best fixed kernel of each family, which the compositional search combines.
    """
    groups = tuning_groups(benchmark, options)
    compared = Setting(benchmark.name, "train", MIN_PER_FAMILY, FrozenMapping(options), tuning=True)
    found = [Recipe(start.name, partial(tuned, start, groups, STEPS)) for start in starting_programs(benchmark)]
    return [*found, Recipe(COMPOSITIONAL, partial(compositional_search, winners, compared))]


def tuning_groups(benchmark: Benchmark, options: Mapping[str, Any]) -> tuple[Group, ...]:
    """Meta-training tuning episodes of a benchmark, fewer where they are long."""
    count = min(benchmark.refinement_episodes, benchmark.most_per_family)
    setting = Setting(benchmark.name, "train", count, FrozenMapping(options), tuning=True)
    if not any(isinstance(group, PrefixGroup) for group in replace(setting, per_family=1).episodes()):
        return setting.episodes()
    return replace(setting, per_family=min(count, MOST_LONG)).episodes()


def starting_programs(benchmark: Benchmark) -> list[KernelProgram]:
    """The programs before tuning."""
    count = max(benchmark.dimensions) if len(benchmark.coordinates) != 1 else 1
    count = min(count, 10)
    names = [f"scale_{i}" for i in range(count)]
    scales = ", ".join(f'parameters["{name}"]' for name in names) + ","
    space = [ParameterSpec(name, "float", "log", 0.02, 50.0) for name in names]
    warp = [ParameterSpec(name, "float", "log", 0.2, 5.0) for name in ("a", "b")]
    ard = KernelProgram(
        name="reference-ard-matern52",
        contract="input_transform",
        source=_ARD.format(scales=scales, last=count - 1),
        parameters={**dict.fromkeys(names, 1.0), "base_kernel": BASE},
        rationale="Reference: ARD Matern-5/2, lengthscales tuned on meta-training episodes.",
        space=tuple(space),
    )
    warped = KernelProgram(
        name="reference-input-warping",
        contract="input_transform",
        source=_WARP.format(scales=scales, last=count - 1),
        parameters={**dict.fromkeys(names, 1.0), "a": 1.0, "b": 1.0, "base_kernel": BASE},
        rationale="Reference: Kumaraswamy input warping under ARD Matern-5/2.",
        space=(*space, *warp),
    )
    return [ard, warped, _mixture(benchmark.reference_grid), _random_features()]


def tuned(program: KernelProgram, groups: Sequence[Group], steps: int) -> KernelProgram:
    """A program with its declared parameters tuned by gradient on meta-training tuning episodes."""
    kernel = interpret(program)
    try:
        values, _ = refine(kernel, program.space, groups, steps)
        return program.with_parameters(values)
    except KernautError:
        return program
    finally:
        kernel.close()


def best_of(programs: Sequence[KernelProgram], groups: Sequence[Group]) -> KernelProgram:
    """The program of smallest mean CRPS on meta-training tuning episodes."""

    @torch.no_grad()
    def score(program: KernelProgram) -> float:
        kernel = interpret(program)
        try:
            return float(mean_query_crps(kernel, groups))
        except KernautError:
            return math.inf
        finally:
            kernel.close()

    return min(programs, key=score)


def compositional_search(winners: Sequence[Subject], training: Setting, depth: int = DEPTH) -> KernelProgram:
    """Greedy sums and products of the families' winners, up to ``depth`` kernels, by mean CRPS on meta-training.

    Args:
        winners: reference subjects.
        training: meta-training tuning episodes that expressions are compared on.
        depth: most kernels in an expression.
    """
    bases = [{"op": "base", **thaw(w.content)} for w in winners if not isinstance(w.content, KernelProgram)]
    best, best_score = bases[0], math.inf
    current: dict[str, Any] | None = None
    for _ in range(depth):
        tried = (
            bases
            if current is None
            else [{"op": op, "children": [current, base]} for base in bases for op in ("sum", "product")]
        )
        scored = [
            (mean_crps(evaluate(program_subject(_expression(tree)), training).predictive), i)
            for i, tree in enumerate(tried)
        ]
        score, index = min(scored)
        if score >= best_score:
            break
        best, best_score, current = tried[index], score, tried[index]
    return _expression(best, name=COMPOSITIONAL)


def _expression(tree: Mapping[str, Any], name: str = "expression") -> KernelProgram:
    text = json.dumps(tree, indent=4).replace("\n", "\n    ")
    return KernelProgram(
        name=name if name != "expression" else f"expression-{content_id(tree)[:8]}",
        contract="closure",
        source=_LEAF.format(doc="An expression of library kernels, found greedily.", tree=text).replace(
            "import torch\n\n\n", ""
        ),
        parameters={},
        rationale="Reference: compositional kernel search to depth 3 over the winners of the fixed grid.",
    )


def _mixture(grid: str) -> KernelProgram:
    means = GRID_COMPONENTS[grid]
    names = [f"weight_{i}" for i in range(len(means))]
    weights = ", ".join(f'parameters["{name}"]' for name in names)
    scales = ", ".join(['parameters["trend_scale"]', *['parameters["scale"]'] * (len(means) - 1)])
    tree = f'{{"op": "base", "kind": "spectral_mixture", "weights": [{weights}], "means": {list(means)}, "scales": [{scales}]}}'
    start = {name: (1.0 if i == 0 else 0.1) for i, name in enumerate(names)}
    bounds = [ParameterSpec(name, "float", "log", 1e-4, 10.0) for name in names]
    widths = [
        ParameterSpec("trend_scale", "float", "log", 0.02, 2.0),
        ParameterSpec("scale", "float", "log", 0.05, 3.0),
    ]
    return KernelProgram(
        name="reference-grid-spectral-mixture",
        contract="closure",
        source=_LEAF.format(doc="A spectral mixture on a fixed grid of frequencies.", tree=tree),
        parameters={**start, "trend_scale": 0.25, "scale": 0.3},
        rationale="Reference: spectral mixture whose frequencies stand on a grid; weights and bandwidths tuned.",
        space=(*bounds, *widths),
    )


def _random_features() -> KernelProgram:
    tree = (
        f'{{"op": "base", "kind": "rff", "features": {FEATURES}, "seed": 0, "lengthscale": parameters["lengthscale"]}}'
    )
    return KernelProgram(
        name="reference-random-fourier-features",
        contract="closure",
        source=_LEAF.format(doc="Random Fourier features of an RBF kernel.", tree=tree),
        parameters={"lengthscale": 1.0},
        rationale="Reference: 128 random Fourier features, lengthscale tuned.",
        space=(ParameterSpec("lengthscale", "float", "log", 0.05, 20.0),),
    )
