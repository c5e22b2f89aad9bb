"""Records of gases that do not exist: one well-mixed box, emissions that grow and may be cut, and decay.

A search that has seen three gases with a biosphere knows nothing of gases that industry makes and stops making.  These records say what any such gas does,
``x' = e - x / lifetime``, and nothing of a particular one: lifetime, growth, turning point and remainder are drawn from wide ranges that hold for all of them, and so
are a year, swings of a few years and errors, which may be strong or too small to see.
They are for tuning alone; nothing is ever reported on them.

Mass balance of one box: Jacob (1999), Introduction to Atmospheric Chemistry, chapter 3.
"""

from __future__ import annotations

import numpy as np

from kernaut.episodes.records import Array

SPIN_UP = 240
"""Months of emissions before a record begins."""
LIFETIME = (8.0, 120.0)
"""Years, drawn log-uniformly."""
GROWTH = (0.02, 0.12)
"""A year, of emissions before they turn."""
TURN = (0.15, 1.2)
"""Where emissions turn, as a share of the record; beyond 1 they never do."""
CUT = (2.0, 15.0)
"""Years in which emissions fall by a factor e."""
REMAINDER = (0.0, 0.4)
"""Share of emissions that is never cut."""
WOBBLE = 0.1
"""Standard deviation of log emissions about their course, over five years."""
_FIVE_YEARS = 61
YEAR = (0.001, 0.1)
"""Height of the yearly wave, as a share of the record's standard deviation; log-uniform, like those that follow."""
SWINGS = (0.001, 0.05)
"""The same of six waves of one and a half to six years together."""
ERROR = (0.0003, 0.02)
"""The same of the error of a monthly mean."""
_SWINGS = 6


def made_up_record(rng: np.random.Generator, months: int) -> Array:
    """One record; the order of draws is part of it.

    Args:
        rng: what it is drawn from.
        months: its length ``T``.

    Returns:
        ``T`` monthly means in arbitrary units.
    """
    lifetime = 12.0 * _log_uniform(rng, LIFETIME)
    growth = rng.uniform(*GROWTH) / 12.0
    turn = rng.uniform(*TURN) * months
    cut = 12.0 * rng.uniform(*CUT)
    remainder = rng.uniform(*REMAINDER)
    time = np.arange(-SPIN_UP, months)
    since = np.maximum(time - turn, 0.0)
    course = np.exp(growth * np.minimum(time, turn)) * (remainder + (1.0 - remainder) * np.exp(-since / cut))
    steps = rng.normal(size=len(time) + _FIVE_YEARS - 1)
    wobble = np.convolve(steps, np.ones(_FIVE_YEARS), "valid") / np.sqrt(_FIVE_YEARS)
    level, levels = 0.0, np.empty(len(time))
    for place, emitted in enumerate(course * np.exp(WOBBLE * wobble)):
        level += emitted - level / lifetime
        levels[place] = level
    values = levels[SPIN_UP:]
    year, swings, error = (_log_uniform(rng, height) for height in (YEAR, SWINGS, ERROR))
    periods = np.concatenate([[1.0], rng.uniform(1.5, 6.0, _SWINGS)])
    heights = np.concatenate([[year], np.full(_SWINGS, swings / np.sqrt(_SWINGS))])
    angles = 2.0 * np.pi * (time[SPIN_UP:, None] / (12.0 * periods) + rng.uniform(size=len(periods)))
    return np.asarray(values + values.std() * (np.cos(angles) @ heights + error * rng.normal(size=months)))


def _log_uniform(rng: np.random.Generator, bounds: tuple[float, float]) -> float:
    return float(np.exp(rng.uniform(*np.log(bounds))))
