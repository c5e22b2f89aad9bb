from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import kernaut.evaluation.baselines as module
from kernaut.errors import InputError
from kernaut.evaluation.baselines import KINDS, TunedBaseline, tune_baseline, tuned_baselines
from kernaut.fitting.marginal import log_marginal

RNG = np.random.default_rng(9)
X = RNG.uniform(size=(40, 2))
Y = np.sin(9.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.05 * RNG.normal(size=40)
Y = (Y - Y.mean()) / Y.std()


@pytest.fixture(scope="module")
def tuned() -> dict[str, TunedBaseline]:
    return {result.kind: result for result in tuned_baselines(X, Y)}


def test_all_eight_kinds_are_tuned(tuned: dict[str, TunedBaseline]) -> None:
    assert tuple(tuned) == KINDS
    assert len(KINDS) == 8
    assert tuned["rbf"].log_marginal > tuned["linear"].log_marginal + 20


@pytest.mark.parametrize("kind", ["rbf", "periodic", "spectral_mixture", "rff", "linear"])
def test_the_stated_likelihood_is_that_of_the_stated_kernel(kind: str, tuned: dict[str, TunedBaseline]) -> None:
    result = tuned[kind]
    amplitude, noise = (torch.tensor(v, dtype=torch.float64) for v in (result.amplitude, result.noise))
    value = log_marginal(result.subject().kernel(), torch.from_numpy(X), torch.from_numpy(Y), amplitude, noise)
    assert value.item() == pytest.approx(result.log_marginal, rel=1e-9)
    assert result.subject().name == f"tuned-{kind}"


def test_tuning_finds_what_a_fine_grid_finds() -> None:
    result = tune_baseline("rbf", X, Y)
    best = -np.inf
    for scale in np.geomspace(0.1, 1.5, 15):
        for amplitude in np.geomspace(0.3, 10, 8):
            for noise in np.geomspace(1e-3, 0.1, 8):
                distance = ((X[:, None] - X[None]) ** 2).sum(-1)
                matrix = amplitude * np.exp(-0.5 * distance / scale**2) + noise * np.eye(40)
                _, logdet = np.linalg.slogdet(matrix)
                best = max(best, -0.5 * (Y @ np.linalg.solve(matrix, Y) + logdet + 40 * np.log(2 * np.pi)))
    assert result.log_marginal >= best
    assert result.log_marginal < best + 3.0
    assert result.on_bound == ()


def test_parameters_on_the_edge_of_their_range_are_named(tuned: dict[str, TunedBaseline]) -> None:
    smooth = X[:, 0] - X[:, 0].mean()
    assert "noise" in tune_baseline("rbf", X, smooth / smooth.std()).on_bound
    assert tuned["rbf"].on_bound == ()


def test_the_best_point_seen_is_kept_wherever_the_search_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def wander(loss: Any, start: np.ndarray, **options: Any) -> None:
        for step in (0.0, 0.3, -2.0):
            seen.append(-loss(start + step)[0])

    monkeypatch.setattr(module, "minimize", wander)
    result = tune_baseline("rbf", X, Y, starts=2)
    assert result.evaluations == len(seen) == 6
    assert result.log_marginal == max(seen)
    assert seen[-1] < max(seen)


def test_seed_and_workers() -> None:
    kinds = ("matern32", "rff")
    alone = tuned_baselines(X, Y, kinds=kinds, seed=2)
    assert alone == tuned_baselines(X, Y, kinds=kinds, seed=2, workers=2)
    assert alone[1] == tune_baseline("rff", X, Y, seed=2)
    assert tune_baseline("rff", X, Y, seed=2).node["seed"] != tune_baseline("rff", X, Y, seed=3).node["seed"]


@pytest.mark.parametrize(
    ("kind", "inputs", "targets"),
    [("magic", X, Y), ("rbf", X[:, 0], Y), ("rbf", X, Y[:-1]), ("rbf", X * np.nan, Y), ("rbf", X[:0], Y[:0])],
)
def test_bad_input(kind: str, inputs: np.ndarray, targets: np.ndarray) -> None:
    with pytest.raises(InputError, match="Expected"):
        tune_baseline(kind, inputs, targets)
