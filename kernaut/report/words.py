"""A kernel in plain sentences, each measured on the frozen program: what it does, which input matters, smoothness, repetition, symmetries.

Every sentence follows from covariances of the assembled kernel at fixed places, not from what its author stated; :func:`describe` on the same program
gives the same words.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernaut.fitting.embedding import EmbeddedKernel
from kernaut.report.kernel_view import STATIONARY, covariance, influence, stationary_gap

Array = NDArray[np.float64]

ANCHORS = 6
STEP = 0.01
EQUAL = 1e-6
"""Largest difference of covariances, relative to the largest variance, that counts as none."""


def describe(kernel: EmbeddedKernel, dimension: int) -> list[str]:
    """Sentences about a kernel on the unit cube.

    Args:
        kernel: frozen.
        dimension: of the inputs.

    Raises:
        SandboxFailure: when the kernel's program gives no value there.
    """
    return [
        sentence
        for sentence in (
            _inputs(kernel, dimension),
            _stationarity(kernel, dimension),
            _smoothness(kernel, dimension),
            _period(kernel, dimension),
            *_symmetries(kernel, dimension),
            _variance(kernel, dimension),
        )
        if sentence
    ]


def _anchors(dimension: int) -> Array:
    return np.random.default_rng(2).uniform(0.15, 0.85, size=(ANCHORS, dimension))


def _inputs(kernel: EmbeddedKernel, dimension: int) -> str:
    if dimension == 1:
        return ""
    share = np.array(influence(kernel, dimension).mean)
    total = float(share.sum())
    if total < EQUAL:
        return "No input matters: it expects constant functions."
    unused = [i + 1 for i in range(dimension) if share[i] < 1e-9]
    if unused:
        return f"Input {', '.join(map(str, unused))} does not matter to it."
    if share.max() - share.min() < 0.3 * share.max():
        return "All inputs matter about equally."
    order = np.argsort(-share)
    return f"Input {order[0] + 1} matters most ({share[order[0]] / total:.0%} of the loss of correlation), input {order[-1] + 1} least ({share[order[-1]] / total:.0%})."


def _stationarity(kernel: EmbeddedKernel, dimension: int) -> str:
    if stationary_gap(kernel, dimension) <= STATIONARY:
        return "It is stationary: what it expects is the same everywhere."
    return "It is not stationary: what it expects differs from place to place."


def _smoothness(kernel: EmbeddedKernel, dimension: int) -> str:
    """From how the mean squared increment grows with the step: its exponent is 2 for differentiable functions, 1 for Brownian ones."""
    anchors = _anchors(dimension)
    increments = []
    for step in (STEP, STEP / 8.0):
        moved = anchors.copy()
        moved[:, 0] += step
        gram = covariance(kernel, np.concatenate([anchors, moved]))
        own = np.diag(gram)
        increments.append(float(np.mean(own[:ANCHORS] + own[ANCHORS:] - 2.0 * np.diag(gram[:ANCHORS, ANCHORS:]))))
    if increments[1] <= 1e-14:
        return "Along the first input its functions do not change."
    exponent = np.log(max(increments[0], 1e-300) / increments[1]) / np.log(8.0)
    if exponent > 1.8:
        return "Its functions are smooth: they have a slope everywhere."
    if exponent > 1.2:
        return "Its functions are continuous, and rough in places: not everywhere do they have a slope."
    return "Its functions are rough: continuous without a slope, or with jumps."


def _period(kernel: EmbeddedKernel, dimension: int) -> str:
    """The first later maximum of the correlation along the first input, when it recovers by at least a tenth."""
    start = np.full((1, dimension), 0.5)
    start[0, 0] = 0.05
    lags = np.linspace(0.0, 0.9, 181)
    line = np.repeat(start, len(lags), axis=0)
    line[:, 0] += lags
    gram = covariance(kernel, line)
    scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    correlation = gram[0] / (scale[0] * scale)
    for place in range(2, len(lags) - 1):
        if correlation[place - 1] < correlation[place] >= correlation[place + 1]:
            depth = float(correlation[place] - correlation[:place].min())
            if depth > 0.1:
                return f"Along the first input values recur after about {lags[place]:.2f} (correlation {correlation[place]:.2f})."
    return ""


def _symmetries(kernel: EmbeddedKernel, dimension: int) -> list[str]:
    anchors = _anchors(dimension)
    found = []
    if dimension > 1 and _same(kernel, anchors, anchors[:, ::-1].copy()):
        found.append(
            "Exchanging inputs changes nothing: its functions take the same values for inputs in reverse order."
        )
    elif dimension > 1 and _alike(kernel, anchors, anchors[:, ::-1].copy()):
        found.append(
            "It treats all inputs alike: reversing the order of inputs at both points leaves covariances as they are."
        )
    if _same(kernel, anchors, 1.0 - anchors):
        found.append("Its functions are mirrored at the centre: f(x) = f(1 - x).")
    elif _alike(kernel, anchors, 1.0 - anchors):
        found.append("It knows no direction: mirroring both points at the centre leaves covariances as they are.")
    return found


def _same(kernel: EmbeddedKernel, points: Array, images: Array) -> bool:
    """Whether functions take the same values at points and at their images."""
    gram = covariance(kernel, np.concatenate([points, images]))
    own = np.diag(gram)
    count = len(points)
    gap = own[:count] + own[count:] - 2.0 * np.diag(gram[:count, count:])
    return bool(np.abs(gap).max() <= EQUAL * max(float(own.max()), 1e-300))


def _alike(kernel: EmbeddedKernel, points: Array, images: Array) -> bool:
    """Whether covariances among points are those among their images."""
    gram = covariance(kernel, np.concatenate([points, images]))
    count = len(points)
    gap = np.abs(gram[:count, :count] - gram[count:, count:]).max()
    return bool(gap <= EQUAL * max(float(np.diag(gram).max()), 1e-300))


def _variance(kernel: EmbeddedKernel, dimension: int) -> str:
    own = np.diag(covariance(kernel, np.random.default_rng(3).uniform(size=(64, dimension))))
    if own.max() - own.min() <= EQUAL * max(float(own.max()), 1e-300):
        return "It is equally unsure of the value everywhere before it sees data."
    return (
        f"Before data it is least sure where its variance is {own.max():.2g}, and surest where it is {own.min():.2g}."
    )
