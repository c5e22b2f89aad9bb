"""Tuning of declared parameters on meta-training episodes: Halton trials, then gradient steps.

Trials are cheap (one tuning episode a family) and cover the declared ranges; gradient steps start from the best trial and use more
tuning episodes, since a gradient fits whatever noise few episodes have.  Halton, 1960, Numer. Math. 2; Adam: Kingma and Ba, 2015.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kernaut.errors import FitError, InputError, KernautError
from kernaut.fitting.objective import mean_query_crps
from kernaut.fitting.prefixes import Group
from kernaut.kernels.kernel import KernautKernel
from kernaut.program.parameters import ParameterSpec
from kernaut.program.program import KernelProgram

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
MAX_TRIALS = 64
COMPLEXITY = 1e-3
LEARNING_RATE = 0.08
DIGITS = 6
"""Significant digits of tuned values: source and parameters are read by people."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One setting: its values and fitness (larger is better), or why there is none."""

    method: str
    values: Mapping[str, Any]
    fitness: float | None
    reason: str | None = None


def radical_inverse(index: int, base: int) -> float:
    """The ``index``-th element (from 1) of the van der Corput sequence in a base, in (0, 1)."""
    result, fraction = 0.0, 1.0 / base
    while index > 0:
        index, digit = divmod(index, base)
        result += digit * fraction
        fraction /= base
    return result


def halton_values(space: Sequence[ParameterSpec], index: int) -> dict[str, Any]:
    """The ``index``-th Halton setting (from 1), prime bases in declaration order.

    Raises:
        InputError: for more tunable parameters than bases.
    """
    if len(space) > len(PRIMES):
        raise InputError(f"Expected at most {len(PRIMES)} tunable parameters. Got {len(space)}.")
    return {spec.name: spec.decode(radical_inverse(index, base)) for spec, base in zip(space, PRIMES, strict=False)}


def fitness(mean_crps: float, parameter_count: int) -> float:
    """Minus mean CRPS minus ``1e-3 log(1 + number of parameters)``."""
    return -mean_crps - COMPLEXITY * math.log1p(parameter_count)


def halton_trials(
    program: KernelProgram, trials: int, score: Callable[[Mapping[str, Any]], tuple[float | None, str | None]]
) -> list[Trial]:
    """Score the program's own setting, then Halton settings.

    Args:
        program: with declared ranges; one without is scored at its own setting only.
        trials: settings in all, 1 to 64.
        score: gives the fitness of some values, or None and a reason.

    Raises:
        InputError: for a number of trials out of range.
    """
    if isinstance(trials, bool) or not isinstance(trials, int) or not 1 <= trials <= MAX_TRIALS:
        raise InputError(f"Expected 1 to {MAX_TRIALS} trials. Got {trials!r}.")
    settings: list[tuple[str, dict[str, Any]]] = [
        ("initial", {spec.name: program.parameters[spec.name] for spec in program.space})
    ]
    if program.space:
        settings += [("halton", halton_values(program.space, index)) for index in range(1, trials)]
    return [Trial(method, values, *score(values)) for method, values in settings]


def refine(
    kernel: KernautKernel, space: Sequence[ParameterSpec], groups: Sequence[Group], steps: int
) -> tuple[dict[str, float], float]:
    """Gradient steps on the mean query CRPS of meta-training tuning episodes; the best setting that was visited.

    Each declared float is moved through a logistic map onto its range (on its log or linear scale), so that no step leaves it.

    Args:
        kernel: of a differentiable program; its ``values`` are left at the best setting.
        space: the declared ranges; parameters of other types stay as they are.
        groups: stacked tuning episodes.
        steps: Adam steps.

    Returns:
        Tuned values by name, rounded to 6 significant digits, and the mean CRPS before rounding.

    Raises:
        FitError: when no episode can be fitted at the start.
        SandboxFailure: when the program gives no value, or no gradient, at the start.
    """
    specs = [spec for spec in space if spec.type == "float" and spec.name in kernel.parameter_names]
    places = [kernel.parameter_names.index(spec.name) for spec in specs]
    start = kernel.values.detach().clone()
    if not specs:
        with torch.no_grad():
            return {}, float(mean_query_crps(kernel, groups))
    position = torch.tensor(
        [_logit(spec.encode(float(start[place]))) for spec, place in zip(specs, places, strict=True)]
    )
    position = position.to(torch.float64).requires_grad_()
    optimizer = torch.optim.Adam([position], lr=LEARNING_RATE)
    lower, width, is_log = _ranges(specs)
    best: tuple[float, torch.Tensor] | None = None
    kernel.values.requires_grad_(True)
    try:
        for step in range(steps + 1):
            moved = lower + width * torch.sigmoid(position)
            values = torch.where(is_log, torch.exp(moved), moved)
            with torch.no_grad():
                kernel.values[places] = values
            kernel.values.grad = None
            try:
                loss = mean_query_crps(kernel, groups)
                loss.backward()
            except KernautError:
                if best is None:
                    raise
                break
            gradient = kernel.values.grad
            if not math.isfinite(float(loss.detach())) or gradient is None or not bool(torch.isfinite(gradient).all()):
                break
            if best is None or float(loss.detach()) < best[0]:
                best = (float(loss.detach()), values.detach().clone())
            if step < steps:
                optimizer.zero_grad()
                values.backward(gradient[places])
                optimizer.step()
    finally:
        kernel.values.requires_grad_(False)
        with torch.no_grad():
            kernel.values.copy_(start)
    if best is None:
        raise FitError("Expected a finite loss and gradient at the starting values. Got neither.")
    tuned = {spec.name: rounded(float(value), spec) for spec, value in zip(specs, best[1], strict=True)}
    with torch.no_grad():
        kernel.values[places] = torch.tensor(list(tuned.values()), dtype=torch.float64)
    return tuned, best[0]


def _ranges(specs: Sequence[ParameterSpec]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    lowers, widths = [], []
    for spec in specs:
        assert spec.lower is not None and spec.upper is not None
        low, high = (math.log(b) if spec.scale == "log" else float(b) for b in (spec.lower, spec.upper))
        lowers.append(low)
        widths.append(high - low)
    flags = torch.tensor([spec.scale == "log" for spec in specs])
    return torch.tensor(lowers, dtype=torch.float64), torch.tensor(widths, dtype=torch.float64), flags


def _logit(position: float) -> float:
    inside = min(max(position, 0.02), 0.98)
    return math.log(inside / (1.0 - inside))


def rounded(value: float, spec: ParameterSpec) -> float:
    """A tuned value to 6 significant digits, within its range."""
    assert spec.lower is not None and spec.upper is not None
    return min(max(float(f"{value:.{DIGITS}g}"), float(spec.lower)), float(spec.upper))
