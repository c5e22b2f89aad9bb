from __future__ import annotations

import numpy as np

from kernaut.episodes.bbo import BlackBoxOptimization
from kernaut.fitting.group import MAX_GROUP, EpisodeGroup


def test_every_episode_is_in_one_group_of_its_size(bbo: BlackBoxOptimization) -> None:
    episodes = [*bbo.episodes("test", 4), *bbo.episodes("test", 2, tuning=True)]
    groups = EpisodeGroup.stack(episodes)
    assert sorted(index for group in groups for index in group.indices) == list(range(len(episodes)))
    assert len({(g.fit_count, g.query_targets.shape[1], g.dimension) for g in groups}) == len(groups)
    for group in groups:
        for place, index in enumerate(group.indices):
            episode = episodes[index]
            assert group.episodes[place] is episode
            np.testing.assert_array_equal(group.points[place, : group.fit_count].numpy(), episode.fit_inputs)
            np.testing.assert_array_equal(group.points[place, group.fit_count :].numpy(), episode.query_inputs)
            np.testing.assert_array_equal(group.fit_targets[place].numpy(), episode.fit_targets)
            np.testing.assert_array_equal(group.query_targets[place].numpy(), episode.query_targets)


def test_large_groups_are_split(bbo: BlackBoxOptimization) -> None:
    episodes = [e for e in bbo.episodes("train", MAX_GROUP + 6) if e.family == "cosine"]
    assert [len(group) for group in EpisodeGroup.stack(episodes)] == [MAX_GROUP, 6]


def test_taking_some_places(bbo: BlackBoxOptimization) -> None:
    group = next(g for g in EpisodeGroup.stack(bbo.episodes("train", 5)) if len(g) > 4 and g.indices[3] != 3)
    part = group.take([3, 1])
    assert part.indices == (group.indices[3], group.indices[1])
    assert part.episodes == (group.episodes[3], group.episodes[1])
    np.testing.assert_array_equal(part.points.numpy(), group.points.numpy()[[3, 1]])
    np.testing.assert_array_equal(part.query_targets.numpy(), group.query_targets.numpy()[[3, 1]])
