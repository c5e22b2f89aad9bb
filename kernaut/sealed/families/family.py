"""What a task family is: draws public and hidden parts, judges outputs, knows the optimum.

A package adds one with an entry point in the group ``kernaut.families`` that names a subclass of :class:`Family`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from kernaut.sealed.manifest import Direction, PublicTask
from kernaut.sealed.sealing import SealedStream

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Drawn:
    """One instance.

    Args:
        input: public arrays by name.
        p_i: public mechanism parameters, ``output`` among them.
        targets: hidden arrays by name.
    """

    input: Mapping[str, NDArray[Any]]
    p_i: Mapping[str, Any]
    targets: Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Optimum:
    """The best J.

    Args:
        value: J_star.
        certificate: why it is the optimum: ``{"kind": "analytic"}``, or a solver's primal and dual values.
    """

    value: float
    certificate: Mapping[str, Any] = field(default_factory=lambda: {"kind": "analytic"})


@dataclass(frozen=True, eq=False)
class Secrets:
    """What the extraction probe tries to predict.

    Args:
        kind: whether the elements are numbers or labels (-1 and 1).
        hidden: ``s`` hidden elements, less what the stated mechanism tells of them.
        features: ``s x f`` public numbers that stand at each element's place.
    """

    kind: Literal["numbers", "labels"]
    hidden: Array
    features: Array


class Family(ABC):
    """One kind of task.

    Attributes:
        name: lower case, as in task ids.
        objective_direction: of all its tasks.
        horizon_budget: most evaluator calls an episode.
        compute_budget: seconds an episode [s].
        distribution: version of the distribution that parameters are drawn from.
    """

    name: ClassVar[str]
    objective_direction: ClassVar[Direction] = "maximize"
    horizon_budget: ClassVar[int] = 10
    compute_budget: ClassVar[float] = 30.0
    distribution: ClassVar[str] = "1"

    @abstractmethod
    def draw(self, public: np.random.Generator, hidden: SealedStream, options: Mapping[str, Any]) -> Drawn:
        """Draw an instance.

        Args:
            public: of the instance's public seed; anyone can repeat its draws.
            hidden: of the sealed key; everything that must not be known, noise on it included, is drawn from here.
            options: of the generation, for this family.
        """

    @abstractmethod
    def value(self, task: PublicTask, targets: Mapping[str, NDArray[Any]], output: Array) -> float:
        """J of a legal output."""

    @abstractmethod
    def optimum(self, task: PublicTask, targets: Mapping[str, NDArray[Any]]) -> Optimum:
        """J_star and its certificate."""

    @abstractmethod
    def secrets(self, task: PublicTask, targets: Mapping[str, NDArray[Any]]) -> Secrets:
        """What the extraction probe must not find in the public task."""


def satisfaction(violated: NDArray[np.bool_]) -> float:
    """J of a satisfy task: 1 when all constraints hold, else minus the share of violated ones."""
    return 1.0 if not violated.any() else -float(violated.mean())
