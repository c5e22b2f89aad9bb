"""Sine waves of a hidden rate and phase on [0, 1]: a task for kernels that know about repetition."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernaut import Benchmark, Episode
from kernaut.episodes.episode import episode_seed, require_split, standardization

RATES = {"slow": 1.5, "middle": 3.0, "fast": 5.0}
"""Waves on [0, 1] by family; ``fast`` is kept for test."""


class Waves(Benchmark):
    """Noisy sine waves, 16 points to fit and 16 to predict.

    Args:
        noise: standard deviation of the observations' noise.
    """

    name = "waves"
    dimensions = (1,)

    def __init__(self, noise: float = 0.05) -> None:
        self.noise = float(noise)

    def families(self, split: str) -> tuple[str, ...]:
        """Two families to learn from, a third for test."""
        return ("fast",) if require_split(split) == "test" else ("slow", "middle")

    def options(self) -> dict[str, Any]:
        """What the task was made with; stands in reports."""
        return {"noise": self.noise}

    def _episode(self, split: str, family_index: int, episode_index: int, tuning: bool) -> Episode:
        family = self.families(split)[family_index]
        seed = episode_seed(split, family_index, episode_index)
        rng = np.random.default_rng(seed)
        times = rng.uniform(size=32)
        rate, phase = RATES[family] * rng.uniform(0.8, 1.2), rng.uniform(0.0, 2.0 * np.pi)
        values = np.sin(2.0 * np.pi * rate * times + phase) + self.noise * rng.standard_normal(32)
        mean, scale = standardization(values[:16], 1e-8)
        return Episode(
            name=f"{family}:seed-{seed}",
            benchmark=self.name,
            split=split,
            family=family,
            seed=seed,
            fit_inputs=times[:16, None],
            fit_targets=(values[:16] - mean) / scale,
            query_inputs=times[16:, None],
            query_targets=(values[16:] - mean) / scale,
            target_mean=mean,
            target_scale=scale,
        )
