from __future__ import annotations

import numpy as np
import pytest

from kernaut.episodes.episode import Episode
from kernaut.errors import InputError
from kernaut.evaluation.evaluate import Setting
from kernaut.evaluation.forecast import forecast
from kernaut.kernels.library import leaf
from kernaut.report.episode_view import (
    fit_episode,
    grid_likelihood,
    likelihood_drawing,
    line_episode,
    parts_drawing,
    posterior_drawing,
    regret_drawing,
    regret_outcome,
    residual_drawing,
    score_table,
)
from kernaut.scoring.predictive import crps_gaussian


@pytest.fixture
def episode() -> Episode:
    rng = np.random.default_rng(3)
    fit, query = rng.uniform(size=(9, 2)), rng.uniform(size=(5, 2))
    return Episode("made:1", "made", "train", "f", 1, fit, np.sin(5 * fit[:, 0]), query, np.sin(5 * query[:, 0]))


def test_the_line_goes_through_the_chosen_point(episode: Episode) -> None:
    line = line_episode(episode, 0, 3)
    assert (line.query_inputs[:, 1] == episode.query_inputs[3, 1]).all()
    assert line.query_inputs[0, 0] == min(episode.fit_inputs[:, 0].min(), episode.query_inputs[:, 0].min())
    kernel = leaf("rbf", lengthscale=0.4)
    fit = fit_episode("rbf", kernel, episode, 0, 3)
    x = episode.query_inputs[3, 0]
    assert np.interp(x, fit.place, fit.along.mean) == pytest.approx(forecast(kernel, episode).mean[3], abs=5e-3)
    for wrong in ((2, 0), (0, 5), (-1, 0)):
        with pytest.raises(InputError):
            line_episode(episode, *wrong)


def test_scores_are_those_of_the_forecast(episode: Episode) -> None:
    kernel = leaf("rbf", lengthscale=0.4)
    fit, found = fit_episode("rbf", kernel, episode), forecast(kernel, episode)
    assert fit.scores["crps"] == pytest.approx(crps_gaussian(found.mean, found.sd, episode.query_targets).mean())
    other = fit_episode("rough", leaf("matern12", lengthscale=0.05), episode)
    assert [row[0] for row in score_table([other, fit]).rows] == ["rbf", "rough"]


def test_the_cross_stands_on_the_grid_point_that_was_fitted(episode: Episode) -> None:
    kernel = leaf("rbf", lengthscale=0.4)
    values, found = grid_likelihood(kernel, episode), forecast(kernel, episode)
    assert values.shape == (4, 4)
    picture = likelihood_drawing([("rbf", values)])
    assert f"amplitude {found.amplitude:g}, noise {found.noise:g}" in picture.alt


def test_pictures_say_what_they_show(episode: Episode) -> None:
    kernel = leaf("rbf", lengthscale=0.4)
    fit = fit_episode("rbf", kernel, episode, 1, 2)
    assert f"CRPS {fit.scores['crps']:.3f}" in posterior_drawing([fit]).alt
    assert "of 5 outside" in residual_drawing([fit]).alt
    assert "kernel spans" in parts_drawing("rbf", kernel, episode).alt


def test_regret_is_that_of_the_benchmarks_task_and_needs_one() -> None:
    kernel = leaf("matern52", lengthscale=0.5)
    outcome = regret_outcome(kernel, Setting("bbo", "train", 1), "levy", 0)
    assert outcome.family == "levy" and outcome.scored
    drawn = regret_drawing([("m", outcome)])
    assert f"{outcome.curve[-1]:.2f}" in drawn.alt
    assert len(outcome.curve) == 8 and ">8</text>" in drawn.svg  # the last step is marked, and no step 0
    with pytest.raises(InputError, match="optimization tasks"):
        regret_outcome(kernel, Setting("greenhouse", "train", 1), "co2", 0)
