"""The eight tuned references of ``kernaut baselines``: each kernel kind fitted to the user's own table by marginal likelihood.

Kernel parameters, amplitude and noise are tuned together by L-BFGS-B from a few seeded starts, within the ranges below; inputs are expected on the unit cube and
targets standardized, as table episodes are.  Nothing but the fitting rows enters; of a large table the starts are tuned on 200 rows, and the best one on all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor

from kernaut.digest import FrozenMapping
from kernaut.errors import FitError, InputError
from kernaut.evaluation.engine import ordered_map
from kernaut.evaluation.mixture_starts import spectral_mixture_start
from kernaut.evaluation.subject import Subject, reference_subject
from kernaut.fitting.embedding import Embedding
from kernaut.fitting.likelihood import AMPLITUDE_RANGE, NOISE_RANGE
from kernaut.fitting.marginal import log_marginal
from kernaut.kernels.form import Form
from kernaut.kernels.kernel import KernautKernel
from kernaut.kernels.library import base_kernel
from kernaut.seeds import generator

Array = NDArray[np.float64]

KINDS = ("linear", "rbf", "matern32", "matern52", "periodic", "rq", "spectral_mixture", "rff")
STARTS = 3
ITERATIONS = 80
FEATURES = 128
MANY_ROWS = 200
"""Above so many rows the starts are tuned on so many of them, and the best one is then tuned on all."""
POLISH = 20
"""Iterations of that last tuning."""
RANGES = {
    "lengthscale": (0.01, 100.0),
    "period": (0.05, 10.0),
    "alpha": (0.05, 50.0),
    "weights": (1e-4, 10.0),
    "means": (1e-3, 20.0),
    "scales": (1e-2, 20.0),
}
"""Tuned on a log scale; every other parameter of a leaf keeps its default (the variance is the amplitude's)."""


@dataclass(frozen=True)
class TunedBaseline:
    """One kernel kind at its largest marginal likelihood.

    Args:
        kind: kernel kind.
        node: base node with the tuned parameters.
        amplitude: signal variance.
        noise: noise variance.
        log_marginal: log marginal likelihood of the fitting rows [nats].
        evaluations: likelihoods that were calculated, over all starts.
        on_bound: names of parameters that ended on the edge of their range.
    """

    kind: str
    node: FrozenMapping
    amplitude: float
    noise: float
    log_marginal: float
    evaluations: int
    on_bound: tuple[str, ...]

    def subject(self) -> Subject:
        """The frozen kernel, to be evaluated like any other reference."""
        return reference_subject(self.node, f"tuned-{self.kind}")


def tuned_baselines(
    inputs: Array,
    targets: Array,
    *,
    kinds: Sequence[str] = KINDS,
    seed: int = 0,
    workers: int = 1,
    done: Callable[[int], None] | None = None,
) -> list[TunedBaseline]:
    """Tune every kind on the fitting rows of a table.

    Args:
        inputs: ``n x d`` on the unit cube.
        targets: ``n``, standardized.
        kinds: kernel kinds of :data:`KINDS`.
        seed: of the starts.
        workers: processes; the numbers do not depend on it.
        done: called with the number of finished kinds.

    Raises:
        InputError: for an unknown kind, or arrays of the wrong shape.
        FitError: when no start of a kind has a finite likelihood.
    """
    return ordered_map(partial(_tune_kind, inputs, targets, seed=seed), list(kinds), workers=workers, done=done)


def tune_baseline(kind: str, inputs: Array, targets: Array, *, seed: int = 0, starts: int = STARTS) -> TunedBaseline:
    """Tune one kind.

    Args:
        kind: one of :data:`KINDS`.
        inputs: ``n x d`` on the unit cube.
        targets: ``n``, standardized.
        seed: of the starts.
        starts: number of starts.

    Raises:
        InputError: for an unknown kind, or arrays of the wrong shape.
        FitError: when no start has a finite likelihood.
    """
    if kind not in KINDS:
        raise InputError(f"Expected a baseline of {', '.join(KINDS)}. Got {kind!r}.")
    x, y = np.array(inputs, dtype=np.float64), np.array(targets, dtype=np.float64)
    if x.ndim != 2 or y.shape != x.shape[:1] or 0 in x.shape or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError(f"Expected finite inputs n x d and targets n. Got shapes {x.shape} and {y.shape}.")
    best: _Search | None = None
    evaluations = 0
    chosen = np.sort(generator("baseline-rows", len(y)).permutation(len(y))[:MANY_ROWS])
    for start in range(starts):
        rows = torch.from_numpy(x[chosen]), torch.from_numpy(y[chosen])
        search = _Search(kind, _start(kind, seed, start), *rows, seed, start)
        search.run()
        evaluations += search.evaluations
        if best is None or search.value > best.value:
            best = search
    if best is not None and len(y) > MANY_ROWS and math.isfinite(best.value):
        polished = _Search(kind, best.node, torch.from_numpy(x), torch.from_numpy(y), seed, 0)
        polished.point = best.point
        polished.run(POLISH)
        evaluations += polished.evaluations
        best = polished
    if best is None or not math.isfinite(best.value):
        raise FitError(f"Expected a finite marginal likelihood of kind {kind}. Got none from {starts} starts.")
    return best.result(evaluations)


@dataclass(frozen=True, eq=False)
class _At:
    """A form at given parameters, which gradients flow to."""

    form: Form
    theta: Tensor

    def embed(self, x: Tensor) -> Embedding:
        return self.form.embed(x, self.theta)

    def cross(self, a: Embedding, b: Embedding) -> Tensor:
        return self.form.cross(a, b, self.theta)

    def diagonal(self, a: Embedding) -> Tensor:
        return self.form.diagonal(a, self.theta)


class _Search:
    """One L-BFGS-B run in logarithms of the tuned parameters, amplitude and noise last."""

    def __init__(self, kind: str, node: dict[str, Any], inputs: Tensor, targets: Tensor, seed: int, start: int) -> None:
        self.kind, self.node, self.inputs, self.targets = kind, node, inputs, targets
        self.kernel: KernautKernel = base_kernel(node)
        stems = [name.split("[")[0] for name in self.kernel.parameter_names]
        self.free = [place for place, stem in enumerate(stems) if stem in RANGES and stem in node]
        ranges = [*(RANGES[stems[place]] for place in self.free), AMPLITUDE_RANGE, NOISE_RANGE]
        self.bounds = np.log(np.array(ranges))
        rng = generator("baseline", kind, seed, start)
        tuned = [float(self.kernel.values[place]) for place in self.free]
        initial = np.log([*tuned, 1.0, math.exp(rng.uniform(math.log(1e-3), math.log(0.3)))])
        self.point = np.clip(initial, self.bounds[:, 0], self.bounds[:, 1])
        self.value = -math.inf
        self.evaluations = 0

    def run(self, iterations: int = ITERATIONS) -> None:
        """Climb from the start; the best point seen stays in ``point`` and ``value``."""
        options = {"maxiter": iterations}
        minimize(self._loss, self.point, jac=True, method="L-BFGS-B", bounds=self.bounds, options=options)

    def result(self, evaluations: int) -> TunedBaseline:
        """The best point as a base node."""
        values = np.exp(self.point)
        names = [self.kernel.parameter_names[place] for place in self.free]
        node = dict(self.node)
        for name, value in zip(names, values, strict=False):
            stem, _, index = name.partition("[")
            if index:
                node[stem] = [*node[stem]]
                node[stem][int(index.rstrip("]"))] = float(value)
            else:
                node[stem] = float(value)
        span = self.bounds[:, 1] - self.bounds[:, 0]
        edge = (self.point - self.bounds[:, 0] < 1e-6 * span) | (self.bounds[:, 1] - self.point < 1e-6 * span)
        on_bound = tuple(n for n, e in zip([*names, "amplitude", "noise"], edge, strict=True) if e)
        return TunedBaseline(
            self.kind, FrozenMapping(node), float(values[-2]), float(values[-1]), self.value, evaluations, on_bound
        )

    def _loss(self, point: Array) -> tuple[float, Array]:
        self.evaluations += 1
        logs = torch.tensor(point, dtype=torch.float64, requires_grad=True)
        places = torch.tensor(self.free, dtype=torch.long)
        theta = self.kernel.theta().index_put((places,), logs[:-2].exp())
        kernel = _At(self.kernel.form, theta)
        likelihood = log_marginal(kernel, self.inputs, self.targets, logs[-2].exp(), logs[-1].exp())
        value = float(likelihood.detach())
        if not math.isfinite(value):
            return 1e10, np.zeros_like(point)
        if value > self.value:
            self.value, self.point = value, np.array(point)
        (gradient,) = torch.autograd.grad(-likelihood, logs)
        return -value, gradient.numpy()


def _start(kind: str, seed: int, start: int) -> dict[str, Any]:
    """A base node to start from; the first start is the middle of the road, the others are drawn."""
    rng = generator("baseline-start", kind, seed, start)

    def drawn(first: float, low: float, high: float) -> float:
        value = math.exp(rng.uniform(math.log(low), math.log(high)))
        return first if start == 0 else value

    if kind == "linear":
        return {"kind": kind}
    if kind == "spectral_mixture":
        return {"kind": kind, **spectral_mixture_start(seed * STARTS + start)}
    node: dict[str, Any] = {"kind": kind, "lengthscale": drawn(0.5, 0.05, 2.0)}
    if kind == "periodic":
        node["period"] = drawn(1.0, 0.1, 3.0)
    if kind == "rq":
        node["alpha"] = drawn(1.0, 0.2, 10.0)
    if kind == "rff":
        node |= {"features": FEATURES, "seed": seed * STARTS + start}
    return node


def _tune_kind(inputs: Array, targets: Array, kind: str, *, seed: int) -> TunedBaseline:
    return tune_baseline(kind, inputs, targets, seed=seed)
