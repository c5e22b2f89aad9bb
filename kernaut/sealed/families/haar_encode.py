"""``haar_encode``: recover the orthonormal Haar coefficients of a signal from noisy copies.

Public: n copies ``signal + noise`` (n x d), the noise level, the box.  Hidden: the signal.  J = -(1/d) sum (c_j - c*_j)^2, J_star = 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.sealed.families.family import Array, Drawn, Family, Optimum, Secrets
from kernaut.sealed.manifest import PublicTask
from kernaut.sealed.mechanisms import haar_estimate, haar_matrix, haar_spread
from kernaut.sealed.sealing import SealedStream
from kernaut.sealed.spaces import Box

BOX = (-2.0, 2.0)
_INSIDE = 0.95


class HaarEncode(Family):
    """Signals with Haar coefficients that fall off from coarse to fine, cut to 95 % of the box."""

    name = "haar_encode"

    def draw(self, public: np.random.Generator, hidden: SealedStream, options: Mapping[str, Any]) -> Drawn:
        """Draw length, copies and noise level in public; coefficients and noise from the sealed stream."""
        length = int(public.choice([8, 16, 32]))
        copies = int(public.integers(2, 6))
        noise = round(float(public.uniform(0.2, 0.8)), 3)
        edge = _INSIDE * BOX[1]
        target = np.clip(haar_spread(length) * hidden.normal((length,)), -edge, edge)
        signal = haar_matrix(length).T @ target
        observed = signal + noise * hidden.normal((copies, length))
        p_i = {"noise": noise, "box": list(BOX), "output": Box((length,), *BOX).to_json()}
        return Drawn({"copies": observed}, p_i, {"coefficients": target})

    def value(self, task: PublicTask, targets: Mapping[str, NDArray[Any]], output: Array) -> float:
        """Minus the mean squared error of the coefficients."""
        return -float(np.mean((output - targets["coefficients"]) ** 2))

    def optimum(self, task: PublicTask, targets: Mapping[str, NDArray[Any]]) -> Optimum:
        """0, at the coefficients themselves."""
        return Optimum(0.0)

    def secrets(self, task: PublicTask, targets: Mapping[str, NDArray[Any]]) -> Secrets:
        """The error that the posterior mean makes, which is what the copies tell."""
        copies = task.input["copies"]
        estimate = haar_estimate(copies, float(task.p_i["noise"]))
        spread = (copies @ haar_matrix(copies.shape[1]).T).std(axis=0)
        place = np.arange(copies.shape[1]) / copies.shape[1]
        features = np.column_stack([estimate, spread, place, copies[0], copies[-1]])
        return Secrets("numbers", targets["coefficients"] - estimate, features)
