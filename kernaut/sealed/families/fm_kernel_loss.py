"""``fm_kernel_loss``: choose kernel expansion weights that separate points whose labels are hidden.

Public: points x (m x d), anchors z (p x d), the kernel, lambda, the box.  Hidden: labels y.  With f(x) = sum_j theta_j k(x, z_j):
J = -[(1/m) sum max(0, 1 - y_i f(x_i)) + lambda |theta|^2].  J_star is at the optimum of this convex problem, certified by a dual point.

The kernel is any Kernaut kernel: a base node, or a candidate's record, whose program runs in the sandbox.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from kernaut.digest import canonical_json, loads_finite, thaw
from kernaut.errors import FitError, InputError
from kernaut.sealed.families.family import Array, Drawn, Family, Optimum, Secrets
from kernaut.sealed.kernel_records import cross_gram, kernel_of
from kernaut.sealed.manifest import PublicTask
from kernaut.sealed.mechanisms import kernel_loss
from kernaut.sealed.sealing import SealedStream
from kernaut.sealed.spaces import Box

BOX = (-3.0, 3.0)
GAP = 1e-6
"""Largest duality gap of an optimum."""
KINDS = ("rbf", "matern32", "matern52")
_ROUNDS = 20


class FMKernelLoss(Family):
    """Labels of a hidden kernel expansion, some of them flipped."""

    name = "fm_kernel_loss"
    horizon_budget = 5

    def draw(self, public: np.random.Generator, hidden: SealedStream, options: Mapping[str, Any]) -> Drawn:
        """Draw points, anchors, kernel and lambda in public; the labels from the sealed stream.

        Raises:
            InputError: for an option other than ``kernel``.
        """
        if unknown := set(options) - {"kernel"}:
            raise InputError(f"Expected the option kernel for {self.name}. Got {', '.join(sorted(unknown))}.")
        width, count, anchors = int(public.integers(1, 4)), int(public.integers(20, 41)), int(public.integers(4, 9))
        points, centres = public.uniform(size=(count, width)), public.uniform(size=(anchors, width))
        kind, lengthscale = str(public.choice(KINDS)), round(float(public.uniform(0.15, 0.5)), 3)
        ridge = round(float(10.0 ** public.uniform(-3.0, -1.5)), 6)
        kernel = thaw(options.get("kernel")) or {"kind": kind, "lengthscale": lengthscale}
        gram = gram_matrix(kernel, points, centres)
        score = gram @ (2.0 * hidden.normal((anchors,)))
        score = score - np.median(score) + 0.2 * score.std() * hidden.normal((count,))
        labels = np.where(score > 0.0, 1.0, -1.0)
        p_i = {
            "kernel": kernel,
            "lambda": ridge,
            "box": list(BOX),
            "output": Box((anchors,), *BOX).to_json(),
        }
        return Drawn({"points": points, "anchors": centres}, p_i, {"labels": labels})

    def value(self, task: PublicTask, targets: Mapping[str, NDArray[Any]], output: Array) -> float:
        """Minus the regularized hinge loss."""
        return -kernel_loss(output, _gram(task), targets["labels"], float(task.p_i["lambda"]))

    def optimum(self, task: PublicTask, targets: Mapping[str, NDArray[Any]]) -> Optimum:
        """The solved problem.

        Raises:
            FitError: when the duality gap stays above 1e-6.
        """
        lower, upper = (float(side) for side in task.p_i["box"])
        ridge, labels = float(task.p_i["lambda"]), targets["labels"]
        theta, bound = solve(_gram(task), labels, ridge, lower, upper)
        loss = kernel_loss(theta, _gram(task), labels, ridge)
        gap = loss - bound
        if not gap <= GAP:
            raise FitError(f"Expected a duality gap of at most {GAP:g} for {task.task_id}. Got {gap:g}.")
        certificate = {"kind": "duality", "primal": loss, "dual": bound, "gap": gap, "tolerance": GAP}
        return Optimum(-loss, certificate)

    def secrets(self, task: PublicTask, targets: Mapping[str, NDArray[Any]]) -> Secrets:
        """The labels."""
        points, gram = task.input["points"], _gram(task)
        place = np.arange(len(points)) / len(points)
        ordered = np.sort(gram, axis=1)
        features = np.column_stack(
            [points[:, 0], points[:, -1], place, ordered[:, -1], ordered[:, 0], gram.mean(axis=1)]
        )
        return Secrets("labels", targets["labels"], features)


def solve(gram: Array, labels: Array, ridge: float, lower: float, upper: float) -> tuple[Array, float]:
    """Minimize the loss over a box through its dual.

    The dual is ``max_a sum a_i + min_theta (lambda |theta|^2 - theta . v)``, ``v = gram' (a y)``, ``0 <= a_i <= 1/m``; its inner minimum
    is ``theta = clip(v / (2 lambda))``, so that it is smooth and concave (Boyd and Vandenberghe, 2004, section 5.2).

    Args:
        gram: ``m x p``.
        labels: ``m`` of -1 and 1.
        ridge: lambda, positive.
        lower: smallest weight.
        upper: largest weight.

    Returns:
        ``p`` weights, and a lower bound of the loss.
    """
    signed = gram * labels[:, None]
    count = len(labels)

    def negative_dual(a: Array) -> tuple[float, Array]:
        pull = signed.T @ a
        theta = np.clip(pull / (2.0 * ridge), lower, upper)
        value = a.sum() + ridge * (theta @ theta) - pull @ theta
        return -float(value), signed @ theta - 1.0

    a = np.full(count, 0.5 / count)
    options = {"maxiter": 5000, "maxfun": 100_000, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 30}
    theta, bound = np.zeros(gram.shape[1]), -np.inf
    for _ in range(_ROUNDS):
        found = minimize(
            negative_dual, a, jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0 / count)] * count, options=options
        )
        a, bound = found.x, -float(found.fun)
        theta = np.clip(signed.T @ a / (2.0 * ridge), lower, upper)
        if kernel_loss(theta, gram, labels, ridge) - bound <= 0.1 * GAP:
            break
    return theta, bound


def gram_matrix(kernel: Any, points: Array, anchors: Array) -> Array:
    """Kernel values between points and anchors, ``m x p``.

    Args:
        kernel: a base node (``{"kind": ...}``) or a candidate record.
        points: ``m x d``.
        anchors: ``p x d``.

    Raises:
        ProgramRefused: for a node or program that breaks a rule.
        SandboxFailure: when a program gives no value.
    """
    return _cached_gram(canonical_json(kernel), points.tobytes(), anchors.tobytes(), points.shape[1]).copy()


@lru_cache(maxsize=1024)
def _cached_gram(kernel: str, points: bytes, anchors: bytes, width: int) -> Array:
    x, z = (np.frombuffer(data, dtype=np.float64).reshape(-1, width) for data in (points, anchors))
    return cross_gram(kernel_of(loads_finite(kernel, "a kernel")), x, z)


def _gram(task: PublicTask) -> Array:
    kernel = canonical_json(task.p_i["kernel"])
    points, anchors = task.input["points"], task.input["anchors"]
    return _cached_gram(kernel, points.tobytes(), anchors.tobytes(), points.shape[1])
