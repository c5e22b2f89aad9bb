from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from kernaut.episodes.bbo import BlackBoxOptimization
from kernaut.episodes.episode import RolloutTask
from kernaut.errors import InputError
from kernaut.fitting.rollout import RolloutGroup, rollout
from kernaut.kernels.library import leaf
from kernaut.scoring.regret import final_regret, regret_auc, regret_curve


@pytest.mark.parametrize(
    ("fold", "split", "auc", "final"),
    [
        (False, "validation", 0.7970, 0.6976),
        (False, "test", 0.6931, 0.5635),
        (True, "validation", 0.7890, None),
        (True, "test", 0.6712, None),
    ],
)
def test_published_regret(
    Matern: Any, bbo: BlackBoxOptimization, fold: bool, split: str, auc: float, final: float | None
) -> None:
    tasks = bbo.rollouts(split, 10)
    traces = rollout(Matern(fold=True) if fold else leaf("matern52", lengthscale=0.5), tasks)
    curves = np.stack([regret_curve(trace.best, task.maximum) for trace, task in zip(traces, tasks, strict=True)])
    assert f"{regret_auc(curves).mean():.4f}" == f"{auc:.4f}"
    if final is not None:
        assert f"{final_regret(curves).mean():.4f}" == f"{final:.4f}"


def slow_rollout(kernel: Any, slow_gp: Any, task: RolloutTask, steps: int, count: int) -> tuple[list[float], Any]:
    rng = np.random.default_rng(task.stream_seed)
    x = rng.uniform(size=(task.initial_count, task.dimension))
    y = task.evaluate(x)
    best = [y.max()]
    for _ in range(steps):
        candidates = rng.uniform(size=(count, task.dimension))
        deviation = y.std() if y.std() >= 1e-8 else 1.0
        scaled = (y - y.mean()) / deviation
        fit = slow_gp(kernel, x, scaled, candidates)
        sd = np.sqrt(fit.variance)
        z = (fit.mean - scaled.max()) / sd
        pick = int(np.argmax(sd * (z * stats.norm.cdf(z) + stats.norm.pdf(z))))
        x = np.concatenate([x, candidates[pick : pick + 1]])
        y = np.concatenate([y, task.evaluate(candidates[pick : pick + 1])])
        best.append(y.max())
    return best, x[task.initial_count :]


@pytest.mark.parametrize("name", ["Matern", "Features"])
def test_batched_rollouts_agree_with_one_task_at_a_time(
    request: pytest.FixtureRequest, slow_gp: Any, bbo: BlackBoxOptimization, name: str
) -> None:
    kernel = request.getfixturevalue(name)(0.7)
    tasks = bbo.rollouts("test", 2)
    for task, trace in zip(tasks, rollout(kernel, tasks, steps=3, candidates=20), strict=True):
        best, points = slow_rollout(kernel, slow_gp, task, 3, 20)
        np.testing.assert_array_equal(trace.points, points)
        np.testing.assert_allclose(trace.best, best, rtol=1e-12)
        assert trace.reason is None


def test_each_point_is_embedded_once(Matern: Any, bbo: BlackBoxOptimization) -> None:
    tasks = bbo.rollouts("train", 3)
    kernel = Matern()
    rollout(kernel, tasks, steps=4, candidates=10)
    assert sum(kernel.embedded) == sum(task.initial_count + 4 * 10 for task in tasks)


def test_stacked_groups_are_used_as_they_are(Matern: Any, bbo: BlackBoxOptimization) -> None:
    tasks = bbo.rollouts("validation", 1)
    groups = RolloutGroup.stack(tasks, steps=2, candidates=9)
    fresh = rollout(Matern(), tasks, steps=2, candidates=9)
    for one, two in zip(rollout(Matern(), groups), fresh, strict=True):
        np.testing.assert_array_equal(one.best, two.best)
        assert len(one.best) == 3
    with pytest.raises(InputError, match="either rollout tasks or stacked groups"):
        rollout(Matern(), [*tasks, *groups])  # type: ignore[list-item]
    with pytest.raises(InputError, match="at least 1 step and 1 candidate"):
        rollout(Matern(), tasks, steps=0)


def test_a_constant_objective_does_not_stop_a_rollout(Matern: Any, bbo: BlackBoxOptimization) -> None:
    task = replace(bbo.rollouts("train", 1)[0], evaluate=lambda points: np.full(len(points), 3.5), maximum=3.5)
    (trace,) = rollout(Matern(), [task], steps=2, candidates=5)
    assert trace.best.tolist() == [3.5, 3.5, 3.5]


def test_a_failing_task_ends_alone_and_says_why(Matern: Any, bbo: BlackBoxOptimization) -> None:
    class Spiteful(Matern):  # type: ignore[misc]
        """Indefinite for a task whose first initial point lies in the upper half of coordinate 0."""

        def cross(self, a: tuple[torch.Tensor, ...], b: tuple[torch.Tensor, ...]) -> torch.Tensor:
            value = super().cross(a, b)
            upper = a[0][:, 0, 0] > 1.0
            return torch.where(upper[:, None, None], -value, value) if value.shape[-1] == value.shape[-2] else value

    tasks = [task for task in bbo.rollouts("train", 12) if task.family == "cosine"]
    firsts = [np.random.default_rng(task.stream_seed).uniform(size=8)[0] for task in tasks]
    traces = rollout(Spiteful(), tasks, steps=2, candidates=6)
    healthy = rollout(Matern(), tasks, steps=2, candidates=6)
    assert 0 < sum(first > 0.5 for first in firsts) < len(firsts)
    for first, trace, sound in zip(firsts, traces, healthy, strict=True):
        if first > 0.5:
            assert trace.reason is not None
            assert "positive definite" in trace.reason
            assert "step 1" in trace.reason
            assert len(trace.best) == 1
            assert len(trace.points) == 0
        else:
            np.testing.assert_array_equal(trace.best, sound.best)
