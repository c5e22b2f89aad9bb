from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from kernaut.verification.relations import (
    RELATIONS,
    probe,
    relation_errors,
    relative_error,
    stacked_embedding,
    trial_matrices,
)


class Dot:
    """A linear kernel with a way to look at more than one point at a time."""

    def __init__(self, spoil: Any = None) -> None:
        self.spoil = spoil
        self.requests: list[int] = []

    def embed(self, x: Tensor) -> tuple[Tensor, ...]:
        self.requests.append(len(x))
        return (x if self.spoil is None else self.spoil(x), x[..., :1])

    def cross(self, a: tuple[Tensor, ...], b: tuple[Tensor, ...]) -> Tensor:
        return a[0] @ b[0].mT + a[1] @ b[1].mT

    def diagonal(self, a: tuple[Tensor, ...]) -> Tensor:
        return a[0].square().sum(-1) + a[1].square().sum(-1)


def errors(kernel: Dot, dimension: int = 3) -> dict[str, float]:
    drawn = probe(7, dimension)
    stacked = stacked_embedding(kernel, drawn)
    return relation_errors(kernel, drawn, stacked, lambda points: trial_matrices(kernel, points))


def test_points_are_standard_normal_and_named_by_seed_and_dimension() -> None:
    drawn = probe(3, 5)
    assert drawn.points.shape == (8, 12, 5)
    assert drawn.extra.shape == (2, 3, 5)
    assert abs(drawn.points.mean().item()) < 0.15
    assert drawn.points.std().item() == pytest.approx(1.0, abs=0.1)
    assert torch.equal(drawn.points, probe(3, 5).points)
    assert not torch.equal(drawn.points, probe(4, 5).points)
    assert sorted(drawn.order[1].tolist()) == list(range(12))
    assert (np.diff(drawn.kept, axis=1) > 0).all()
    assert any(order.tolist() != sorted(order.tolist()) for order in drawn.order)


def test_a_sound_kernel_needs_two_requests_and_has_no_error() -> None:
    kernel = Dot()
    found = errors(kernel)
    assert list(found) == list(RELATIONS)
    assert max(found.values()) < 1e-12
    assert kernel.requests == [96 + 24 + 14 + 30 + 26, 24]


def test_blocks_hold_what_they_say() -> None:
    kernel = Dot()
    drawn = probe(7, 3)
    stacked = stacked_embedding(kernel, drawn)
    for trial in range(2):
        x = drawn.points[trial]
        assert torch.equal(stacked.trials[0][trial], x)
        assert torch.equal(stacked.permuted[0][trial], x[drawn.order[trial]])
        assert torch.equal(stacked.subset[0][trial], x[drawn.kept[trial]])
        assert torch.equal(stacked.extended[0][trial], torch.cat([x, drawn.extra[trial]]))
        assert torch.equal(stacked.duplicated[0][trial], torch.cat([x, x[drawn.doubled[trial]][None]]))


def test_each_relation_notices_its_own_defect() -> None:
    state = {"calls": 0}

    def counting(x: Tensor) -> Tensor:
        state["calls"] += 1
        return x + 1e-3 * state["calls"]

    found = errors(Dot(counting))
    assert found["determinism"] > 1.1e-7
    assert all(found[name] < 1e-12 for name in RELATIONS if name != "determinism")

    def by_block(start: int, stop: int) -> Any:
        def spoil(x: Tensor) -> Tensor:
            y = x.clone()
            if len(x) > 24:
                y[start:stop] *= 1.0 + 1e-5
            return y

        return spoil

    blocks = {"permutation": (96, 120), "subset": (120, 134), "extension": (134, 164), "duplicate": (164, 190)}
    for name, place in blocks.items():
        found = errors(Dot(by_block(*place)))
        assert found[name] > 1.1e-7
        assert all(found[other] < 1e-12 for other in RELATIONS if other != name)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda x: x - x.mean(0),
        lambda x: x / x.abs().max(),
        lambda x: x + 1e-4 * torch.arange(len(x))[:, None],
        lambda x: x.sort(0).values,
        lambda x: x * len(x),
        lambda x: x + 1e-3 * torch.rand_like(x),
    ],
)
def test_looking_at_other_points_is_noticed(spoil: Any) -> None:
    assert max(errors(Dot(spoil)).values()) > 1.1e-7


def test_the_error_is_relative_above_one_and_absolute_below() -> None:
    assert relative_error(np.array([[2.0, 10.5]]), np.array([[2.0, 10.0]])) == pytest.approx(0.05)
    assert relative_error(np.array([0.25, 0.0]), np.array([0.0, 0.0])) == 0.25
    assert relative_error(np.array([0.0, -0.25]), np.array([0.0, 0.0])) == 0.25
    assert np.isnan(relative_error(np.array([np.nan]), np.array([0.0])))
