from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernaut.episodes.bbo import SEEN, UNSEEN, BlackBoxOptimization, hidden_objective
from kernaut.episodes.episode import episode_seed
from kernaut.episodes.objectives import OBJECTIVES
from kernaut.errors import InputError
from kernaut.seeds import stable_seed

BBO = BlackBoxOptimization()


def slow_transform(family: str, seed: int, point: list[float]) -> list[float]:
    """The transformation of one point in plain floats, straight from the protocol."""
    d = OBJECTIVES[family].dimension
    rng = np.random.default_rng(seed)
    observed = d + min(int(rng.integers(0, 3)), max(0, 8 - d))
    permutation, reflections = rng.permutation(d), rng.integers(0, 2, d)
    powers, active = rng.uniform(0.75, 1.25, d), rng.choice(observed, size=d, replace=False)
    couplings = [0.0, *rng.uniform(-1.5, 1.5, d - 1)]
    assert len(point) == observed
    kept = [point[i] for i in active]
    ordered = [kept[i] for i in permutation]
    out: list[float] = []
    for i, u in enumerate(ordered):
        v = min(max(1.0 - u if reflections[i] else u, 0.0), 1.0) ** powers[i]
        if i > 0 and v not in (0.0, 1.0):
            clipped = min(max(v, 1e-12), 1 - 1e-12)
            shifted = math.log(clipped / (1 - clipped)) + couplings[i] * (out[i - 1] - 0.5)
            v = 1.0 / (1.0 + math.exp(-shifted))
        out.append(v)
    return out


@given(st.sampled_from(SEEN + UNSEEN), st.integers(0, 30_000), st.data())
def test_transformation_agrees_with_the_slow_twin(family: str, seed: int, data: st.DataObject) -> None:
    hidden = hidden_objective(family, seed)
    unit = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 1.0]))
    point = data.draw(st.lists(unit, min_size=hidden.dimension, max_size=hidden.dimension))
    moved = hidden.transform(np.array([point]))[0]
    np.testing.assert_allclose(moved, slow_transform(family, seed, point), rtol=1e-9, atol=1e-12)
    lower, upper = np.array(hidden.objective.lower), np.array(hidden.objective.upper)
    scaled = (lower + (upper - lower) * moved)[None]
    assert hidden(np.array([point]))[0] == hidden.objective.function(scaled)[0]


def test_nuisance_coordinates_change_nothing_and_active_ones_do() -> None:
    seeds = [seed for seed in range(20) if hidden_objective("branin", seed).dimension == 4]
    hidden = hidden_objective("branin", seeds[0])
    points = np.random.default_rng(1).uniform(size=(5, 4))
    for coordinate in range(4):
        other = points.copy()
        other[:, coordinate] = 0.5 * other[:, coordinate] + 0.01
        same = np.array_equal(hidden(points), hidden(other))
        assert same == (coordinate not in hidden.active)


def test_an_episode_is_drawn_in_the_protocols_order() -> None:
    episode = BBO.episodes("test", 3)[3 * 2 + 1]
    assert (episode.name, episode.seed, episode.family) == ("griewank:seed-22001", 22_001, "griewank")
    hidden = hidden_objective("griewank", 22_001)
    rng = np.random.default_rng(stable_seed("griewank:seed-22001", "predictive"))
    fitting = rng.uniform(size=(8 + 2 * hidden.dimension, hidden.dimension))
    queries = rng.uniform(size=(32, hidden.dimension))
    np.testing.assert_array_equal(episode.fit_inputs, fitting)
    np.testing.assert_array_equal(episode.query_inputs, queries)
    mean, scale = hidden(fitting).mean(), hidden(fitting).std()
    np.testing.assert_allclose(episode.fit_targets, (hidden(fitting) - mean) / scale)
    np.testing.assert_allclose(episode.query_targets, (hidden(queries) - mean) / scale)
    np.testing.assert_allclose(episode.fit_targets.std(), 1.0)
    assert (episode.target_mean, episode.target_scale) == (mean, scale)


def test_query_targets_play_no_part_in_standardization() -> None:
    tuning = BBO.episodes("train", 1, tuning=True)
    full = BBO.episodes("train", 1)
    for small, large in zip(tuning, full, strict=True):
        assert small.name == large.name
        assert len(small.fit_targets) == 4 + 2 * small.dimension
        assert len(small.query_targets) == 16
        assert small.target_mean != large.target_mean
        np.testing.assert_allclose([small.fit_targets.mean(), large.fit_targets.mean()], 0.0, atol=1e-12)
        assert abs(large.query_targets.mean()) > 1e-3


def test_split_seeds_never_meet() -> None:
    seeds: dict[str, set[int]] = {}
    for split in ("train", "validation", "test"):
        families = BBO.families(split)
        numbers = [episode_seed(split, i, j) for i in range(len(families)) for j in range(999)]
        assert len(set(numbers)) == len(numbers)
        seeds[split] = set(numbers)
    assert not seeds["train"] & seeds["validation"]
    assert not seeds["train"] & seeds["test"]
    assert not seeds["validation"] & seeds["test"]
    assert {e.name for e in BBO.episodes("train", 4)}.isdisjoint(e.name for e in BBO.episodes("validation", 4))


def test_families_and_dimensions() -> None:
    assert BBO.families("train") == BBO.families("validation") == SEEN
    assert set(BBO.families("test")).isdisjoint(SEEN)
    dimensions = {e.dimension for split in ("train", "test") for e in BBO.episodes(split, 8)}
    assert dimensions == {2, 3, 4, 5, 6, 7, 8}
    assert all(e.dimension == 8 for e in BBO.episodes("train", 8) if e.family == "cosine")


def test_rollout_tasks_start_with_their_own_stream() -> None:
    task = BBO.rollouts("validation", 2)[3]
    assert (task.name, task.family, task.maximum) == ("ackley:seed-11001", "ackley", 0.0)
    assert task.stream_seed == stable_seed("ackley:seed-11001", "bo")
    assert task.initial_count == 4 + 2 * task.dimension
    points = np.random.default_rng(0).uniform(size=(6, task.dimension))
    np.testing.assert_array_equal(task.evaluate(points), hidden_objective("ackley", 11_001)(points))


@pytest.mark.parametrize("count", [0, -1, 1000, 2.0, True, "3", None])
def test_episode_counts_out_of_range_are_refused(count: object) -> None:
    for ask in (BBO.episodes, BBO.rollouts):
        with pytest.raises(InputError, match="Expected 1 to 999 episodes per family"):
            ask("train", count)  # type: ignore[arg-type]


@pytest.mark.parametrize("split", ["", "Train", "all", None, 3])
def test_unknown_splits_are_refused(split: object) -> None:
    for ask in (BBO.episodes, BBO.rollouts):
        with pytest.raises(InputError, match="Expected a split of train, validation, test"):
            ask(split, 1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="Expected a split of"):
        BBO.families(split)  # type: ignore[arg-type]
