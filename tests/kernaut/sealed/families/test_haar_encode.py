"""haar_encode, computed from first principles on a task of two numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernaut.sealed.arrays import encode_arrays
from kernaut.sealed.calibration import random_level, regret, worst
from kernaut.sealed.families.haar_encode import HaarEncode
from kernaut.sealed.generation import instance
from kernaut.sealed.manifest import PublicTask, task_from_json
from kernaut.sealed.sealing import SealedKey
from kernaut.seeds import stable_seed


def tiny() -> PublicTask:
    return task_from_json(
        {
            "task_id": "v41-haar_encode-0000",
            "family": "haar_encode",
            "input": encode_arrays({"copies": np.array([[3.0, 1.0], [2.0, 2.0]])}),
            "p_i": {
                "noise": 0.5,
                "box": [-2.0, 2.0],
                "output": {"kind": "box", "shape": [2], "lower": -2.0, "upper": 2.0},
            },
            "objective_direction": "maximize",
            "horizon_budget": 10,
            "compute_budget": 30.0,
            "seed": 4,
        }
    )


def test_numbers_by_hand() -> None:
    family, task = HaarEncode(), tiny()
    signal = [1.2, -0.4]
    target = np.array([(1.2 - 0.4) / math.sqrt(2), (1.2 + 0.4) / math.sqrt(2)])
    targets = {"coefficients": target}
    assert signal[0] == pytest.approx((target[0] + target[1]) / math.sqrt(2))
    output = np.array([0.5, -1.0])
    value = -((0.5 - target[0]) ** 2 + (-1.0 - target[1]) ** 2) / 2
    assert family.value(task, targets, output) == pytest.approx(value, abs=1e-15)
    assert family.optimum(task, targets).value == 0.0
    assert family.value(task, targets, target) == 0.0
    level = random_level(family, task, targets, 100)
    rng = np.random.default_rng(stable_seed("sealed", "random", "v41-haar_encode-0000", 4))
    draws = [rng.uniform(-2.0, 2.0, 2) for _ in range(100)]
    random = sum(-((u - target[0]) ** 2 + (v - target[1]) ** 2) / 2 for u, v in draws) / 100
    assert level.mean == pytest.approx(random, abs=1e-12)
    # in the limit: minus the variance of U(-2, 2), 4/3, minus the mean square of the target
    assert level.mean == pytest.approx(-4 / 3 - float(target @ target) / 2, abs=0.4)
    assert worst("maximize", 0.0, level.mean) == pytest.approx(2 * random - 2e-9, abs=1e-12)
    assert regret("maximize", value, 0.0, level.mean) == pytest.approx(value / (random - 1e-9), rel=1e-12)


def test_an_instance_is_a_hidden_signal_with_hidden_noise() -> None:
    family, key = HaarEncode(), SealedKey(bytes(range(32)))
    seen = set()
    for number in range(40):
        task, targets = instance(family, number, 300 + number, key, {})
        copies, target = task.input["copies"], targets["coefficients"]
        seen.add(copies.shape[1])
        assert task.space.problem(target) is None
        signal_power = float(target @ target)
        assert 0.2 <= task.p_i["noise"] <= 0.8
        mean_power = float((copies.mean(axis=0) ** 2).sum())
        expected = signal_power + task.p_i["noise"] ** 2 * copies.shape[1] / len(copies)
        assert mean_power == pytest.approx(expected, rel=0.9)
    assert seen == {8, 16, 32}


def test_the_secret_is_not_what_the_mechanism_tells() -> None:
    family, key = HaarEncode(), SealedKey(bytes(range(32)))
    found = [family.secrets(*instance(family, n, n, key, {})) for n in range(200)]
    hidden = np.concatenate([secret.hidden for secret in found])
    estimate = np.concatenate([secret.features[:, 0] for secret in found])
    assert abs(np.corrcoef(hidden, estimate)[0, 1]) < 0.05
