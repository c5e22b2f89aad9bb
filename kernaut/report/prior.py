"""What a kernel believes before any data: functions drawn from its prior, side by side for several kernels.

All kernels get the same noise draw, so that what differs in the pictures is the kernels.  Marginal, not conditioned on anything.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

from kernaut.fitting.embedding import EmbeddedKernel
from kernaut.kernels.inspection import with_tasks
from kernaut.report.picture import BLUE, GREEN, ORANGE, PURPLE, VERMILLION, Picture, figure_picture
from kernaut.seeds import generator

Array = NDArray[np.float64]

LINE_POINTS = 200
GRID_SIDE = 32
LINES = ((BLUE, "-"), (VERMILLION, "--"), (GREEN, "-."), (ORANGE, ":"), (PURPLE, (0, (5, 1))))
"""Colour and dash of each drawn function."""


@torch.no_grad()
def prior_draws(kernel: EmbeddedKernel, points: Array, draws: int, seed: int = 0) -> Array:
    """Functions drawn from a kernel's prior at some points.

    Args:
        kernel: the kernel.
        points: ``n x d``.
        draws: number of functions.
        seed: of the noise; equal for all kernels.

    Returns:
        ``draws x n``.

    Raises:
        SandboxFailure: when the kernel's program gives no value there.
    """
    embedding = kernel.embed(with_tasks(kernel, torch.from_numpy(points)))
    gram = kernel.cross(embedding, embedding).numpy()
    values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    noise = generator("prior", seed, len(points)).standard_normal((draws, len(points)))
    projected = noise @ vectors  # rotated back below: a symmetric root, so that equal noise gives alike functions
    return np.asarray((projected * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T)


def prior_picture(kernels: Sequence[tuple[str, EmbeddedKernel]], *, seed: int = 0) -> Picture:
    """A row for each kernel: functions along the first of two coordinates, then two functions of both.

    Args:
        kernels: names and kernels that work in two dimensions.
        seed: of the noise.

    Raises:
        SandboxFailure: when a kernel's program gives no value in two dimensions.
    """
    line = np.stack([np.linspace(0.0, 1.0, LINE_POINTS), np.full(LINE_POINTS, 0.5)], axis=1)
    axis = np.linspace(0.0, 1.0, GRID_SIDE)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    figure = Figure(figsize=(9.6, 2.75 * len(kernels) + 0.2), layout="constrained")
    axes = figure.subplots(len(kernels), 3, squeeze=False, width_ratios=[1.5, 1, 1])
    for row, (name, kernel) in zip(axes, kernels, strict=True):
        for (colour, dash), values in zip(LINES, prior_draws(kernel, line, len(LINES), seed), strict=True):
            row[0].plot(line[:, 0], values, color=colour, linestyle=dash, linewidth=1.5)
        row[0].set(title=f"{name}: along $x_1$", xlabel="$x_1$   ($x_2 = 0.5$)", ylabel="f", xlim=(0, 1))
        row[0].axhline(0.0, color="#999999", linewidth=0.5)
        for panel, values in zip(row[1:], prior_draws(kernel, grid, 2, seed), strict=True):
            reach = float(np.abs(values).max()) or 1.0
            image = panel.imshow(
                values.reshape(GRID_SIDE, GRID_SIDE).T,
                origin="lower",
                extent=(0, 1, 0, 1),
                cmap="RdBu_r",
                vmin=-reach,
                vmax=reach,
                interpolation="bilinear",
            )
            panel.set(title="one draw", xlabel="$x_1$", ylabel="$x_2$")
            figure.colorbar(image, ax=panel, shrink=0.85)
    names = " and ".join(name for name, _ in kernels)
    alt = f"Functions drawn from the priors of {names} with the same noise: five along the first coordinate, two over the unit square."
    return figure_picture(figure, alt)
