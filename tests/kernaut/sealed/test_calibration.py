"""Regret, worst and random levels, in all three directions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernaut.errors import InputError
from kernaut.sealed.calibration import EPSILON, clipped, is_calibrated, random_level, regret, worst
from kernaut.sealed.families.family import satisfaction
from kernaut.sealed.families.haar_encode import HaarEncode
from kernaut.sealed.generation import instance
from kernaut.sealed.manifest import Direction
from kernaut.sealed.sealing import SealedKey
from kernaut.seeds import stable_seed

LEVELS = st.floats(-100, 100, allow_nan=False).map(lambda x: round(x, 6))


@pytest.mark.parametrize(
    ("direction", "star", "random"), [("maximize", 2.0, -3.0), ("minimize", -3.0, 2.0), ("satisfy", 1.0, -0.4)]
)
def test_regret_by_hand(direction: Direction, star: float, random: float) -> None:
    assert regret(direction, star, star, random) == 0.0
    assert regret(direction, random, star, random) == pytest.approx(1.0, abs=1e-8)
    quarter = star + 0.25 * (random - star)
    assert regret(direction, quarter, star, random) == pytest.approx(0.25, abs=1e-8)


@given(LEVELS, LEVELS)
def test_the_worst_level_has_raw_regret_of_exactly_two(star: float, random: float) -> None:
    """In exact arithmetic the definition gives 2 to the last digit, in both directions."""
    eps, a, b = Fraction(EPSILON), Fraction(star), Fraction(random)
    if a - b + eps != 0:
        assert (a - (2 * b - a - 2 * eps)) / (a - b + eps) == 2
    if b - a + eps != 0:
        assert ((2 * b - a + 2 * eps) - a) / (b - a + eps) == 2
    if abs(star - random) > 0.05:
        better: Direction = "maximize" if star > random else "minimize"
        assert regret(better, worst(better, star, random), star, random) == pytest.approx(2.0, abs=1e-9)


def test_worst_levels_by_hand() -> None:
    assert worst("maximize", 0.0, -1.5) == -3.0 - 2e-9
    assert worst("minimize", 0.0, 1.5) == 3.0 + 2e-9
    assert worst("satisfy", 1.0, -0.5) == -2.0 - 2e-9


def test_clipping_hides_failure_and_calibration_needs_distance() -> None:
    assert [clipped(x) for x in (-0.2, 0.3, 1.7, 2.0)] == [0.0, 0.3, 1.0, 1.0]
    assert is_calibrated(0.0, -0.05) and is_calibrated(-0.05, 0.0)
    assert not is_calibrated(0.0, -0.049) and not is_calibrated(0.5, 0.5)


def test_a_satisfy_task_returns_one_or_its_share_of_violations() -> None:
    assert satisfaction(np.array([False, False])) == 1.0
    assert satisfaction(np.array([True, False, False, True])) == -0.5
    assert satisfaction(np.array([True] * 3)) == -1.0


def test_the_random_level_is_the_mean_of_named_draws() -> None:
    family = HaarEncode()
    task, targets = instance(family, 2, 31, SealedKey(bytes(32)), {})
    level = random_level(family, task, targets, 100)
    rng = np.random.default_rng(stable_seed(*level.stream.split("|")))
    k = len(targets["coefficients"])
    values = [-np.mean((rng.uniform(-2, 2, k) - targets["coefficients"]) ** 2) for _ in range(100)]
    assert level.mean == pytest.approx(np.mean(values), abs=1e-14)
    assert level.lower < level.mean < level.upper
    assert level.upper - level.lower == pytest.approx(2 * 1.96 * np.std(values) / 10, rel=0.25)
    with pytest.raises(InputError, match="at least 100"):
        random_level(family, task, targets, 99)
