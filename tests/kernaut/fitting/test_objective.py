from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from kernaut.episodes.bbo import BlackBoxOptimization
from kernaut.errors import FitError
from kernaut.fitting.embedding import rows
from kernaut.fitting.grid import fit_grid, predict
from kernaut.fitting.group import EpisodeGroup
from kernaut.fitting.objective import mean_query_crps, query_crps
from kernaut.scoring.predictive import crps_gaussian


def grid_crps(kernel: Any, group: EpisodeGroup) -> Any:
    with torch.no_grad():
        embedding = kernel.embed(group.points)
        fitting, queries = rows(embedding, 0, group.fit_count), rows(embedding, group.fit_count, group.points.shape[1])
        fit = fit_grid(kernel.cross(fitting, fitting).numpy(), group.fit_targets.numpy())
        mean, variance = predict(fit, kernel.cross(queries, fitting).numpy(), kernel.diagonal(queries).numpy())
    return crps_gaussian(mean, np.sqrt(variance), group.query_targets.numpy()).mean(-1)


@pytest.mark.parametrize(("name", "value"), [("Matern", 0.6), ("Features", 1.4)])
def test_values_are_those_of_the_grid_path(
    request: pytest.FixtureRequest, bbo: BlackBoxOptimization, name: str, value: float
) -> None:
    kernel = request.getfixturevalue(name)(torch.tensor(value, dtype=torch.float64, requires_grad=True))
    groups = EpisodeGroup.stack(bbo.episodes("train", 3, tuning=True))
    expected = []
    for group in groups:
        scores = query_crps(kernel, group)
        np.testing.assert_allclose(scores.detach().numpy(), grid_crps(kernel, group), rtol=1e-8)
        expected.extend(scores.detach().tolist())
    assert mean_query_crps(kernel, groups).item() == pytest.approx(np.mean(expected), rel=1e-12)


@pytest.mark.parametrize(("name", "constant"), [("Matern", False), ("Features", False), ("Features", True)])
def test_gradients_agree_with_finite_differences(
    request: pytest.FixtureRequest, bbo: BlackBoxOptimization, name: str, constant: bool
) -> None:
    groups = EpisodeGroup.stack(bbo.episodes("train", 2, tuning=True))
    make = request.getfixturevalue(name)

    def loss(value: torch.Tensor) -> torch.Tensor:
        return mean_query_crps(make(value, constant) if constant else make(value), groups)

    value = torch.tensor(0.83, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(loss(value), value)
    step = 1e-6
    with torch.no_grad():
        difference = (loss(value + step) - loss(value - step)) / (2 * step)
    assert gradient.item() == pytest.approx(difference.item(), rel=1e-5, abs=1e-9)
    assert abs(gradient.item()) > 1e-6


def broken_for(Matern: Any, limit: float) -> Any:
    class Broken(Matern):  # type: ignore[misc]
        """Overflows for episodes whose first fitting point has a first coordinate above a limit."""

        def cross(self, a: tuple[torch.Tensor, ...], b: tuple[torch.Tensor, ...]) -> torch.Tensor:
            bad = a[0][:, 0, 0] * self.lengthscale > limit
            return super().cross(a, b) * torch.where(bad, torch.inf, 1.0)[:, None, None]

    return Broken(torch.tensor(0.6, dtype=torch.float64, requires_grad=True))


def test_failed_episodes_enter_with_the_penalty_and_without_gradient(Matern: Any, bbo: BlackBoxOptimization) -> None:
    group = EpisodeGroup.stack([e for e in bbo.episodes("train", 8, tuning=True) if e.family == "cosine"])[0]
    kernel = broken_for(Matern, 0.5)
    scores = query_crps(kernel, group)
    bad = group.points[:, 0, 0].numpy() > 0.5
    assert 0 < bad.sum() < len(bad)
    assert scores[torch.from_numpy(bad)].tolist() == [2.0] * int(bad.sum())
    (gradient,) = torch.autograd.grad(scores.sum(), kernel.lengthscale)
    sound = Matern(torch.tensor(0.6, dtype=torch.float64, requires_grad=True))
    kept = query_crps(sound, group)[torch.from_numpy(~bad)]
    (expected,) = torch.autograd.grad(kept.sum(), sound.lengthscale)
    np.testing.assert_allclose(scores[torch.from_numpy(~bad)].tolist(), kept.tolist(), rtol=1e-12)
    assert gradient.item() == pytest.approx(expected.item(), rel=1e-10)


def test_a_mean_over_nothing_that_fits_is_an_error(Matern: Any, bbo: BlackBoxOptimization) -> None:
    groups = EpisodeGroup.stack(bbo.episodes("train", 1, tuning=True))
    with pytest.raises(FitError, match=r"Expected an episode that can be fitted\. Got 5 that failed"):
        mean_query_crps(broken_for(Matern, -1.0), groups)


def test_a_group_that_fails_whole_still_counts_in_the_mean(Matern: Any, bbo: BlackBoxOptimization) -> None:
    groups = EpisodeGroup.stack(bbo.episodes("train", 1, tuning=True))
    kernel = Matern(torch.tensor(0.6, dtype=torch.float64))
    lone = next(group for group in groups if len(group) == 1)
    limit = float(lone.points[0, 0, 0]) - 1e-9

    class Broken(Matern):  # type: ignore[misc]
        def cross(self, a: tuple[torch.Tensor, ...], b: tuple[torch.Tensor, ...]) -> torch.Tensor:
            bad = a[0].shape[0] == 1 and a[0].shape[-1] == lone.dimension and float(a[0][0, 0, 0]) * 0.6 > limit
            return super().cross(a, b) * (torch.nan if bad else 1.0)

    total = sum(query_crps(kernel, group).sum().item() for group in groups if group is not lone)
    assert mean_query_crps(Broken(kernel.lengthscale), groups).item() == pytest.approx((total + 2.0) / 5.0, rel=1e-12)
