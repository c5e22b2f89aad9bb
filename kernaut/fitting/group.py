"""Episodes of equal size, stacked, so that one batched calculation serves them all.

Stacking is done once for a set of episodes and used for every program that is scored on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from kernaut.episodes.episode import Episode

MAX_GROUP = 64
"""Episodes in one group, which bounds the memory of an embedding and the length of a sandbox request."""


@dataclass(frozen=True, eq=False)
class EpisodeGroup:
    """``E`` episodes with ``n`` fitting, ``c`` context and ``q`` query points of dimension ``d``.

    Args:
        indices: the place of each episode in the sequence that was stacked.
        episodes: the episodes themselves.
        points: ``E x (n + c + q) x d``, fitting points first, query points last.
        fit_targets: ``E x n``, standardized.
        context_targets: ``E x c``, standardized by the fitting targets.
        query_targets: ``E x q``, standardized by the fitting targets.
    """

    indices: tuple[int, ...]
    episodes: tuple[Episode, ...]
    points: Tensor
    fit_targets: Tensor
    context_targets: Tensor
    query_targets: Tensor

    @property
    def fit_count(self) -> int:
        """Number of fitting points, n."""
        return int(self.fit_targets.shape[-1])

    @property
    def dimension(self) -> int:
        """Input dimension, d."""
        return int(self.points.shape[-1])

    def __len__(self) -> int:
        return len(self.episodes)

    def take(self, places: Sequence[int]) -> EpisodeGroup:
        """The episodes at some places of this group, stacked again."""
        chosen = list(places)
        return EpisodeGroup(
            indices=tuple(self.indices[place] for place in chosen),
            episodes=tuple(self.episodes[place] for place in chosen),
            points=self.points[chosen],
            fit_targets=self.fit_targets[chosen],
            context_targets=self.context_targets[chosen],
            query_targets=self.query_targets[chosen],
        )

    def relabelled(self, indices: tuple[int, ...]) -> EpisodeGroup:
        """The same episodes with other places in the sequence that was stacked."""
        return replace(self, indices=indices)

    @staticmethod
    def stack(episodes: Sequence[Episode]) -> list[EpisodeGroup]:
        """Group episodes of equal ``(n, c, q, d)``, at most 64 together, in order of first appearance.

        Args:
            episodes: any episodes; sizes may differ.

        Returns:
            Groups that hold each episode once.
        """
        places: dict[tuple[int, ...], list[int]] = {}
        for index, episode in enumerate(episodes):
            places.setdefault(
                (*episode.fit_inputs.shape, len(episode.context[1]), len(episode.query_targets)), []
            ).append(index)
        return [
            _stacked(tuple(indices[start : start + MAX_GROUP]), episodes)
            for indices in places.values()
            for start in range(0, len(indices), MAX_GROUP)
        ]


def _stacked(indices: tuple[int, ...], episodes: Sequence[Episode]) -> EpisodeGroup:
    chosen = tuple(episodes[index] for index in indices)
    return EpisodeGroup(
        indices=indices,
        episodes=chosen,
        points=torch.from_numpy(
            np.stack([np.concatenate([e.fit_inputs, e.context[0], e.query_inputs]) for e in chosen])
        ),
        fit_targets=torch.from_numpy(np.stack([e.fit_targets for e in chosen])),
        context_targets=torch.from_numpy(np.stack([e.context[1] for e in chosen])),
        query_targets=torch.from_numpy(np.stack([e.query_targets for e in chosen])),
    )
