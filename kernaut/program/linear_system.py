"""Linear systems: the matrices of a linear stochastic differential equation, read and checked for shape (contract ``state_space``).

ds = F s dt + L dw with w a Wiener process of unit spectral density, observed as f = H s.  Whether F is stable depends on the values of the
parameters, which :mod:`kernaut.kernels.linear_sde` looks at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernaut.errors import ProgramRefused
from kernaut.program.base_node import Array, NumberReader
from kernaut.program.leaves import Number

MAX_STATES = 32
LARGE = 1e100
"""Largest entry: powers of a rate stand in companion matrices."""

ENTRIES = {
    "F": Number("F", -LARGE, LARGE, ranks=(2,)),
    "L": Number("L", -LARGE, LARGE, ranks=(1, 2)),
    "H": Number("H", -LARGE, LARGE, ranks=(1, 2)),
}


@dataclass(frozen=True)
class LinearSystem:
    """The matrices of a linear system.

    Args:
        feedback: F, ``s x s``.
        noise: L, ``s x w`` or ``s``.
        observation: H, ``s`` or ``1 x s``.
    """

    feedback: Array
    noise: Array
    observation: Array

    @property
    def states(self) -> int:
        """Number of states, s."""
        return self.feedback.shape[0]

    def numbers(self) -> tuple[float, ...]:
        """The entries of F, L and H by rows."""
        return self.feedback.values + self.noise.values + self.observation.values

    def skeleton(self) -> tuple[Any, ...]:
        """Everything but the numbers."""
        return ("linear_system", self.feedback.shape, self.noise.shape, self.observation.shape)


def linear_system(record: Any, reader: NumberReader) -> LinearSystem:
    """Read ``[F, L, H]``, what ``state_space_matrices`` returned.

    Raises:
        ProgramRefused: for other than three arrays of agreeing shapes, or more than 32 states.
    """
    if not isinstance(record, (list, tuple)) or len(record) != 3:
        got = f"{len(record)} values" if isinstance(record, (list, tuple)) else type(record).__name__
        raise ProgramRefused(
            f"Expected state_space_matrices to return F, L, H. Got {got}.",
            hint="F is s x s, L is s x w (or s numbers), H is s numbers, for a state of s numbers.",
        )
    for name, given in zip(ENTRIES, record, strict=True):
        if isinstance(given, (list, tuple)) and len(given) > MAX_STATES:
            raise ProgramRefused(f"Expected at most {MAX_STATES} states. Got {name} of {len(given)} rows.")
    arrays = (reader.array(given, name, ENTRIES[name]) for name, given in zip(ENTRIES, record, strict=True))
    system = LinearSystem(*arrays)
    states = system.states
    square = system.feedback.shape == (states, states)
    observed = system.observation.shape in ((states,), (1, states))
    if not square or system.noise.shape[0] != states or not observed or system.noise.shape[-1] > MAX_STATES:
        shapes = (system.feedback, system.noise, system.observation)
        got = ", ".join(f"{array.name} of {'x'.join(map(str, array.shape))}" for array in shapes)
        raise ProgramRefused(
            f"Expected F of s x s, L of s x w or s, and H of s or 1 x s, with w at most {MAX_STATES}. Got {got}."
        )
    return system
