"""What policies are made of, and each built-in policy on a task whose answer is known."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from kernaut.errors import BudgetSpent, InputError
from kernaut.sealed.families.registry import family_named
from kernaut.sealed.generation import instance
from kernaut.sealed.manifest import PublicTask
from kernaut.sealed.policies.registry import BUILT_IN
from kernaut.sealed.policy import Answer, Policy, Trail
from kernaut.sealed.sealing import SealedKey

KEY = SealedKey(bytes(range(32)))


class Judge:
    """Answers queries as the service does."""

    def __init__(self, task: PublicTask, targets: Any) -> None:
        self.family, self.task, self.targets = family_named(task.family), task, targets
        self.outputs: list[np.ndarray] = []
        self.values: list[float] = []

    def __call__(self, output: np.ndarray) -> Answer:
        if len(self.outputs) >= self.task.horizon_budget:
            raise BudgetSpent("spent")
        assert self.task.space.problem(output) is None, self.task.space.problem(output)
        self.outputs.append(output.copy())
        self.values.append(self.family.value(self.task, self.targets, output))
        remaining = self.task.horizon_budget - len(self.outputs)
        return Answer(self.values[-1], None, len(self.outputs), remaining)


def play(name: str, family: str, number: int, **options: Any) -> tuple[float, Judge]:
    """J of a policy's final output, and the judge."""
    module, _, kind = BUILT_IN[name].partition(":")
    policy: Policy = getattr(importlib.import_module(module), kind)(options)
    task, targets = instance(family_named(family), number, 50 + number, KEY, {})
    judge = Judge(task, targets)
    output = policy.act(task, judge, np.random.default_rng(number))
    assert any(np.abs(output - earlier).max() < 1e-9 for earlier in judge.outputs)
    return judge.family.value(task, targets, output), judge


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("family", ["haar_encode", "attention_2d", "fm_kernel_loss"])
def test_policies_keep_to_their_budget_and_name_their_best(name: str, family: str) -> None:
    value, judge = play(name, family, 1)
    assert 1 <= len(judge.outputs) <= judge.task.horizon_budget
    assert value == (judge.values[-1] if name == "random" else max(judge.values))


def test_the_ceiling_solves_small_signals_exactly() -> None:
    for number in range(12):
        value, judge = play("ceiling", "haar_encode", number)
        if judge.task.space.size == 8:
            assert value > -1e-20
            return
    raise AssertionError("no signal of length 8 was drawn")


def test_the_ceiling_finds_most_perturbations() -> None:
    values = [play("ceiling", "attention_2d", number)[0] for number in range(5)]
    assert np.median(values) > -1e-4  # the random policy's are near -0.1


def test_minimizing_and_maximizing_differ_in_sign_only() -> None:
    task, targets = instance(family_named("haar_encode"), 0, 1, KEY, {})
    judge = Judge(task, targets)
    trail = Trail(task, judge)
    trail.query(task.space.centre())
    flipped = PublicTask(task.task_id, task.family, task.input, task.p_i, "minimize", 10, 1.0, 1)
    other = Trail(flipped, Judge(task, targets))
    other.query(task.space.centre())
    assert trail.scores == [-score for score in other.scores] == judge.values
    assert trail.remaining == 9
    assert trail.best_score == judge.values[0]


def test_unknown_options_are_refused() -> None:
    with pytest.raises(InputError, match="kernel"):
        play("bayesian_optimization", "haar_encode", 1, kernels={})
