from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernaut.episodes.bbo import BlackBoxOptimization
from kernaut.fitting.embedding import rows
from kernaut.fitting.grid import AMPLITUDES, GRID, NOISES, fit_grid, predict
from kernaut.fitting.group import EpisodeGroup
from kernaut.kernels.library import leaf
from kernaut.scoring.predictive import predictive_scores


def run(kernel: Any, group: EpisodeGroup) -> tuple[Any, Any, Any]:
    embedding = kernel.embed(group.points)
    fitting, queries = (
        rows(embedding, 0, group.fit_count),
        rows(embedding, group.fit_count, group.points.shape[1]),
    )
    fit = fit_grid(kernel.cross(fitting, fitting).numpy(), group.fit_targets.numpy())
    return (fit, *predict(fit, kernel.cross(queries, fitting).numpy(), kernel.diagonal(queries).numpy()))


def mean_crps(kernel: Any, bbo: BlackBoxOptimization, split: str) -> float:
    scores = []
    for group in EpisodeGroup.stack(bbo.episodes(split, 10)):
        _, mean, variance = run(kernel, group)
        scores.append(predictive_scores(mean, np.sqrt(variance), group.query_targets.numpy())["crps"])
    return float(np.concatenate(scores).mean())


@pytest.mark.parametrize(
    ("fold", "split", "published"),
    [
        (False, "train", 0.5619),
        (False, "validation", 0.5514),
        (False, "test", 0.6117),
        (True, "train", 0.5441),
        (True, "validation", 0.5404),
        (True, "test", 0.6011),
    ],
)
def test_published_crps(Matern: Any, bbo: BlackBoxOptimization, fold: bool, split: str, published: float) -> None:
    kernel = Matern(fold=True) if fold else leaf("matern52", lengthscale=0.5)
    assert f"{mean_crps(kernel, bbo, split):.4f}" == f"{published:.4f}"


@pytest.mark.parametrize("kernel_name", ["matern", "fold", "features", "constant"])
def test_batched_eigendecomposition_agrees_with_one_cholesky_per_grid_point(
    Matern: Any, Features: Any, slow_gp: Any, bbo: BlackBoxOptimization, kernel_name: str
) -> None:
    kernel = {
        "matern": Matern(),
        "fold": Matern(0.3, fold=True),
        "features": Features(1.7),
        "constant": Features(0.9, constant=True),
    }[kernel_name]
    for group in EpisodeGroup.stack(bbo.episodes("test", 2)):
        fit, mean, variance = run(kernel, group)
        for index, episode in enumerate(group.episodes):
            slow = slow_gp(kernel, episode.fit_inputs, episode.fit_targets, episode.query_inputs)
            assert (fit.amplitude[index], fit.noise[index]) == (slow.amplitude, slow.noise)
            assert fit.best_log_likelihood[index] == pytest.approx(slow.log_likelihood, rel=1e-8)
            np.testing.assert_allclose(mean[index], slow.mean, rtol=1e-7, atol=1e-8)
            np.testing.assert_allclose(variance[index], slow.variance, rtol=1e-6, atol=1e-9)


def test_the_grid_has_amplitude_outermost() -> None:
    assert GRID[:5] == ((0.1, 1e-4), (0.1, 1e-3), (0.1, 1e-2), (0.1, 1e-1), (0.3, 1e-4))
    assert len(GRID) == len(AMPLITUDES) * len(NOISES) == 16


def test_on_a_tie_the_first_grid_point_wins() -> None:
    fit = fit_grid(np.zeros((2, 5, 5)), np.array([[0.1, -0.1, 0.1, -0.1, 0.0], [3.0, -3.0, 1.0, 0.5, -2.0]]))
    assert fit.amplitude.tolist() == [0.1, 0.1]
    assert fit.noise.tolist() == [1e-2, 1e-1]
    assert len(set(fit.log_likelihood[0, [2, 6, 10, 14]].tolist())) == 1


def test_grid_points_that_are_not_positive_definite_are_skipped() -> None:
    gram = np.diag([1.0, 2.0, -2e-3])[None]
    fit = fit_grid(gram, np.array([[0.5, -1.0, 0.01]]))
    for (amplitude, noise), value in zip(GRID, fit.log_likelihood[0], strict=True):
        assert np.isfinite(value) == (noise - amplitude * 2e-3 > 0)
    assert not fit.failed[0]


def test_an_episode_without_a_definite_grid_point_fails_alone() -> None:
    good = np.eye(3)
    grams = np.stack([good, np.diag([1.0, 1.0, -5.0]), np.full((3, 3), np.nan), 2.0 * good])
    targets = np.array([[0.5, -1.0, 0.3]] * 4)
    fit = fit_grid(grams, targets)
    assert fit.failed.tolist() == [False, True, True, False]
    alone = fit_grid(grams[[0, 3]], targets[[0, 3]])
    np.testing.assert_array_equal(fit.best_log_likelihood[[0, 3]], alone.best_log_likelihood)
    mean, variance = predict(fit, np.full((4, 2, 3), 0.1), np.ones((4, 2)))
    assert np.isfinite(mean).all()
    assert np.isfinite(variance).all()
    assert np.isfinite(fit.condition()).all()


def test_a_decomposition_that_does_not_converge_fails_one_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    grams = np.stack([np.eye(3), np.diag([1.0, 2.0, 3.0]), 2.0 * np.eye(3)])
    targets = np.array([[0.5, -1.0, 0.3]] * 3)
    sound = fit_grid(grams, targets)
    original = torch.linalg.eigh

    def stubborn(matrices: torch.Tensor) -> Any:
        if bool((matrices[:, 2, 2] == 3.0).any()):
            raise torch.linalg.LinAlgError("no convergence")
        return original(matrices)

    monkeypatch.setattr(torch.linalg, "eigh", stubborn)
    fit = fit_grid(grams, targets)
    assert fit.failed.tolist() == [False, True, False]
    np.testing.assert_array_equal(fit.best_log_likelihood[[0, 2]], sound.best_log_likelihood[[0, 2]])


def test_asymmetry_is_averaged_out(Matern: Any) -> None:
    x = torch.from_numpy(np.random.default_rng(2).uniform(size=(1, 7, 2)))
    gram = Matern().cross(Matern().embed(x), Matern().embed(x)).numpy()
    skew = np.triu(np.full((7, 7), 1e-3), 1)
    targets = np.random.default_rng(3).normal(size=(1, 7))
    np.testing.assert_allclose(
        fit_grid(gram + skew - skew.T, targets).log_likelihood, fit_grid(gram, targets).log_likelihood, rtol=1e-10
    )


def test_predictive_variance_is_that_of_an_observation_and_floored() -> None:
    targets = np.array([[1.0, -1.0]])
    fit = fit_grid(np.eye(2)[None], targets)
    _, variance = predict(fit, np.zeros((1, 1, 2)), np.ones((1, 1)))
    assert variance[0, 0] == pytest.approx(fit.amplitude[0] + fit.noise[0])
    _, floored = predict(fit, np.full((1, 1, 2), 5.0), np.zeros((1, 1)))
    assert floored[0, 0] == 1e-10


def test_condition_number_is_that_of_the_noisy_fitting_matrix(Matern: Any, bbo: BlackBoxOptimization) -> None:
    for group in EpisodeGroup.stack(bbo.episodes("validation", 1)):
        fit, _, _ = run(Matern(0.8), group)
        embedding = rows(Matern(0.8).embed(group.points), 0, group.fit_count)
        gram = Matern(0.8).cross(embedding, embedding).numpy()
        for index in range(len(group)):
            noisy = fit.amplitude[index] * gram[index] + fit.noise[index] * np.eye(group.fit_count)
            assert fit.condition()[index] == pytest.approx(np.linalg.cond(noisy, 1), rel=1e-8)


@settings(max_examples=25)
@given(seed=st.integers(0, 1000), scale=st.floats(0.1, 100.0), shift=st.floats(-50.0, 50.0))
def test_query_targets_reach_neither_fit_nor_prediction(seed: int, scale: float, shift: float) -> None:
    episode = BlackBoxOptimization().episodes("train", 1)[seed % 5]
    other = replace(episode, query_targets=scale * episode.query_targets[::-1] + shift)

    class Linear:
        def embed(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return (x,)

        def cross(self, a: tuple[torch.Tensor, ...], b: tuple[torch.Tensor, ...]) -> torch.Tensor:
            return a[0] @ b[0].mT

        def diagonal(self, a: tuple[torch.Tensor, ...]) -> torch.Tensor:
            return a[0].square().sum(-1)

    one, two = (run(Linear(), EpisodeGroup.stack([e])[0]) for e in (episode, other))
    np.testing.assert_array_equal(one[0].log_likelihood, two[0].log_likelihood)
    np.testing.assert_array_equal(one[1], two[1])
    np.testing.assert_array_equal(one[2], two[2])
    assert (other.target_mean, other.target_scale) == (episode.target_mean, episode.target_scale)
    np.testing.assert_array_equal(other.fit_targets, episode.fit_targets)
