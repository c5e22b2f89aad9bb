from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernaut.episodes.episode import Episode, episode_seed, standardization
from kernaut.errors import InputError


def parts(**changes: Any) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    return {
        "name": "a:1",
        "benchmark": "a",
        "split": "train",
        "family": "f",
        "seed": 1,
        "fit_inputs": rng.uniform(size=(4, 3)),
        "fit_targets": rng.uniform(size=4),
        "query_inputs": rng.uniform(size=(2, 3)),
        "query_targets": rng.uniform(size=2),
        **changes,
    }


def test_arrays_are_private_copies_that_cannot_be_written() -> None:
    given = parts()
    episode = Episode(**given)
    given["fit_targets"][0] = 99.0
    assert episode.fit_targets[0] != 99.0
    with pytest.raises(ValueError, match="read-only"):
        episode.query_targets[0] = 1.0


@pytest.mark.parametrize(
    "changes",
    [
        {"fit_targets": np.zeros(3)},
        {"query_targets": np.zeros(3)},
        {"query_inputs": np.zeros((2, 4))},
        {"fit_inputs": np.zeros(4)},
        {"fit_inputs": np.zeros((0, 3)), "fit_targets": np.zeros(0)},
        {"query_inputs": np.zeros((0, 2)), "query_targets": np.zeros(0)},
    ],
)
def test_shapes_that_disagree_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="Expected shapes n x d, n, q x d, q in episode a:1"):
        Episode(**parts(**changes))


def test_numbers_that_are_not_finite_are_refused() -> None:
    with pytest.raises(InputError, match=r"Expected finite query_targets in episode a:1\. Got nan"):
        Episode(**parts(query_targets=np.array([1.0, np.nan])))


def test_standardization_floor() -> None:
    assert standardization(np.array([1.0, 3.0]), 1e-8) == (2.0, 1.0)
    assert standardization(np.array([1.0, 1.0 + 1e-9]), 1e-8)[1] == 1.0
    assert standardization(np.array([1.0, 5.0]), 1e-8) == (3.0, 2.0)
    assert standardization(np.array([2.0, 2.0]), 1e-8) == (2.0, 1.0)


def test_seeds_count_within_family_and_split() -> None:
    assert episode_seed("train", 0, 7) == 7
    assert episode_seed("validation", 3, 12) == 13_012
    assert episode_seed("test", 5, 0) == 25_000
