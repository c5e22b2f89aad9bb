"""Client side: what a child's arrays must look like before anyone sees them: right shape, finite."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernaut.errors import SandboxFailure
from kernaut.sandbox.records import Calling, Floats, Pullback


def checked_values(
    arrays: Sequence[Floats], calling: Calling, points: Sequence[Floats], dimension: int
) -> tuple[Floats, ...]:
    """The values, checked against the request.

    Args:
        arrays: as received.
        calling: the program's calling.
        points: the request's points (one array) or nothing.
        dimension: the input dimension, for ``dimension``.

    Raises:
        SandboxFailure: ``failed``, naming the shape that came, or the first point whose value is not finite.
    """
    expected = _expected(calling, points, dimension)
    shapes = [array.shape for array in arrays]
    if len(arrays) != len(expected) or not all(_fits(s, e) for s, e in zip(shapes, expected, strict=True)):
        wanted = ", ".join("x".join("m" if n is None else str(n) for n in shape) for shape in expected)
        got = ", ".join("x".join(map(str, shape)) for shape in shapes) or "nothing"
        raise SandboxFailure("failed", f"Wrong shape: expected values of {wanted}. Got {got}.")
    if calling == "dimension" and len({len(array) for array in arrays}) != 1:
        raise SandboxFailure(
            "failed",
            f"Wrong shape: expected as many weights as frequencies. Got {len(arrays[0])} frequencies, {len(arrays[1])} weights.",
        )
    for array in arrays:
        _require_finite(array, "value", "component" if calling in ("dimension", "tree") else "point")
    return tuple(arrays)


def checked_pullback(
    arrays: Sequence[Floats],
    calling: Calling,
    points: Sequence[Floats],
    dimension: int,
    names: Sequence[str],
    want_points: bool,
) -> Pullback:
    """Values and gradients, checked against the request.

    Args:
        arrays: the values, the parameter gradient (p) and, when wanted, the points' gradient.
        calling: the program's calling.
        points: the request's points (one array) or nothing.
        dimension: the input dimension, for ``dimension``.
        names: the float-valued parameters (p).
        want_points: whether a gradient in the points was asked for.

    Raises:
        SandboxFailure: ``failed``, naming what is of the wrong shape or not finite.
    """
    count = len(_expected(calling, points, dimension))
    gradients = arrays[count:]
    shapes = [(len(names),), *([points[0].shape] if want_points else [])]
    if [gradient.shape for gradient in gradients] != shapes:
        raise SandboxFailure(
            "failed", f"Wrong shape: expected gradients of {shapes}. Got {[g.shape for g in gradients]}."
        )
    values = checked_values(arrays[:count], calling, points, dimension)
    for name, slope in zip(names, gradients[0], strict=True):
        if not np.isfinite(slope):
            raise SandboxFailure("failed", f"The gradient in parameter {name} is {slope}.")
    if want_points:
        _require_finite(gradients[1], "gradient", "point")
    return Pullback(values, dict(zip(names, gradients[0].tolist(), strict=True)), gradients[1] if want_points else None)


def _expected(calling: Calling, points: Sequence[Floats], dimension: int) -> list[tuple[int | None, ...]]:
    """Shapes by calling; None is any length of at least 1."""
    if calling == "dimension":
        return [(None, dimension), (None,)]
    if calling == "tree":
        return [(None,)]
    n = len(points[0])
    return [(n, n)] if calling == "matrix" else [(n, None)]


def _fits(shape: tuple[int, ...], expected: tuple[int | None, ...]) -> bool:
    return len(shape) == len(expected) and all(e is None or s == e for s, e in zip(shape, expected, strict=True))


def _require_finite(array: Floats, what: str, unit: str) -> None:
    finite = np.isfinite(array)
    if finite.all():
        return
    index = np.argwhere(~finite)[0]
    raise SandboxFailure("failed", f"The {what} at {unit} {index[0]} is {array[tuple(index)]}.")
