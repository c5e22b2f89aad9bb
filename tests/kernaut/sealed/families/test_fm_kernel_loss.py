"""fm_kernel_loss, computed from first principles on a task of three points and one anchor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from kernaut.errors import FitError, InputError
from kernaut.sealed.arrays import encode_arrays
from kernaut.sealed.calibration import random_level, regret, worst
from kernaut.sealed.families import fm_kernel_loss
from kernaut.sealed.families.fm_kernel_loss import FMKernelLoss, solve
from kernaut.sealed.generation import instance
from kernaut.sealed.manifest import PublicTask, task_from_json
from kernaut.sealed.mechanisms import kernel_loss
from kernaut.sealed.sealing import SealedKey
from kernaut.seeds import stable_seed


def tiny() -> PublicTask:
    return task_from_json(
        {
            "task_id": "v41-fm_kernel_loss-0002",
            "family": "fm_kernel_loss",
            "input": encode_arrays({"points": np.array([[0.0], [0.5], [1.0]]), "anchors": np.array([[0.0]])}),
            "p_i": {
                "kernel": {"kind": "rbf", "lengthscale": 0.5},
                "lambda": 0.05,
                "box": [-3.0, 3.0],
                "output": {"kind": "box", "shape": [1], "lower": -3.0, "upper": 3.0},
            },
            "objective_direction": "maximize",
            "horizon_budget": 5,
            "compute_budget": 30.0,
            "seed": 1,
        }
    )


def loss(theta: float) -> float:
    """Labels 1, 1, -1; k(x, 0) = 1, e^-1/2, e^-2."""
    scores = [theta, theta * math.exp(-0.5), theta * math.exp(-2.0)]
    hinges = [max(0.0, 1.0 - y * f) for y, f in zip((1, 1, -1), scores, strict=True)]
    return sum(hinges) / 3 + 0.05 * theta * theta


def test_numbers_by_hand() -> None:
    family, task, targets = FMKernelLoss(), tiny(), {"labels": np.array([1.0, 1.0, -1.0])}
    assert family.value(task, targets, np.array([0.7])) == pytest.approx(-loss(0.7), abs=1e-14)
    found = minimize_scalar(loss, bounds=(-3, 3), method="bounded", options={"xatol": 1e-12})
    optimum = family.optimum(task, targets)
    assert optimum.value == pytest.approx(-found.fun, abs=1e-9)
    assert optimum.certificate["kind"] == "duality"
    assert 0.0 <= optimum.certificate["gap"] + 1e-12 <= 1e-6
    rng = np.random.default_rng(stable_seed("sealed", "random", "v41-fm_kernel_loss-0002", 1))
    random = float(np.mean([-loss(float(rng.uniform(-3, 3, 1)[0])) for _ in range(100)]))
    level = random_level(family, task, targets, 100)
    assert level.mean == pytest.approx(random, abs=1e-13)
    bottom = worst("maximize", optimum.value, level.mean)
    assert bottom == pytest.approx(2 * random + found.fun - 2e-9, abs=1e-8)
    expected = (-found.fun + loss(0.7)) / (-found.fun - random + 1e-9)
    assert regret("maximize", -loss(0.7), optimum.value, level.mean) == pytest.approx(expected, abs=1e-7)


def test_the_dual_bound_is_a_bound_and_tight(rng: np.random.Generator) -> None:
    for _ in range(25):
        count, anchors = int(rng.integers(5, 40)), int(rng.integers(1, 9))
        gram = np.exp(-rng.uniform(0, 3, (count, anchors)))
        labels = np.where(rng.uniform(size=count) < 0.5, 1.0, -1.0)
        ridge = float(10 ** rng.uniform(-3, -1))
        theta, bound = solve(gram, labels, ridge, -3.0, 3.0)
        best = kernel_loss(theta, gram, labels, ridge)
        assert bound <= best + 1e-12
        assert best - bound <= 1e-6
        tried = rng.uniform(-3, 3, (200, anchors))
        near = np.clip(theta + 0.01 * rng.normal(size=(200, anchors)), -3, 3)
        assert min(kernel_loss(t, gram, labels, ridge) for t in [*tried, *near]) >= bound - 1e-12


def test_an_optimum_without_certificate_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fm_kernel_loss, "solve", lambda *a: (np.array([1.0]), -10.0))
    with pytest.raises(FitError, match="duality gap"):
        FMKernelLoss().optimum(tiny(), {"labels": np.array([1.0, 1.0, -1.0])})


CANDIDATE = {
    "name": "ramp",
    "contract": "feature_map",
    "source": "import numpy as np\n\ndef feature_point(x, parameters):\n    return np.array([1.0, parameters['a'] * x[0]])\n",
    "parameters": {"a": 2.0},
}


@pytest.mark.parametrize("kernel", [{"kind": "linear", "lengthscale": 2.0}, CANDIDATE])
def test_any_kernaut_kernel_will_do(kernel: dict[str, Any]) -> None:
    family, key = FMKernelLoss(), SealedKey(bytes(range(32)))
    task, targets = instance(family, 0, 3, key, {"kernel": kernel})
    theta = np.linspace(-1.0, 1.0, task.space.size)
    points, anchors = task.input["points"], task.input["anchors"]
    gram = points @ anchors.T / 4.0 if "kind" in kernel else 1.0 + 4.0 * np.outer(points[:, 0], anchors[:, 0])
    expected = -kernel_loss(theta, gram, targets["labels"], task.p_i["lambda"])
    assert family.value(task, targets, theta) == pytest.approx(expected, rel=1e-12)


def test_labels_are_hidden_balanced_and_of_the_key() -> None:
    family = FMKernelLoss()
    one, hidden = instance(family, 3, 41, SealedKey(bytes(32)), {})
    two, other = instance(family, 3, 41, SealedKey(bytes([1] * 32)), {})
    assert one.text == two.text
    assert not np.array_equal(hidden["labels"], other["labels"])
    assert set(hidden["labels"]) == {-1.0, 1.0}
    with pytest.raises(InputError, match="option kernel"):
        instance(family, 0, 0, SealedKey(bytes(32)), {"lambda": 1})
