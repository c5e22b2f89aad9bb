"""Pictures of one kernel, small enough to be drawn anew while a slider moves; each with what it shows in words.

Views by name are in :data:`VIEWS`; each takes a kernel and a :class:`Look`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernaut.errors import InputError
from kernaut.fitting.embedding import EmbeddedKernel
from kernaut.report.drawing import STYLES, Drawing, Panel, drawing
from kernaut.report.kernel_view import (
    coordinate_line,
    covariance,
    nearest_references,
    smallest_eigenvalue,
    spectrum,
    square_grid,
    sweeps,
)
from kernaut.report.prior import prior_draws

NOT_PSD = -1e-8
SIDE = 26


@dataclass(frozen=True)
class Look:
    """From where a kernel is looked at.

    Args:
        dimension: of the inputs, d.
        seed: of the noise that prior functions are drawn with.
        anchor: value of every coordinate of the point that covariances are shown around.
        draws: prior functions, at most 6.

    Raises:
        InputError: for a value out of range.
    """

    dimension: int = 2
    seed: int = 0
    anchor: float = 0.5
    draws: int = 4

    def __post_init__(self) -> None:
        if not 1 <= self.dimension <= 8:
            raise InputError(f"Expected 1 to 8 input dimensions. Got {self.dimension}.")
        if not 0.0 <= self.anchor <= 1.0:
            raise InputError(f"Expected an anchor from 0 to 1. Got {self.anchor}.")
        if not 1 <= self.draws <= len(STYLES):
            raise InputError(f"Expected 1 to {len(STYLES)} functions. Got {self.draws}.")


def functions_picture(kernel: EmbeddedKernel, look: Look) -> Drawing:
    """Functions drawn from the prior along the first coordinate, the same noise for every kernel and every slider position.

    Raises:
        InputError: for covariances that no function has.
        SandboxFailure: when the kernel's program gives no value.
    """
    line = coordinate_line(look.dimension)
    _require_covariance(covariance(kernel, line[::6]))
    draws = prior_draws(kernel, line, look.draws, look.seed)
    panel = Panel("first input", "f", width=560, x_range=(0.0, 1.0))
    panel.rule(y=0.0)
    for place, values in enumerate(draws):
        panel.line(line[:, 0], values, place)
    reach = float(np.abs(draws).max())
    turns = float(np.mean([(np.diff(np.sign(np.diff(values))) != 0).sum() for values in draws]))
    words = f"{look.draws} functions from the prior along the first input; they reach {reach:.2g} and turn {turns:.1f} times on average."
    return drawing([panel], words)


def surface_picture(kernel: EmbeddedKernel, look: Look) -> Drawing:
    """Two functions from the prior over the first two coordinates.

    Raises:
        InputError: in one dimension, or for covariances that no function has.
        SandboxFailure: when the kernel's program gives no value.
    """
    grid = square_grid(look.dimension, SIDE)
    _require_covariance(covariance(kernel, grid[:: SIDE + 3]))
    draws = prior_draws(kernel, grid, 2, look.seed)
    panels = [_square(values, "RdBu_r") for values in draws]
    words = f"Two functions from the prior over the first two inputs, reaching {np.abs(draws[0]).max():.2g} and {np.abs(draws[1]).max():.2g}."
    return drawing(panels, words)


def gram_picture(kernel: EmbeddedKernel, look: Look) -> Drawing:
    """The matrix of covariances of 40 points along the first coordinate.

    Raises:
        SandboxFailure: when the kernel's program gives no value.
    """
    gram = covariance(kernel, coordinate_line(look.dimension, count=40))
    smallest = smallest_eigenvalue(gram)
    panel = Panel("first input of z", "first input of x", width=400, height=320, x_range=(0.0, 1.0), y_range=(1.0, 0.0))
    panel.map(gram, "viridis", float(gram.min()), float(gram.max()))
    verdict = (
        "so it is a covariance matrix of these points"
        if smallest >= NOT_PSD
        else "so it is NOT positive semidefinite: no function has these covariances"
    )
    words = f"Gram matrix of 40 points along the first input, values {gram.min():.3g} to {gram.max():.3g}; smallest eigenvalue {smallest:.2g}, {verdict}."
    return drawing([panel], words)


def around_picture(kernel: EmbeddedKernel, look: Look) -> Drawing:
    """Covariance of every place with an anchor, over the first two coordinates.

    Raises:
        InputError: in one dimension.
        SandboxFailure: when the kernel's program gives no value.
    """
    anchor = np.full((1, look.dimension), look.anchor)
    values = covariance(kernel, anchor, square_grid(look.dimension, SIDE))[0]
    panel = _square(values, "PuOr_r")
    panel.cross(look.anchor, look.anchor)
    words = f"Covariance with the point at {look.anchor:.2g} in every input (the cross), {values.min():.3g} to {values.max():.3g} over the first two inputs."
    return drawing([panel], words)


def sweeps_picture(kernel: EmbeddedKernel, look: Look) -> Drawing:
    """Covariance with an anchor along each coordinate by itself.

    Raises:
        SandboxFailure: when the kernel's program gives no value.
    """
    axis, values = sweeps(kernel, np.full(look.dimension, look.anchor))
    panel = Panel("value of that input", "k(anchor, x)", width=560, x_range=(0.0, 1.0))
    panel.rule(x=look.anchor)
    for place, row in enumerate(values):
        panel.line(axis, row, place, f"input {place + 1}")
    flat = [i + 1 for i, row in enumerate(values) if np.ptp(row) < 1e-9]
    words = f"Covariance with the anchor at {look.anchor:.2g} along each of {look.dimension} inputs, from {values.min():.3g} to {values.max():.3g}."
    if flat:
        words += f" It does not change along input {', '.join(map(str, flat))}."
    return drawing([panel], words)


def spectrum_picture(kernel: EmbeddedKernel, look: Look) -> Drawing:
    """Spectral density along the first coordinate, for stationary kernels.

    Raises:
        InputError: for a kernel that is not stationary.
        SandboxFailure: when the kernel's program gives no value.
    """
    frequencies, density = spectrum(kernel, look.dimension)
    panel = Panel("cycles a unit", "density (largest 1)", width=560, y_range=(0.0, 1.05))
    panel.band(frequencies, np.zeros_like(density), density)
    panel.line(frequencies, density)
    peak = float(frequencies[int(density.argmax())])
    return drawing([panel], f"Spectral density along the first input; largest at {peak:.2g} cycles a unit.")


def nearest_picture(kernel: EmbeddedKernel, look: Look) -> Drawing:
    """Distances of behaviour to the nearest reference kernels.

    Raises:
        SandboxFailure: when the kernel's program gives no value in 2, 5 or 8 dimensions.
    """
    found = nearest_references(kernel)
    panel = Panel("fingerprint distance (0: the same behaviour)", width=600, height=220)
    panel.categories = tuple(name for name, _ in found)
    panel.bars([value for _, value in found])
    panel.x_range = (0.0, 1.04 * max(value for _, value in found) or 1.0)
    words = "Nearest reference kernels: " + "; ".join(f"{name} at {value:.3f}" for name, value in found[:3]) + "."
    return drawing([panel], words)


VIEWS: dict[str, Callable[[EmbeddedKernel, Look], Drawing]] = {
    "functions it expects": functions_picture,
    "functions of two inputs": surface_picture,
    "Gram matrix": gram_picture,
    "covariance around a point": around_picture,
    "along each input": sweeps_picture,
    "spectrum": spectrum_picture,
    "nearest references": nearest_picture,
}


def view_picture(view: str, kernel: EmbeddedKernel, look: Look) -> Drawing:
    """One of :data:`VIEWS` by name.

    Raises:
        InputError: for another name, or where the view does not apply.
        SandboxFailure: when the kernel's program gives no value.
    """
    if view not in VIEWS:
        raise InputError(f"Expected a view of {', '.join(VIEWS)}. Got {view!r}.")
    return VIEWS[view](kernel, look)


def _require_covariance(gram: np.ndarray) -> None:
    if not np.isfinite(gram).all():
        raise InputError("Expected finite covariances. Got one that is not.")
    smallest = smallest_eigenvalue(gram)
    if smallest < NOT_PSD * max(1.0, float(np.abs(gram).max())):
        raise InputError(
            f"Expected a positive semidefinite matrix. Got one with eigenvalue {smallest:.3g}: no function has these covariances.",
            hint="Look at its Gram matrix, and write a component in place of the matrix.",
        )


def _square(values: np.ndarray, colours: str) -> Panel:
    """A map over the first two coordinates of values on :func:`kernaut.report.kernel_view.square_grid`."""
    reach = float(np.abs(values).max()) or 1.0
    panel = Panel("first input", "second input", width=340, height=290, x_range=(0.0, 1.0), y_range=(0.0, 1.0))
    panel.map(values.reshape(SIDE, SIDE).T[::-1], colours, -reach, reach, smooth=True)
    return panel
