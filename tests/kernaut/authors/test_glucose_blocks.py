"""Blocks of meal and bolus responses against their formulas, written out with plain numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from kernaut.authors.glucose_blocks import GLUCOSE_BLOCKS

Features = Callable[..., np.ndarray]
NOW, MEAL, EATEN, BOLUS, DOSED = 0.7, 0.8, 0.1, 0.6, 0.25
POINT = [NOW, MEAL, EATEN, BOLUS, DOSED]


def absorbed(late: float) -> float:
    return 1 - (1 + late) * math.exp(-late)


def pulse(late: float) -> float:
    return late * math.exp(1 - late)


@pytest.mark.parametrize(
    ("name", "response", "amount", "since", "ladder"),
    [
        ("meal_rise", absorbed, MEAL, NOW - EATEN, (0.3, 0.6, 1.2, 2.4)),
        ("meal_pulse", pulse, MEAL, NOW - EATEN, (0.4, 0.8, 1.6, 3.2)),
        ("bolus_fall", absorbed, BOLUS, NOW - DOSED, (0.3, 0.6, 1.2, 2.4)),
        ("bolus_pulse", pulse, BOLUS, NOW - DOSED, (0.4, 0.8, 1.6, 3.2)),
    ],
)
def test_responses_are_proportional_to_the_amount(
    name: str,
    response: Callable[[float], float],
    amount: float,
    since: float,
    ladder: tuple[float, ...],
    features: Features,
) -> None:
    expected = [1.3 * amount * response(since / (90 / 360 * step)) for step in ladder]
    np.testing.assert_allclose(features(name, POINT, weight=1.3, minutes=90.0), expected, rtol=1e-10)


@pytest.mark.parametrize(
    "name", ["meal_rise", "meal_pulse", "saturating_meal", "met_meal", "bolus_fall", "bolus_pulse"]
)
def test_nothing_happens_before_it_is_given(name: str, features: Features) -> None:
    np.testing.assert_allclose(features(name, [0.05, MEAL, EATEN, BOLUS, DOSED]), 0.0, atol=1e-12)
    assert np.abs(features(name, POINT)).max() > 1e-3


def test_meal_and_bolus_together(features: Features) -> None:
    scales = [0.5 * 80 / 360, 1.5 * 80 / 360]
    expected = [
        0.4 * MEAL * absorbed((NOW - EATEN) / one) * BOLUS * absorbed((NOW - DOSED) / other)
        for one in scales
        for other in scales
    ]
    np.testing.assert_allclose(features("met_meal", POINT), expected, rtol=1e-10)


def test_drift_is_a_level_a_line_and_a_parabola(features: Features) -> None:
    np.testing.assert_allclose(features("drift", POINT, weight=2.0, slope=0.3), [2.0, 0.3 * NOW, 0.3 * NOW**2])


def test_inputs_are_clamped_and_missing_ones_stand_in_the_middle(features: Features) -> None:
    for name, block in GLUCOSE_BLOCKS.items():
        if block.source and not block.leaf:
            np.testing.assert_array_equal(features(name, [1.9, *POINT[1:]]), features(name, [1.2, *POINT[1:]]))
            np.testing.assert_array_equal(features(name, POINT[:2]), features(name, [*POINT[:2], 0.5, 0.5, 0.5]))
