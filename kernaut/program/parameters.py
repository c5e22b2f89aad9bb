"""Declared ranges of a program's tunable parameters.

A range maps the unit interval to values and back, which is what Halton tuning and sliders need.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kernaut.errors import InputError

ParameterType = Literal["float", "int", "categorical"]
Scale = Literal["linear", "log"]

MAX_TUNABLE = 12
"""One Halton base (the primes 2..37) per tunable parameter."""


@dataclass(frozen=True)
class ParameterSpec:
    """One tunable parameter.

    Args:
        name: the key in the program's ``parameters``.
        type: ``float``, ``int`` or ``categorical``.
        scale: ``linear`` or ``log`` (numbers only).
        lower: smallest value; positive on a log scale.
        upper: largest value, above ``lower``.
        choices: the values of a categorical parameter, at least two.

    Raises:
        InputError: when the declaration contradicts itself.
    """

    name: str
    type: ParameterType = "float"
    scale: Scale = "linear"
    lower: float | None = None
    upper: float | None = None
    choices: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        where = f"parameter_space.{self.name}"
        if self.type not in ("float", "int", "categorical"):
            raise InputError(f"Expected {where}.type of float, int, categorical. Got {self.type!r}.")
        if self.scale not in ("linear", "log"):
            raise InputError(f"Expected {where}.scale of linear, log. Got {self.scale!r}.")
        if self.type == "categorical":
            if len(self.choices) < 2:
                raise InputError(f"Expected at least two {where}.choices. Got {len(self.choices)}.")
            return
        for bound in (self.lower, self.upper):
            if isinstance(bound, bool) or not isinstance(bound, (int, float)) or not math.isfinite(bound):
                raise InputError(f"Expected finite {where}.lower and .upper. Got {self.lower!r}, {self.upper!r}.")
        assert self.lower is not None and self.upper is not None
        if not self.lower < self.upper:
            raise InputError(f"Expected {where}.lower below .upper. Got {self.lower!r}, {self.upper!r}.")
        if self.scale == "log" and self.lower <= 0:
            raise InputError(f"Expected {where}.lower above 0 on a log scale. Got {self.lower!r}.")
        if self.type == "int" and not (float(self.lower).is_integer() and float(self.upper).is_integer()):
            raise InputError(f"Expected whole {where} bounds. Got {self.lower!r}, {self.upper!r}.")

    def decode(self, u: float) -> Any:
        """The value at position ``u`` of the unit interval (categorical: choice ``min(floor(J u), J - 1)``)."""
        if self.type == "categorical":
            return self.choices[min(math.floor(len(self.choices) * u), len(self.choices) - 1)]
        assert self.lower is not None and self.upper is not None
        if self.scale == "log":
            value = math.exp(math.log(self.lower) + u * (math.log(self.upper) - math.log(self.lower)))
        else:
            value = self.lower + u * (self.upper - self.lower)
        value = min(max(value, self.lower), self.upper)
        return round(value) if self.type == "int" else float(value)

    def encode(self, value: Any) -> float:
        """The position in [0, 1] of a value; the inverse of :meth:`decode` up to rounding.

        Raises:
            InputError: for a value that is not of the declared kind.
        """
        if self.type == "categorical":
            if value not in self.choices:
                raise InputError(f"Expected {self.name} of {list(self.choices)!r}. Got {value!r}.")
            return (self.choices.index(value) + 0.5) / len(self.choices)
        self.require(value)
        assert self.lower is not None and self.upper is not None
        if self.scale == "log":
            return (math.log(value) - math.log(self.lower)) / (math.log(self.upper) - math.log(self.lower))
        return float((value - self.lower) / (self.upper - self.lower))

    def require(self, value: Any) -> None:
        """Check a value against the declaration.

        Raises:
            InputError: for a value of the wrong kind or outside its range.
        """
        if self.type == "categorical":
            self.encode(value)
            return
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise InputError(f"Expected a finite number for parameter {self.name}. Got {value!r}.")
        if self.type == "int" and not float(value).is_integer():
            raise InputError(f"Expected a whole number for parameter {self.name}. Got {value!r}.")
        assert self.lower is not None and self.upper is not None
        if not self.lower <= value <= self.upper:
            raise InputError(
                f"Expected parameter {self.name} within its declared range [{self.lower!r}, {self.upper!r}]. Got {value!r}."
            )

    def to_json(self) -> dict[str, Any]:
        """The declaration as it stands in a candidate file, without its name."""
        if self.type == "categorical":
            return {"type": self.type, "choices": list(self.choices)}
        return {"type": self.type, "scale": self.scale, "lower": self.lower, "upper": self.upper}


def parameter_space(declarations: Any) -> tuple[ParameterSpec, ...]:
    """Read ``parameter_space`` of a candidate file: ``{name: {type, scale, lower, upper, choices}}``.

    Raises:
        InputError: for a declaration of the wrong form, an unknown key, or more than 12 tunable parameters.
    """
    if not isinstance(declarations, Mapping):
        raise InputError(f"Expected parameter_space to be an object. Got {type(declarations).__name__}.")
    if len(declarations) > MAX_TUNABLE:
        raise InputError(f"Expected at most {MAX_TUNABLE} tunable parameters. Got {len(declarations)}.")
    specs = []
    for name, declaration in declarations.items():
        if not isinstance(declaration, Mapping):
            raise InputError(f"Expected parameter_space.{name} to be an object. Got {declaration!r}.")
        unknown = sorted(set(declaration) - {"type", "scale", "lower", "upper", "choices"})
        if unknown:
            raise InputError(
                f"Expected keys type, scale, lower, upper, choices in parameter_space.{name}. Got {', '.join(unknown)}."
            )
        choices = declaration.get("choices") or ()
        if not isinstance(choices, (list, tuple)):
            raise InputError(f"Expected parameter_space.{name}.choices to be an array. Got {choices!r}.")
        specs.append(
            ParameterSpec(
                name=name,
                type=declaration.get("type", "float"),
                scale=declaration.get("scale") or "linear",
                lower=declaration.get("lower"),
                upper=declaration.get("upper"),
                choices=tuple(choices),
            )
        )
    return tuple(specs)
