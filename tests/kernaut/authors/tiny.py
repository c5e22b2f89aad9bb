"""A benchmark of one family in two dimensions without optimization tasks, so that a whole campaign takes a second."""

from __future__ import annotations

import numpy as np

from kernaut.episodes.benchmark import Benchmark
from kernaut.episodes.episode import Episode
from kernaut.seeds import generator


class Tiny(Benchmark):
    """Waves along a slanted axis."""

    name = "tiny"
    dimensions = (2,)
    refinement_episodes = 1

    def families(self, split: str) -> tuple[str, ...]:
        return ("waves",)

    def _episode(self, split: str, family_index: int, episode_index: int, tuning: bool) -> Episode:
        rng = generator("tiny", split, episode_index)
        points = rng.uniform(size=(20, 2))
        values = np.sin(5.0 * points[:, 0] + 2.0 * points[:, 1]) + points[:, 1]
        fit = values[:12]
        return Episode(
            name=f"waves:seed-{episode_index}",
            benchmark=self.name,
            split=split,
            family="waves",
            seed=episode_index,
            fit_inputs=points[:12],
            fit_targets=(fit - fit.mean()) / fit.std(),
            query_inputs=points[12:],
            query_targets=(values[12:] - fit.mean()) / fit.std(),
            target_mean=float(fit.mean()),
            target_scale=float(fit.std()),
        )
