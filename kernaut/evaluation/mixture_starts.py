"""Seeded starts of spectral mixture kernels, which fixed grids and tuned baselines share."""

from __future__ import annotations

import math
from typing import Any

from kernaut.seeds import generator

MIXTURE_COMPONENTS = 4


def spectral_mixture_start(start: int, components: int = MIXTURE_COMPONENTS) -> dict[str, Any]:
    """Weights, frequencies and bandwidths of one seeded start, equal in all coordinates."""
    rng = generator("reference", "spectral_mixture", start)
    return {
        "weights": rng.dirichlet([1.0] * components).tolist(),
        "means": rng.uniform(0.0, 2.0, components).tolist(),
        "scales": [math.exp(value) for value in rng.uniform(math.log(0.1), 0.0, components)],
    }
