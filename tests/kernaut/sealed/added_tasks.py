"""What a package adds in the tests: a minimize and a satisfy family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kernaut.sealed.families.family import Drawn, Family, Optimum, Secrets, satisfaction
from kernaut.sealed.manifest import PublicTask
from kernaut.sealed.spaces import Box


class Halve(Family):
    """Minimize the distance to a hidden point, plus 1."""

    name = "halve"
    objective_direction = "minimize"
    horizon_budget = 4
    compute_budget = 5.0

    def draw(self, public: np.random.Generator, hidden: Any, options: Mapping[str, Any]) -> Drawn:
        return Drawn(
            {"frame": public.uniform(size=3)},
            {"output": Box((2,), 0.0, 1.0).to_json()},
            {"point": hidden.uniform((2,))},
        )

    def value(self, task: PublicTask, targets: Mapping[str, Any], output: np.ndarray) -> float:
        return 1.0 + float(np.abs(output - targets["point"]).sum())

    def optimum(self, task: PublicTask, targets: Mapping[str, Any]) -> Optimum:
        return Optimum(1.0)

    def secrets(self, task: PublicTask, targets: Mapping[str, Any]) -> Secrets:
        return Secrets("numbers", targets["point"], np.tile(task.input["frame"], (2, 1)))


class Fences(Family):
    """Satisfy four hidden bounds."""

    name = "fences"
    objective_direction = "satisfy"
    horizon_budget = 6
    compute_budget = 5.0

    def draw(self, public: np.random.Generator, hidden: Any, options: Mapping[str, Any]) -> Drawn:
        return Drawn(
            {"frame": public.uniform(size=3)},
            {"output": Box((4,), 0.0, 1.0).to_json()},
            {"bounds": 0.2 + 0.5 * hidden.uniform((4,))},
        )

    def value(self, task: PublicTask, targets: Mapping[str, Any], output: np.ndarray) -> float:
        return satisfaction(output > targets["bounds"])

    def optimum(self, task: PublicTask, targets: Mapping[str, Any]) -> Optimum:
        return Optimum(1.0)

    def secrets(self, task: PublicTask, targets: Mapping[str, Any]) -> Secrets:
        return Secrets("numbers", targets["bounds"], np.tile(task.input["frame"], (4, 1)))
