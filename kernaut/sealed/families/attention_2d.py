"""``attention_2d``: reproduce an attention matrix whose bilinear form was perturbed.

Public: tokens H (n x d), temperature, the perturbation's scale.  Hidden: E (d x d).  T = row softmax of H (I + E) H' / temperature;
J = -|W - T|_F^2 / n^2 over row-stochastic W (n x n), J_star = 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.sealed.families.family import Array, Drawn, Family, Optimum, Secrets
from kernaut.sealed.manifest import PublicTask
from kernaut.sealed.mechanisms import attention
from kernaut.sealed.sealing import SealedStream
from kernaut.sealed.spaces import RowSimplex


class Attention2D(Family):
    """Few tokens with sharp attention, so that random matrices are far from the target."""

    name = "attention_2d"

    def draw(self, public: np.random.Generator, hidden: SealedStream, options: Mapping[str, Any]) -> Drawn:
        """Draw tokens, temperature and scale in public; the perturbation from the sealed stream."""
        count, width = int(public.integers(4, 9)), int(public.integers(2, 4))
        tokens = 1.5 * public.standard_normal((count, width))
        temperature = round(float(public.uniform(0.25, 0.75)), 3)
        scale = round(float(public.uniform(0.4, 1.0)), 3)
        perturbation = scale * hidden.normal((width, width))
        p_i = {"temperature": temperature, "scale": scale, "output": RowSimplex((count, count)).to_json()}
        targets = {"matrix": attention(tokens, perturbation, temperature), "perturbation": perturbation}
        return Drawn({"tokens": tokens}, p_i, targets)

    def value(self, task: PublicTask, targets: Mapping[str, NDArray[Any]], output: Array) -> float:
        """Minus the squared Frobenius distance, divided by n^2."""
        return -float(np.sum((output - targets["matrix"]) ** 2)) / output.size

    def optimum(self, task: PublicTask, targets: Mapping[str, NDArray[Any]]) -> Optimum:
        """0, at the target itself."""
        return Optimum(0.0)

    def secrets(self, task: PublicTask, targets: Mapping[str, NDArray[Any]]) -> Secrets:
        """The perturbation's entries."""
        tokens, hidden = task.input["tokens"], targets["perturbation"]
        gram = tokens.T @ tokens / len(tokens)
        row, column = np.indices(hidden.shape)
        total = tokens.sum(axis=0)
        places = [gram, row, column, total[row], total[column], tokens[0][row], tokens[-1][column]]
        features = np.column_stack([np.ravel(place).astype(np.float64) for place in places])
        return Secrets("numbers", np.ravel(hidden), features)
