"""attention_2d, computed from first principles on a task of two tokens."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernaut.sealed.arrays import encode_arrays
from kernaut.sealed.calibration import is_calibrated, random_level, regret, worst
from kernaut.sealed.families.attention_2d import Attention2D
from kernaut.sealed.generation import instance
from kernaut.sealed.manifest import PublicTask, task_from_json
from kernaut.sealed.sealing import SealedKey
from kernaut.seeds import stable_seed


def tiny() -> PublicTask:
    return task_from_json(
        {
            "task_id": "v41-attention_2d-0001",
            "family": "attention_2d",
            "input": encode_arrays({"tokens": np.array([[1.0], [-2.0]])}),
            "p_i": {"temperature": 0.5, "scale": 1.0, "output": {"kind": "row_simplex", "shape": [2, 2]}},
            "objective_direction": "maximize",
            "horizon_budget": 10,
            "compute_budget": 30.0,
            "seed": 9,
        }
    )


def test_numbers_by_hand() -> None:
    family, task = Attention2D(), tiny()
    # H (1 + E) H' / temperature with E = 0.25: 1.25 / 0.5 * [[1, -2], [-2, 4]]
    logits = [[2.5, -5.0], [-5.0, 10.0]]
    target = np.array([[math.exp(x) / sum(math.exp(y) for y in row) for x in row] for row in logits])
    targets = {"matrix": target, "perturbation": np.array([[0.25]])}
    output = np.array([[0.75, 0.25], [0.5, 0.5]])
    value = -sum((output[i, j] - target[i, j]) ** 2 for i in range(2) for j in range(2)) / 4
    assert family.value(task, targets, output) == pytest.approx(value, abs=1e-15)
    assert family.optimum(task, targets).value == family.value(task, targets, target) == 0.0
    rng = np.random.default_rng(stable_seed("sealed", "random", "v41-attention_2d-0001", 9))
    draws = [rng.dirichlet([1.0, 1.0], 2) for _ in range(150)]
    random = float(np.mean([-((draw - target) ** 2).sum() / 4 for draw in draws]))
    level = random_level(family, task, targets, 150)
    assert level.mean == pytest.approx(random, abs=1e-14)
    # in the limit: each row (t, 1 - t) against (u, 1 - u), u uniform: 2 (1/3 - t + t^2)
    limit = -sum(2 * (1 / 3 - t + t * t) for t in target[:, 0]) / 4
    assert level.mean == pytest.approx(limit, abs=0.05)
    assert worst("maximize", 0.0, level.mean) == 2.0 * (level.mean - 1e-9)
    assert regret("maximize", value, 0.0, level.mean) == pytest.approx(-value / (-random + 1e-9), rel=1e-12)


def test_public_inputs_do_not_depend_on_the_key_and_targets_do() -> None:
    family = Attention2D()
    one, hidden = instance(family, 3, 41, SealedKey(bytes(32)), {})
    two, other = instance(family, 3, 41, SealedKey(bytes([1] * 32)), {})
    assert one.text == two.text
    assert np.abs(hidden["perturbation"] - other["perturbation"]).max() > 0.01


def test_most_instances_are_calibrated() -> None:
    family, key = Attention2D(), SealedKey(bytes(range(32)))
    good = 0
    for number in range(100):
        task, targets = instance(family, number, number, key, {})
        good += is_calibrated(0.0, random_level(family, task, targets, 100).mean)
        assert task.space.problem(targets["matrix"]) is None
        assert 4 <= len(task.input["tokens"]) <= 8
    assert good >= 90
