"""What a rule is worth on episodes, against choices made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

from kernaut.episodes.registry import benchmark_named
from kernaut.evaluation.references import subjects_of
from kernaut.operators.kernels.domain import KernelDomain
from kernaut.operators.kernels.fits import EpisodeFits, crps_of, fit_subjects, only
from kernaut.operators.kernels.use import Candidates, Uses
from kernaut.scoring.predictive import crps_gaussian

SUBJECTS = subjects_of({"rbf": [{"lengthscale": 0.1}, {"lengthscale": 1.0}], "matern52": [{"lengthscale": 0.5}]})
CANDIDATES = Candidates(tuple(SUBJECTS), reference=2, validated=1, training=np.array([0.7, 0.5, 0.6]))


@pytest.fixture(scope="module")
def fits() -> list[EpisodeFits]:
    return fit_subjects(SUBJECTS, benchmark_named("bbo").episodes("train", 1)[:3])


def test_choices_and_mixtures_by_hand(fits: list[EpisodeFits]) -> None:
    flags = np.array([[False, True, False], [True, True, False], [True, True, True]])
    found = Uses(fits, CANDIDATES)(flags.reshape(-1))
    choice, kept_choice, mixture = [], [], []
    for record, flagged in zip(fits, flags, strict=True):
        scores, likelihood = crps_of(record), record.best_log_likelihood
        kept = [place for place in range(3) if not flagged[place]] or [0, 1, 2]
        choice.append(scores[max(range(3), key=lambda place: likelihood[place])])
        kept_choice.append(scores[max(kept, key=lambda place: likelihood[place])])
        weights = np.exp(likelihood[kept] - likelihood[kept].max())
        weights /= weights.sum()
        draws = np.linspace(-12.0, 12.0, 6001)  # CRPS as the integral of (F - step)^2, from its definition
        target = record.episode.query_targets
        levels = sum(
            w * ndtr((draws[:, None] - record.mean[k]) / record.sd[k]) for w, k in zip(weights, kept, strict=True)
        )
        steps = draws[:, None] >= target
        mixture.append(((levels - steps) ** 2).sum(0).mean() * (draws[1] - draws[0]))
    assert found["choice by likelihood"]["mean_crps"] == pytest.approx(np.mean(choice))
    assert found["choice by likelihood among kept"]["mean_crps"] == pytest.approx(np.mean(kept_choice))
    assert found["mixture by likelihood among kept"]["mean_crps"] == pytest.approx(np.mean(mixture), abs=2e-3)
    assert found["train-selected reference"]["mean_crps"] == pytest.approx(np.mean([crps_of(r)[2] for r in fits]))
    assert found["validation-selected program"]["mean_crps"] == pytest.approx(np.mean([crps_of(r)[1] for r in fits]))
    low, high = found["choice by likelihood"]["interval"]
    assert low <= np.mean(choice) <= high


def test_a_rule_that_flags_nothing_changes_nothing(fits: list[EpisodeFits]) -> None:
    domain = KernelDomain({"train": fits}, 2, candidates=CANDIDATES)
    found = domain.worth(domain.electorate("train"), np.zeros(9, dtype=bool))
    assert found["choice by likelihood"] == found["choice by likelihood among kept"]
    assert found["mixture by likelihood"] == found["mixture by likelihood among kept"]
    assert KernelDomain({"train": fits}, 2).worth(domain.electorate("train"), np.zeros(9, dtype=bool)) == {}


def test_some_kernels_of_all(fits: list[EpisodeFits]) -> None:
    (first, *_) = only(fits, [2, 0])
    assert np.array_equal(first.gram, fits[0].gram[[2, 0]])
    target = np.broadcast_to(first.episode.query_targets, first.mean.shape)
    assert crps_of(first) == pytest.approx(crps_gaussian(first.mean, first.sd, target).mean(-1))


def test_an_episode_that_no_kernel_fits_scores_the_penalty(fits: list[EpisodeFits]) -> None:
    dead = replace(fits[0], alive=np.zeros(3, dtype=bool))
    found = Uses([dead], CANDIDATES)(np.array([True, False, False]))
    assert {row["mean_crps"] for row in found.values()} == {2.0}
