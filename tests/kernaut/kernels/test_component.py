"""Requests to the child: how many, of what size, with which gradients."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from kernaut.errors import InputError, SandboxFailure
from kernaut.kernels import component as module
from kernaut.kernels.component import Component, at_points
from kernaut.program.closure import float_names
from kernaut.program.program import KernelProgram
from kernaut.sandbox.pool import SandboxPool

Program = Callable[[str], KernelProgram]

UNEVEN = "def feature_point(x, parameters):\n    return [1.0] * (2 if x[0] > 0.5 else 3)"


def points(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def row(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


@pytest.fixture
def features(program: Program, pool: SandboxPool) -> Component:
    return Component(program("feature_map"), ("slope", "pitch"), pool)


class Counted:
    """Stands between a component and its child, and keeps the number of points of each request."""

    def __init__(self, component: Component, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: list[int] = []
        child = component.child
        evaluate = child.evaluate

        def counting(given: Any, *args: Any, **kwargs: Any) -> Any:
            self.sizes.append(0 if given is None else len(given))
            return evaluate(given, *args, **kwargs)

        monkeypatch.setattr(child, "evaluate", counting)


def expected(x: torch.Tensor, slope: float, pitch: float) -> torch.Tensor:
    total = x.sum(-1)
    return torch.stack([torch.ones_like(total), slope * total, torch.cos(pitch * total), x[..., 0] ** 2], dim=-1)


def test_batches_are_flattened_to_one_request(features: Component, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(features, monkeypatch)
    x = points(4, 5, 3)
    torch.testing.assert_close(at_points(features, x, row(0.6, 1.9)), expected(x, 0.6, 1.9))
    assert counted.sizes == [20]


def test_the_last_answer_is_kept_for_equal_points_and_parameters(
    features: Component, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Counted(features, monkeypatch)
    x = points(6, 3)
    first = at_points(features, x, row(0.6, 1.9))
    first.zero_()
    again = at_points(features, x.clone(), row(0.6, 1.9))
    torch.testing.assert_close(again, expected(x, 0.6, 1.9))
    assert counted.sizes == [6]
    at_points(features, x, row(0.6, 2.0))
    x[2, 1] += 1e-12
    at_points(features, x, row(0.6, 2.0))
    assert counted.sizes == [6, 6, 6]


def test_many_points_go_in_chunks_forwards_and_backwards(features: Component, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [value.clone() for value in _value_and_gradients(features)]
    monkeypatch.setattr(module, "CHUNK", 4)
    features.close()
    counted = Counted(features, monkeypatch)
    for value, other in zip(_value_and_gradients(features), whole, strict=True):
        torch.testing.assert_close(value, other, rtol=1e-13, atol=1e-13)
    assert counted.sizes == [4, 4, 2]


def _value_and_gradients(component: Component) -> list[torch.Tensor]:
    x, theta = points(10, 3).requires_grad_(), row(0.6, 1.9).requires_grad_()
    value = at_points(component, x, theta)
    weights = torch.arange(40, dtype=torch.float64).reshape(10, 4)
    return [value.detach(), *torch.autograd.grad((value * weights).sum(), (x, theta))]


def test_equal_parameter_rows_share_a_request(features: Component, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(features, monkeypatch)
    theta = torch.stack([row(0.6, 1.9), row(0.2, 0.7), row(0.6, 1.9)])
    x = points(2, 1, 5, 3)
    result = at_points(features, x, theta)
    assert result.shape == (2, 3, 5, 4)
    for batch in range(2):
        for index, (slope, pitch) in enumerate(theta.tolist()):
            torch.testing.assert_close(result[batch, index], expected(x[batch, 0], slope, pitch))
    assert sorted(counted.sizes) == [10, 20]


def test_gradients_of_a_parameter_batch_stay_apart(features: Component) -> None:
    theta = torch.stack([row(0.6, 1.9), row(0.6, 1.9)]).requires_grad_()
    x = points(2, 4, 3)
    value = at_points(features, x, theta)
    (gradient,) = torch.autograd.grad(value[0].sum(), theta)
    torch.testing.assert_close(gradient[0, 0], x[0].sum())
    assert gradient[1].tolist() == [0.0, 0.0]


def test_a_batch_of_kernels_without_parameters_is_one_request(pool: SandboxPool) -> None:
    program = KernelProgram("plain", "feature_map", "def feature_point(x, parameters):\n    return [x[0], 2.0]")
    value = at_points(Component(program, (), pool), points(3, 2), torch.empty(4, 0, dtype=torch.float64))
    assert value.shape == (4, 3, 2)


def test_gradients_in_points_and_parameters_are_those_of_finite_differences(
    program: Program, pool: SandboxPool
) -> None:
    for name in ("feature_map", "additive_feature_map", "input_transform"):
        example = program(name)
        names = float_names(example)
        asked = Component(example, names, pool)
        theta = row(*(example.parameters[key] for key in names)).requires_grad_()

        def values(x: torch.Tensor, theta: torch.Tensor, asked: Component = asked) -> torch.Tensor:
            return at_points(asked, x, theta)

        assert torch.autograd.gradcheck(values, (points(2, 3, 2).requires_grad_(), theta)), name


def test_a_numpy_program_says_that_it_has_no_gradient(program: Program, pool: SandboxPool) -> None:
    value = at_points(
        Component(program("numpy_feature_map"), ("slope", "pitch"), pool), points(2, 3), row(0.6, 1.9).requires_grad_()
    )
    with pytest.raises(InputError, match=r"Expected a differentiable program\. Got features.*torch"):
        value.sum().backward()


def test_different_numbers_of_outputs_are_a_failure(pool: SandboxPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 1)
    asked = Component(KernelProgram("uneven", "feature_map", UNEVEN), (), pool)
    x = torch.tensor([[0.2], [0.8]], dtype=torch.float64)
    with pytest.raises(SandboxFailure) as caught:
        at_points(asked, x, row())
    assert caught.value.state == "failed"


def test_a_pickled_component_starts_its_own_child(features: Component) -> None:
    x = points(4, 3)
    before = at_points(features, x, row(0.6, 1.9))
    copy = pickle.loads(pickle.dumps(features))
    torch.testing.assert_close(at_points(copy, x, row(0.6, 1.9)), before)
    assert copy.child is not features.child
    copy.close()


def test_children_end_with_their_component(
    program: Program, pool: SandboxPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    original = pool.child

    def watched(sandboxed: Any) -> Any:
        child = original(sandboxed)
        close = child.close

        def closing() -> None:
            ended.append(1)
            close()

        monkeypatch.setattr(child, "close", closing)
        return child

    monkeypatch.setattr(pool, "child", watched)
    first, second = (Component(program("feature_map"), ("slope", "pitch"), pool) for _ in range(2))
    for asked in (first, second):
        asked.call(points(2, 3), row(0.6, 1.9))
    first.close()
    first.close()
    assert ended == [1]
    del second, asked
    gc.collect()
    assert ended == [1, 1]
    np.testing.assert_allclose(first.call(points(2, 3), row(0.6, 1.9))[0], expected(points(2, 3), 0.6, 1.9))
