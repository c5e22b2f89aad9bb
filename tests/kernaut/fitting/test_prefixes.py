from __future__ import annotations

import numpy as np
import pytest
import torch

from kernaut.episodes.episode import Episode
from kernaut.episodes.greenhouse import GreenhouseGases
from kernaut.episodes.registry import benchmark_named
from kernaut.fitting.conditioning import predict_after
from kernaut.fitting.embedding import rows
from kernaut.fitting.grid import fit_grid
from kernaut.fitting.group import EpisodeGroup
from kernaut.fitting.objective import mean_query_crps, query_crps
from kernaut.fitting.prefixes import (
    RATIO_OF,
    RATIOS,
    PrefixGroup,
    fit_prefixes,
    predict_prefix,
    prefix_condition,
    query_rows,
    stack_episodes,
)
from kernaut.kernels.library import base_kernel

KERNEL = base_kernel({"kind": "matern32", "lengthscale": 0.3})
GASES = GreenhouseGases(minimum=110, horizon=20)


def windows(count: int = 3) -> list[Episode]:
    """Short windows, so that eigendecompositions are quick."""
    found = [GASES.window("n2o", "train", seed, 20) for seed in range(40)]
    return sorted(found, key=lambda e: len(e.fit_targets))[:count]


def episode(n: int, c: int, q: int, seed: int = 0) -> Episode:
    rng = np.random.default_rng(seed)
    points, values = rng.uniform(size=(n + c + q, 2)), rng.standard_normal(n + c + q)
    return Episode(
        "made", "none", "train", "f", 0, points[:n], values[:n], points[n + c :], values[n + c :],
        context_inputs=points[n : n + c], context_targets=values[n : n + c],
    )  # fmt: skip


def test_ten_ratios_cover_the_sixteen_grid_points() -> None:
    from kernaut.fitting.grid import GRID

    assert len(RATIOS) == 10
    np.testing.assert_allclose([RATIOS[place] for place in RATIO_OF], [s / a for a, s in GRID], rtol=1e-12)


def test_windows_of_one_record_are_stacked_together_and_others_by_size() -> None:
    gases = GreenhouseGases().episodes("train", 2)
    short = benchmark_named("bbo").episodes("train", 1)
    mixed = [short[0], gases[0], gases[2], short[1], gases[1], gases[3]]
    groups = stack_episodes(mixed)
    shared = [group for group in groups if isinstance(group, PrefixGroup)]
    assert [group.indices for group in shared] == [(1, 4), (2, 5)]
    for group in groups:
        assert [mixed[i] for i in group.indices] == list(group.episodes)
    assert sorted(i for group in groups for i in group.indices) == list(range(6))


def test_likelihoods_predictions_and_condition_equal_those_of_eigendecompositions() -> None:
    (group,) = stack_episodes(windows())
    assert isinstance(group, PrefixGroup)
    assert len(set(group.counts)) > 1
    embedding = KERNEL.embed(group.points)
    fit = fit_prefixes(KERNEL.cross(embedding, embedding).detach().numpy(), group)
    assert fit is not None
    variances = KERNEL.diagonal(embedding).detach().numpy()
    for place, single in enumerate(group.alone()):
        assert single.indices == (group.indices[place],)
        both = KERNEL.embed(single.points)
        count = single.fit_count
        fitting, queries = rows(both, 0, count), rows(both, count, single.points.shape[1])
        slow = fit_grid(KERNEL.cross(fitting, fitting).detach().numpy(), single.fit_targets.numpy())
        np.testing.assert_allclose(fit.log_likelihood[place], slow.log_likelihood[0], rtol=1e-9)
        assert fit.chosen[place] == slow.chosen[0]
        mean, variance = predict_prefix(fit, group, place, variances)
        cross = KERNEL.cross(queries, fitting).detach().numpy()
        expected = predict_after(slow, cross, cross[:, :0], KERNEL.diagonal(queries).detach().numpy(), np.empty((1, 0)))
        np.testing.assert_allclose(mean, expected[0][0], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(variance, expected[1][0], rtol=1e-7)
        assert prefix_condition(fit, place, count) == pytest.approx(float(slow.condition()[0]), rel=1e-6)


def test_context_conditions_predictions_and_nothing_else() -> None:
    made = episode(120, 5, 9)
    (group,) = stack_episodes([made])
    assert isinstance(group, PrefixGroup)
    assert query_rows(made) == (125, 134)
    embedding = KERNEL.embed(group.points)
    gram = KERNEL.cross(embedding, embedding).detach().numpy()
    fit = fit_prefixes(gram, group)
    assert fit is not None
    mean, variance = predict_prefix(fit, group, 0, np.ones(len(gram)))
    slow = fit_grid(gram[None, :120, :120], made.fit_targets[None])
    np.testing.assert_allclose(fit.log_likelihood[0], slow.log_likelihood[0], rtol=1e-9)
    a, s = float(slow.amplitude[0]), float(slow.noise[0])
    known = np.concatenate([made.fit_targets, made.context[1]])
    inverse = np.linalg.inv(a * gram[:125, :125] + s * np.eye(125))
    cross = a * gram[125:, :125]
    np.testing.assert_allclose(mean, cross @ inverse @ known, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(variance, a + s - np.diag(cross @ inverse @ cross.T), rtol=1e-8)


def test_a_matrix_that_is_not_definite_beyond_doubt_is_left_to_the_slow_path() -> None:
    (group,) = stack_episodes(windows())
    assert isinstance(group, PrefixGroup)
    embedding = KERNEL.embed(group.points)
    gram = KERNEL.cross(embedding, embedding).detach().numpy()
    assert fit_prefixes(gram, group) is not None
    assert fit_prefixes(gram - 2.0 * np.eye(len(gram)), group) is None
    assert fit_prefixes(gram * 1e12, group) is None
    assert fit_prefixes(np.where(np.eye(len(gram)) > 0, np.nan, gram), group) is None


def test_the_differentiable_objective_equals_that_of_single_windows_and_has_its_gradient() -> None:
    kernel = base_kernel({"kind": "matern32", "lengthscale": 0.3})
    kernel.values.requires_grad_(True)
    (group,) = stack_episodes(windows())
    assert isinstance(group, PrefixGroup)
    shared = query_crps(kernel, group)
    (gradient,) = torch.autograd.grad(shared.sum(), kernel.values)
    alone = torch.cat([query_crps(kernel, single) for single in group.alone()])
    (expected,) = torch.autograd.grad(alone.sum(), kernel.values)
    np.testing.assert_allclose(shared.detach().numpy(), alone.detach().numpy(), rtol=1e-8)
    np.testing.assert_allclose(gradient.numpy(), expected.numpy(), rtol=1e-5)


def test_the_objective_with_context_agrees_between_both_paths() -> None:
    made = episode(120, 4, 6)
    (shared,) = stack_episodes([made])
    (alone,) = EpisodeGroup.stack([made])
    kernel = base_kernel({"kind": "rbf", "lengthscale": 0.4})
    kernel.values.requires_grad_(True)
    one, two = mean_query_crps(kernel, [shared]), mean_query_crps(kernel, [alone])
    assert one.item() == pytest.approx(two.item(), rel=1e-8)
    (first,) = torch.autograd.grad(one, kernel.values)
    (second,) = torch.autograd.grad(two, kernel.values)
    np.testing.assert_allclose(first.numpy(), second.numpy(), rtol=1e-5, atol=1e-9)
