"""NMSE of episodes that ask for it: their tag ``nmse_variance`` is the variance, in squared units of the benchmark, that squared errors are divided by."""

from __future__ import annotations

from kernaut.episodes.episode import Episode
from kernaut.scoring.nmse import normalizer

TAG = "nmse_variance"


def normalized(episode: Episode, rmse: float) -> dict[str, float]:
    """``{"nmse": ...}`` of an episode with the tag, nothing of others.

    Args:
        episode: the episode.
        rmse: its root mean squared error on the standardized scale.
    """
    variance = episode.tags.get(TAG)
    if not isinstance(variance, float):
        return {}
    return {"nmse": (rmse * episode.target_scale) ** 2 / normalizer(variance)}
