"""Normalized mean squared error of forecasts in the record's own units; marginal, lower is better.

An error of 1 is that of a forecast whose mean squared error equals the variance it is divided by.  Means over queries of one family are arithmetic, over families geometric,
so that no family with large errors rules the figure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

VARIANCE_FLOOR = 1.0


def normalizer(variance: float) -> float:
    """What squared errors are divided by: the variance, at least 1 squared unit."""
    return max(variance, VARIANCE_FLOOR)


def geometric_over_families(values: Mapping[str, Sequence[float]]) -> float:
    """Geometric mean over families of the arithmetic mean within each.

    Args:
        values: NMSE of each query by family; at least one a family.
    """
    means = [sum(found) / len(found) for found in values.values()]
    if any(mean <= 0.0 for mean in means):
        return 0.0
    return math.exp(sum(math.log(mean) for mean in means) / len(means))
