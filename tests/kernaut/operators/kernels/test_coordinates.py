"""Kernels on fewer coordinates, against fits of episodes that never had the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kernaut.episodes.episode import Episode
from kernaut.episodes.registry import benchmark_named
from kernaut.evaluation.references import subjects_of
from kernaut.evaluation.subject import program_subject
from kernaut.operators.kernels.coordinates import MOST_COMPONENTS, CoordinateFits, dropped_sets, fit_coordinates
from kernaut.operators.kernels.fits import EpisodeFits, crps_of, fit_subjects
from kernaut.operators.kernels.use import Candidates, Uses
from kernaut.program.program import KernelProgram

SUBJECTS = subjects_of({"rbf": [{"lengthscale": 0.3}, {"lengthscale": 1.0}], "matern52": [{"lengthscale": 0.5}]})
NEEDS_TWO = """
import torch

def feature_point(x, parameters):
    return torch.stack([x[0] * x[1], x[1]])
"""


@pytest.fixture(scope="module")
def episodes() -> list[Episode]:
    return [e for e in benchmark_named("bbo").episodes("train", 2) if e.fit_inputs.shape[1] <= 4]


@pytest.fixture(scope="module")
def found(episodes: list[Episode]) -> list[CoordinateFits]:
    return fit_coordinates(SUBJECTS, episodes)


def without(episode: Episode, columns: tuple[int, ...]) -> Episode:
    kept = [c for c in range(episode.fit_inputs.shape[1]) if c not in columns]
    return replace(
        episode,
        fit_inputs=episode.fit_inputs[:, kept],
        query_inputs=episode.query_inputs[:, kept],
        context_inputs=np.zeros((0, len(kept))),
        context_targets=np.zeros(0),
    )


def test_at_most_two_are_left_out_and_one_stays() -> None:
    assert dropped_sets(1) == ((),)
    assert dropped_sets(2) == ((), (0,), (1,))
    assert dropped_sets(3) == ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2))
    assert len(dropped_sets(16)) == 1 + 16 + 120
    assert len(dropped_sets(17)) == 1 + 17


def test_each_subset_is_an_episode_without_those_coordinates(
    episodes: list[Episode], found: list[CoordinateFits]
) -> None:
    assert len({len(e.fit_inputs) for e in episodes}) > 1
    for episode, record in zip(episodes, found, strict=True):
        assert record.dropped == dropped_sets(episode.fit_inputs.shape[1])
        for place, columns in enumerate(record.dropped):
            (twin,) = fit_subjects(SUBJECTS, [without(episode, columns)])
            assert record.log_likelihood[:, place] == pytest.approx(twin.best_log_likelihood, abs=1e-8)
            assert record.mean[:, place] == pytest.approx(twin.mean, abs=1e-7)
            assert record.sd[:, place] == pytest.approx(twin.sd, abs=1e-7)


def test_each_number_of_coordinates_left_out_is_equally_likely() -> None:
    likelihood = np.zeros((2, 7))
    record = CoordinateFits(dropped_sets(3), likelihood, np.zeros((2, 7, 1)), np.ones((2, 7, 1)))
    weights = record.weights(np.array([True, True]))
    assert weights[0] == pytest.approx(np.array([1 / 3, *[1 / 9] * 6]) / 2)
    assert record.weights(np.array([False, True])).sum(1) == pytest.approx([0.0, 1.0])
    assert record.weights(np.array([False, False])).sum(1) == pytest.approx([0.5, 0.5])
    assert record.relevance(weights) == pytest.approx([1 - 1 / 9 - 2 / 9] * 3)


def test_a_mixture_has_the_components_of_largest_weight() -> None:
    rng = np.random.default_rng(0)
    likelihood = rng.normal(size=(12, 7))
    likelihood[3] = -np.inf
    record = CoordinateFits(dropped_sets(3), likelihood, np.zeros((12, 7, 1)), np.ones((12, 7, 1)))
    weights = record.weights(np.ones(12, dtype=bool))
    score = np.exp(likelihood + record.log_prior)
    assert (weights > 0).sum() == MOST_COMPONENTS
    assert score[weights > 0].min() >= score[weights == 0].max()
    assert weights[weights > 0] == pytest.approx(score[weights > 0] / score[weights > 0].sum())


def test_an_irrelevant_coordinate_is_found() -> None:
    rng = np.random.default_rng(1)
    inputs, queries = rng.uniform(size=(24, 3)), rng.uniform(size=(16, 3))
    y, truth = np.sin(7 * inputs[:, 1]), np.sin(7 * queries[:, 1])
    episode = Episode(
        "e", "bbo", "train", "f", 0, inputs, (y - y.mean()) / y.std(), queries, (truth - y.mean()) / y.std()
    )
    (record,) = fit_coordinates(SUBJECTS, [episode])
    everyone = np.ones(3, dtype=bool)
    relevance = record.relevance(record.weights(everyone))
    assert relevance[1] > 0.99
    assert max(relevance[0], relevance[2]) < 0.1
    found = Uses(fit_subjects(SUBJECTS, [episode]), Candidates(tuple(SUBJECTS), 2, 1, np.ones(3)), [record])(~everyone)
    over = found["mixture by likelihood over coordinates"]["mean_crps"]
    assert over < 0.5 * found["mixture by likelihood"]["mean_crps"]


def test_a_program_that_needs_two_coordinates_fails_on_one_alone(episodes: list[Episode]) -> None:
    episode = next(e for e in episodes if e.fit_inputs.shape[1] == 2)
    (record,) = fit_coordinates(
        [program_subject(KernelProgram("pair", "feature_map", NEEDS_TWO)), SUBJECTS[0]], [episode]
    )
    assert np.isfinite(record.log_likelihood).tolist() == [[True, False, False], [True, True, True]]


def test_a_rule_confines_choice_and_mixture_over_coordinates(
    episodes: list[Episode], found: list[CoordinateFits]
) -> None:
    fits: list[EpisodeFits] = fit_subjects(SUBJECTS, episodes)
    flags = np.tile([False, True, True], len(episodes))
    candidates = Candidates(tuple(SUBJECTS), 2, 1, np.ones(3))
    row = Uses(fits, candidates, found)(flags)
    expected = []
    for episode, record in zip(episodes, found, strict=True):
        score = record.log_likelihood[0] + record.log_prior
        (alone,) = fit_subjects(SUBJECTS[:1], [without(episode, record.dropped[int(score.argmax())])])
        expected.append(crps_of(alone)[0])
    assert row["choice by likelihood over coordinates among kept"]["mean_crps"] == pytest.approx(np.mean(expected))
    assert "choice by likelihood over coordinates" not in Uses(fits, candidates)(flags)
