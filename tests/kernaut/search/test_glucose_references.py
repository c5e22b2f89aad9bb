"""References of the glucose benchmark, on single folds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from kernaut.episodes.glucose import GlucoseForecasts
from kernaut.errors import FitError
from kernaut.fitting.prefixes import stack_episodes
from kernaut.kernels.interpreter import interpret
from kernaut.search.glucose_references import (
    LIBRARY,
    forecaster_outcomes,
    glucose_recipes,
    per_patient,
    persistence,
    physiological,
)
from kernaut.verification.verify import verify

FOLD = GlucoseForecasts().episodes("train", 3)[2]


def test_persistence_goes_on_with_the_last_reading_and_spreads_as_the_patient_does() -> None:
    mean, sd = persistence(FOLD)
    assert set(mean) == {FOLD.context[1][-1]}
    assert len(mean) == len(sd) == len(FOLD.query_targets)
    fitted = FOLD.fit_targets.reshape(5, -1)  # five episodes with the same reading times
    minutes = FOLD.fit_inputs[: fitted.shape[1], 0] * 360
    assert minutes[9] == pytest.approx(45.0)
    moved = fitted[:, 10:] - fitted[:, 9:10]
    np.testing.assert_allclose(sd, np.maximum(np.sqrt(np.mean(moved**2, axis=0)), sd.min()), rtol=1e-9)
    assert sd[0] < sd[-1]


def test_per_patient_fits_see_no_query() -> None:
    mean, sd = per_patient(FOLD)
    other = per_patient(replace(FOLD, query_targets=FOLD.query_targets[::-1] * 3.0 + 1.0))
    np.testing.assert_array_equal(mean, other[0])
    np.testing.assert_array_equal(sd, other[1])
    assert np.abs(mean[0] - FOLD.context[1][-1]) < 0.2
    assert sd[0] < sd[-1]


def test_outcomes_have_nmse_and_say_what_failed() -> None:
    outcomes = forecaster_outcomes(persistence, "validation", 1)
    assert len(outcomes) == 10
    assert all(outcome.scores is not None and outcome.scores["nmse"] > 0 for outcome in outcomes)

    def fails(episode: object) -> tuple[np.ndarray, np.ndarray]:
        raise FitError("no likelihood")

    failed = forecaster_outcomes(fails, "validation", 1)
    assert {(outcome.state, outcome.reason) for outcome in failed} == {("failed", "no likelihood")}


def test_relative_time_ard_depends_on_relative_times_alone() -> None:
    """Only the distance from meal and bolus counts once the clock's own weight is small."""
    recipes = glucose_recipes(stack_episodes([FOLD]), 0)
    assert [recipe.name for recipe in recipes] == ["reference-relative-time-ard", "reference-physiological-library"]
    program = recipes[0].make().with_parameters({"now": 0.02, "fed": 3.0, "dosed": 2.0, "meal": 1.5, "bolus": 0.5})
    points = np.array([[0.4, 0.5, 0.1, 0.3, 0.2], [0.6, 0.5, 0.3, 0.3, 0.4], [0.6, 0.9, 0.2, 0.3, 0.4]])
    features = np.column_stack(
        [
            0.02 * points[:, 0],
            3.0 * (points[:, 0] - points[:, 2]),
            2.0 * (points[:, 0] - points[:, 4]),
            1.5 * points[:, 1],
            0.5 * points[:, 3],
        ]
    )
    r = np.sqrt(5.0) * np.sqrt(((features[:, None] - features[None]) ** 2).sum(-1))
    kernel = interpret(program)
    with torch.no_grad():
        embedding = kernel.embed(torch.from_numpy(points))
        found = kernel.cross(embedding, embedding).numpy()
    kernel.close()
    np.testing.assert_allclose(found, (1 + r + r**2 / 3) * np.exp(-r), rtol=1e-10)
    assert found[0, 1] > 0.999 > found[0, 2]


@pytest.mark.parametrize("blocks", LIBRARY)
def test_the_library_is_accepted(blocks: tuple[str, ...]) -> None:
    program = physiological(blocks)
    assert verify(program, (5,), 0).accepted
    assert len(program.space) <= 12
