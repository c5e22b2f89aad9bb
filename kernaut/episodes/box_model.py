"""Records of gases that do not exist: one well-mixed box, emissions that grow and may be cut, and decay.

A search that has seen three gases with a biosphere knows nothing of gases that industry makes and stops making.  These records say what any such gas does,
``x' = e - x / lifetime``, and nothing of a particular one: lifetime, growth, turning point and remainder are drawn from wide ranges that hold for all of them.
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
ERROR = 0.001
"""Of a monthly mean, as a share of the record's standard deviation."""


def made_up_record(rng: np.random.Generator, months: int) -> Array:
    """One record; the order of draws is part of it.

    Args:
        rng: what it is drawn from.
        months: its length ``T``.

    Returns:
        ``T`` monthly means in arbitrary units.
    """
    lifetime = 12.0 * np.exp(rng.uniform(*np.log(LIFETIME)))
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
    return np.asarray(values + rng.normal(0.0, ERROR * values.std(), months))
