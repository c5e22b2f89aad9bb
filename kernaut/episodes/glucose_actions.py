"""What a patient of the glucose benchmark does in an episode: one meal and at most one insulin bolus, drawn from a fixed menu.

The acquisition policy never looks at an outcome: two passive episodes (a meal without bolus) and four distinct interventions, seeded by the patient's identifier alone.
Actions that differ only in the delay of a zero bolus are one action.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from kernaut.seeds import generator

PATIENTS: dict[str, tuple[str, ...]] = {
    split: tuple(f"{group}#{number:03d}" for number in range(1, 11))
    for split, group in (("train", "child"), ("validation", "adolescent"), ("test", "adult"))
}
PASSIVE = 2
INTERVENTIONS = 4
TEST_INTERVENTIONS = 12
MEALS = (20.0, 40.0, 60.0)
MEAL_MINUTES = (30.0, 60.0, 90.0)
BOLUSES = (0.0, 0.5, 1.0, 1.5)
DELAYS = (0.0, 20.0, 40.0)


@dataclass(frozen=True)
class Action:
    """A meal and a bolus; without a bolus its minute is the meal's.

    Args:
        meal_g: carbohydrates of the meal [g].
        meal_minute: when it begins [min].
        bolus_u: insulin bolus [U].
        bolus_minute: when it is given [min].
    """

    meal_g: float
    meal_minute: float
    bolus_u: float
    bolus_minute: float

    def to_json(self) -> dict[str, Any]:
        """All four numbers, under the exchange file's names."""
        return {
            "meal_g": self.meal_g,
            "meal_minute": self.meal_minute,
            "bolus_U": self.bolus_u,
            "bolus_minute": self.bolus_minute,
        }


def menu() -> tuple[Action, ...]:
    """Every distinct action, in a fixed order."""
    found = (
        Action(meal, minute, bolus, minute + (delay if bolus else 0.0))
        for meal, minute, bolus, delay in product(MEALS, MEAL_MINUTES, BOLUSES, DELAYS)
    )
    return tuple(dict.fromkeys(found))


def training_actions(patient: str) -> tuple[Action, ...]:
    """The six actions of a patient's exported episodes, passive ones first."""
    rng = generator("glucose", patient)
    resting = [action for action in menu() if action.bolus_u == 0.0]
    passive = [resting[i] for i in rng.choice(len(resting), PASSIVE, replace=False)]
    rest = [action for action in menu() if action not in passive]
    return (*passive, *(rest[i] for i in rng.choice(len(rest), INTERVENTIONS, replace=False)))


def sealed_actions(patient: str) -> tuple[Action, ...]:
    """The twelve hidden test actions of a patient, none of which was exported."""
    rng = generator("glucose-test", patient)
    known = set(training_actions(patient))
    rest = [action for action in menu() if action not in known]
    return tuple(rest[i] for i in rng.choice(len(rest), TEST_INTERVENTIONS, replace=False))
