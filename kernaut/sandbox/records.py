"""What goes into the sandbox and what comes out: the program to run, and a pullback."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kernaut.errors import InputError

Calling = Literal["point", "coordinate", "dimension", "tree", "matrix", "json"]
Backend = Literal["torch", "numpy", "python"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SandboxProgram:
    """A source text and how its entry point is called.

    Args:
        source: Python text; it is executed anew for each request (numpy: for each point).
        entry_point: the module-level function to call.
        calling: ``point`` (one point, d), ``coordinate`` (one number), ``dimension`` (the input dimension), ``tree``
            (parameters alone), ``matrix`` (all points, n x d) or ``json`` (one JSON value, which it answers with another).
        backend: ``torch`` (float parameters arrive as 0-d float64 tensors, points are vectorized) or ``numpy`` (plain Python
            values, point by point); ``python``, for ``json`` alone, is meant for trusted text that runs the untrusted text it is sent: it has
            Python's builtins and a part of the standard library (see :data:`kernaut.sandbox.execution.ALLOWED_MODULES`).

    Raises:
        InputError: for an unknown calling or backend, or ``json`` without ``python``.
    """

    source: str
    entry_point: str
    calling: Calling
    backend: Backend

    def __post_init__(self) -> None:
        if self.calling not in get_args(Calling):
            raise InputError(f"Expected a calling of {', '.join(get_args(Calling))}. Got {self.calling!r}.")
        if self.backend not in get_args(Backend):
            raise InputError(f"Expected a backend of {', '.join(get_args(Backend))}. Got {self.backend!r}.")
        if (self.calling == "json") != (self.backend == "python"):
            raise InputError(f"Expected backend python for calling json alone. Got {self.backend} and {self.calling}.")


@dataclass(frozen=True, eq=False)
class Pullback:
    """A program's values and the cotangent pulled back through them.

    Args:
        values: the same arrays :meth:`Child.evaluate` returns (``tree``: the one vector of float-dependent numbers).
        parameters: gradient of ``sum(values * cotangents)`` by float-valued parameter name.
        points: the same gradient in the points, of their shape; None for ``dimension`` and ``tree``, or when not wanted.
    """

    values: tuple[Floats, ...]
    parameters: dict[str, float]
    points: Floats | None
