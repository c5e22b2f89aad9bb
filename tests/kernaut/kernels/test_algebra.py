"""Sums, products, scalings and pullbacks of library leaves, against arithmetic on their matrices."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kernaut.errors import InputError
from kernaut.kernels.algebra import ProductForm, PullbackForm, ScaleForm, SumForm
from kernaut.kernels.form import Form
from kernaut.kernels.library import leaf_form
from kernaut.program.base_node import base_node

RQ = base_node({"kind": "rq", "alpha": 0.6, "lengthscale": 0.8})
MIXTURE = base_node({"kind": "spectral_mixture", "weights": [0.4, 0.9], "means": [0.3, 1.1], "scales": [0.2, 0.5]})
LINEAR = base_node({"kind": "linear", "variance": 0.7})
RFF = base_node({"kind": "rff", "features": 6, "seed": 2, "variance": 1.2})


def points(n: int = 5, d: int = 2, seed: int = 0) -> torch.Tensor:
    return torch.rand(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def matrix(form: Form, x: torch.Tensor, z: torch.Tensor, *numbers: float) -> torch.Tensor:
    theta = torch.tensor(numbers, dtype=torch.float64)
    return form.cross(form.embed(x, theta), form.embed(z, theta), theta)


def test_sums_and_products_give_each_child_its_own_numbers_and_embedding() -> None:
    x, z = points(), points(4, seed=1)
    children = [leaf_form(RQ), leaf_form(MIXTURE), leaf_form(LINEAR)]
    numbers = [*RQ.numbers(), *MIXTURE.numbers(), *LINEAR.numbers()]
    parts = [matrix(leaf_form(node), x, z, *node.numbers()) for node in (RQ, MIXTURE, LINEAR)]
    torch.testing.assert_close(matrix(SumForm(children), x, z, *numbers), parts[0] + parts[1] + parts[2])
    torch.testing.assert_close(matrix(ProductForm(children), x, z, *numbers), parts[0] * parts[1] * parts[2])


@pytest.mark.parametrize("make", [SumForm, ProductForm])
def test_variances_are_the_diagonal(make: type[SumForm]) -> None:
    form = make([leaf_form(RQ), leaf_form(MIXTURE), leaf_form(LINEAR)])
    theta = torch.tensor([*RQ.numbers(), *MIXTURE.numbers(), *LINEAR.numbers()], dtype=torch.float64)
    embedding = form.embed(points(), theta)
    torch.testing.assert_close(form.diagonal(embedding, theta), form.cross(embedding, embedding, theta).diagonal())


def test_scales_and_pullbacks() -> None:
    x, z = points(), points(4, seed=1)
    inner = matrix(leaf_form(RQ), x, z, *RQ.numbers())
    torch.testing.assert_close(matrix(ScaleForm(leaf_form(RQ)), x, z, 0.3, *RQ.numbers()), 0.3 * inner)
    M = torch.tensor([[0.5, -1.0, 2.0], [0.3, 0.9, -0.4]], dtype=torch.float64)
    form = PullbackForm((2, 3), leaf_form(RQ))
    expected = matrix(leaf_form(RQ), x @ M, z @ M, *RQ.numbers())
    torch.testing.assert_close(matrix(form, x, z, *M.flatten().tolist(), *RQ.numbers()), expected)
    with pytest.raises(InputError, match=r"Expected points of 2 coordinates, the matrix's rows\. Got 4\."):
        matrix(form, points(3, 4), points(3, 4), *M.flatten().tolist(), *RQ.numbers())


def test_finite_rank_is_kept_by_sums_scales_and_pullbacks_and_lost_by_products() -> None:
    low, full = [leaf_form(LINEAR), leaf_form(RFF)], leaf_form(RQ)
    numbers = [*LINEAR.numbers(), *RFF.numbers()]
    theta = torch.tensor(numbers, dtype=torch.float64)
    assert SumForm(low).low_rank(theta)
    assert not ProductForm(low).low_rank(theta)
    assert not SumForm([leaf_form(LINEAR), full]).low_rank(torch.tensor([*LINEAR.numbers(), *RQ.numbers()]))
    form = ScaleForm(PullbackForm((3, 2), SumForm(low)))
    own = torch.tensor([0.4, 1.0, 0.2, -0.7, 0.5, 0.1, 0.8, *numbers], dtype=torch.float64)
    assert form.low_rank(own)
    x = points(5, 3)
    phi = form.features(x, own)
    embedding = form.embed(x, own)
    torch.testing.assert_close(phi @ phi.mT, form.cross(embedding, embedding, own))
    with pytest.raises(InputError, match=r"Expected a kernel of finite rank\. Got RationalQuadratic"):
        full.features(x, torch.tensor(RQ.numbers(), dtype=torch.float64))


def test_a_batch_of_numbers_is_a_batch_of_kernels() -> None:
    form = ScaleForm(PullbackForm((2, 1), SumForm([leaf_form(RQ), leaf_form(MIXTURE)])))
    rows = [[scale, turn, 0.7, *RQ.numbers(), *MIXTURE.numbers()] for scale, turn in ((0.3, 0.9), (1.4, -0.2))]
    x, z = points(), points(4, seed=1)
    theta = torch.tensor(rows, dtype=torch.float64)
    together = form.cross(form.embed(x, theta), form.embed(z, theta), theta)
    for index, row in enumerate(rows):
        np.testing.assert_allclose(together[index], matrix(form, x, z, *row), rtol=1e-13)


def test_stationarity_is_that_of_all_parts() -> None:
    both = SumForm([leaf_form(RQ), leaf_form(MIXTURE)])
    assert both.stationary(torch.tensor([*RQ.numbers(), *MIXTURE.numbers()]))
    mixed = ProductForm([leaf_form(RQ), leaf_form(LINEAR)])
    assert not mixed.stationary(torch.tensor([*RQ.numbers(), *LINEAR.numbers()]))
    assert ScaleForm(leaf_form(RQ)).stationary(torch.tensor([0.5, *RQ.numbers()]))


def test_gradients_of_features_are_finite_where_a_weight_is_zero() -> None:
    form = ScaleForm(SumForm([leaf_form(LINEAR), leaf_form(RFF)]))
    theta = torch.tensor([0.0, 0.0, 1.0, 0.0, 1.0], dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(form.features(points(), theta).sum(), theta)
    assert torch.isfinite(gradient).all()
