"""Fit a kernel to a user's own data and predict: ``fit(program, X, y).predict(X_new)``.

Inputs are brought to the unit cube by the range of each fitted column, targets to mean 0 and deviation 1; amplitude and noise are those of largest marginal
likelihood (:mod:`kernaut.fitting.likelihood`).  The kernel's own parameters stay as they are unless tuning is asked for.

Shapes: ``n`` fitted and ``q`` new points of dimension ``d``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import ndtri

from kernaut.episodes.episode import Episode
from kernaut.episodes.table import InputScale, target_scale
from kernaut.errors import FitError, InputError
from kernaut.fitting.embedding import Embedding
from kernaut.fitting.likelihood import LikelihoodFit, LikelihoodGroup, fit_likelihood, row_loss
from kernaut.kernels.adapters import as_kernel, finite_matrix
from kernaut.kernels.coregionalized import NEAR
from kernaut.kernels.inspection import task_columns
from kernaut.kernels.kernel import KernautKernel
from kernaut.program.program import KernelProgram

Array = NDArray[np.float64]

TUNING_STEPS = 40


@dataclass(frozen=True, eq=False)
class Prediction:
    """Observations to expect at new points, each by itself, in the targets' units.

    Args:
        mean: ``q`` means.
        sd: ``q`` standard deviations, noise included.
        level: probability of the intervals.
    """

    mean: Array
    sd: Array
    level: float = 0.95

    @property
    def lower(self) -> Array:
        """``q`` lower ends of the intervals."""
        return self.mean - float(ndtri(0.5 + 0.5 * self.level)) * self.sd

    @property
    def upper(self) -> Array:
        """``q`` upper ends of the intervals."""
        return self.mean + float(ndtri(0.5 + 0.5 * self.level)) * self.sd


@dataclass(frozen=True, eq=False)
class FittedKernel:
    """A kernel with amplitude, noise and scales fitted to data.

    Args:
        kernel: the kernel.
        inputs: the map of inputs to the unit cube.
        target_mean: mean of the fitted targets.
        target_scale: their standard deviation.
        fit: amplitude, noise and what predictions need.
        embedding: of the fitted points.
    """

    kernel: KernautKernel
    inputs: InputScale
    target_mean: float
    target_scale: float
    fit: LikelihoodFit
    embedding: Embedding

    @torch.no_grad()
    def predict(self, X_new: Any, *, level: float = 0.95) -> Prediction:
        """Predict observations at new points.

        Args:
            X_new: ``q x d``, in the units of the fitted inputs.
            level: probability of the intervals.

        Raises:
            InputError: for points of another dimension, numbers that are not finite, or a level outside (0, 1).
            SandboxFailure: when the kernel's program gives no value.
        """
        if not 0.0 < level < 1.0:
            raise InputError(f"Expected a level between 0 and 1. Got {level!r}.")
        new = finite_matrix(X_new, "X_new")
        if new.shape[1] != len(self.inputs.low):
            raise InputError(f"Expected {len(self.inputs.low)} columns in X_new, as were fitted. Got {new.shape[1]}.")
        embedding = self.kernel.embed(torch.from_numpy(self.inputs.apply(new)))
        cross = self.kernel.cross(embedding, self.embedding).numpy()
        mean, variance = self.fit.predict(cross, self.kernel.diagonal(embedding).numpy())
        return Prediction(
            self.target_mean + self.target_scale * mean, self.target_scale * np.sqrt(variance), level=level
        )

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the noise, in the targets' units."""
        return self.target_scale * math.sqrt(self.fit.noise)

    def parameters(self) -> dict[str, float]:
        """The kernel's own parameters by name."""
        return dict(zip(self.kernel.parameter_names, self.kernel.values.detach().tolist(), strict=True))


def fit(program: KernelProgram | KernautKernel, X: Any, y: Any, *, tune: bool = False) -> FittedKernel:
    """Fit amplitude, noise and scales of a kernel to data by marginal likelihood.

    Args:
        program: a program or kernel.
        X: ``n x d`` inputs in any units.
        y: ``n`` targets in any units.
        tune: climb the likelihood in the program's declared parameters first; it must be written in torch.

    Raises:
        InputError: for data of the wrong shape, not finite, of fewer than 3 distinct rows, or with targets that do not vary; or for parameters that cannot be
            tuned.
        FitError: when the Gram matrix cannot be fitted.
        SandboxFailure: when the program gives no value.

    Example:
        >>> fitted = fit(load_candidate("dwf.json"), X, y)  # doctest: +SKIP
        >>> fitted.predict(X_new).upper  # doctest: +SKIP
    """
    inputs, targets = finite_matrix(X, "X"), np.array(y, dtype=np.float64)
    if targets.shape != inputs.shape[:1] or not np.isfinite(targets).all():
        raise InputError(f"Expected {len(inputs)} finite targets, one a row of X. Got shape {targets.shape}.")
    if len(np.unique(inputs, axis=0)) < 3 or np.ptp(targets) == 0.0:
        raise InputError("Expected at least 3 distinct rows of X and targets that vary. Got less.")
    kernel = as_kernel(program)
    scale = InputScale.of(inputs)
    mean, deviation = target_scale(targets)
    points, standard = scale.apply(inputs), (targets - mean) / deviation
    for place, values in task_columns(kernel, inputs.shape[1]).items():
        _require_tasks(inputs[:, place], points[:, place], values, place)
    if tune:
        _tune(kernel, points, standard)
    with torch.no_grad():
        embedding = kernel.embed(torch.from_numpy(points))
        found = fit_likelihood(kernel.cross(embedding, embedding).numpy(), standard)
    return FittedKernel(kernel, scale, mean, deviation, found, embedding)


def _require_tasks(column: Array, scaled: Array, values: tuple[float, ...], place: int) -> None:
    """Check that a column of tasks, brought to [0, 1], holds every task of the program: without one, others would be taken for it."""
    gaps = np.abs(scaled[:, None] - np.array(values))
    if (gaps.min(0) <= NEAR).all() and (gaps.min(1) <= NEAR).all():
        return
    had, became = np.unique(column), np.unique(scaled)
    raise InputError(
        f"Expected column {place} to name the program's {len(values)} tasks, all of them, once it is brought to [0, 1]: {_listed(values)}. "
        f"Got {_listed(had)}, which become {_listed(became)}.",
        hint="Give the program task_values on that scale, such as [0, 0.5, 1] for tasks 0, 1 and 2, and rows of every task.",
    )


def _listed(numbers: Any) -> str:
    return ", ".join(f"{number:g}" for number in numbers[:8]) + (", ..." if len(numbers) > 8 else "")


def _tune(kernel: KernautKernel, points: Array, targets: Array) -> None:
    """Leave the kernel's declared float parameters where the likelihood is largest within their ranges."""
    identity = kernel.identity
    specs = identity.space if isinstance(identity, KernelProgram) else ()
    chosen = [spec for spec in specs if spec.type == "float" and spec.name in kernel.parameter_names]
    if not chosen:
        raise InputError("Expected a program that declares ranges of float parameters. Got none to tune.")
    places = [kernel.parameter_names.index(spec.name) for spec in chosen]
    dimension = points.shape[1]
    episode = Episode("fit", "table", "train", "table", 0, points, targets, np.empty((0, dimension)), np.empty(0))
    group = LikelihoodGroup.of(0, episode)
    logs = np.array([spec.scale == "log" for spec in chosen])
    limits = np.array([[float(spec.lower or 0.0), float(spec.upper or 0.0)] for spec in chosen])
    bounds = np.where(logs[:, None], np.log(np.where(logs[:, None], limits, 1.0)), limits)

    def placed(position: Array) -> Array:
        return np.where(logs, np.exp(np.where(logs, position, 0.0)), position)

    def loss(position: Array) -> tuple[float, Array]:
        values = placed(position)
        with torch.no_grad():
            kernel.values[places] = torch.from_numpy(values)
        kernel.values.grad = None
        try:
            found = row_loss(kernel, group).sum()
        except FitError:
            return 1e10, np.zeros_like(position)
        found.backward()
        assert kernel.values.grad is not None
        slope = kernel.values.grad[places].numpy()
        if not (math.isfinite(float(found.detach())) and np.isfinite(slope).all()):
            return 1e10, np.zeros_like(position)
        return float(found.detach()), slope * np.where(logs, values, 1.0)

    start = kernel.values.detach()[places].numpy().copy()
    first = np.clip(np.where(logs, np.log(np.where(logs, start, 1.0)), start), bounds[:, 0], bounds[:, 1])
    kernel.values.requires_grad_(True)
    try:
        climbed = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": TUNING_STEPS})
    finally:
        kernel.values.requires_grad_(False)
        kernel.values.grad = None
    with torch.no_grad():
        kernel.values[places] = torch.from_numpy(placed(climbed.x))
