"""Fingerprints against a slow twin and their invariances."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from kernaut.kernels.interpreter import interpret
from kernaut.kernels.library import base_kernel
from kernaut.program.templates import template
from kernaut.search.novelty import DIMENSIONS, band, distance, fingerprint, fingerprint_points, nearest


def _slow(lengthscale: float) -> list[list[list[float]]]:
    found = []
    for points in fingerprint_points():
        x = points.tolist()
        gram = [
            [math.exp(-sum((a - b) ** 2 for a, b in zip(u, v, strict=True)) / (2 * lengthscale**2)) for v in x]
            for u in x
        ]
        n = len(gram)
        rows = [sum(row) / n for row in gram]
        total = sum(rows) / n
        centred = [[gram[i][j] - rows[i] - rows[j] + total for j in range(n)] for i in range(n)]
        norm = math.sqrt(sum(value**2 for row in centred for value in row))
        found.append([[value / norm for value in row] for row in centred])
    return found


def test_fingerprint_equals_the_double_loop() -> None:
    found = fingerprint(base_kernel({"kind": "rbf", "lengthscale": 0.4}))
    np.testing.assert_allclose(found, _slow(0.4), atol=1e-12)
    assert found.shape == (len(DIMENSIONS), 16, 16)


def test_scaling_and_adding_a_constant_change_nothing() -> None:
    plain = fingerprint(base_kernel({"kind": "matern52", "lengthscale": 0.5}))
    scaled = fingerprint(base_kernel({"kind": "matern52", "lengthscale": 0.5, "variance": 7.0}))
    assert distance(plain, scaled) < 1e-12
    assert distance(plain, fingerprint(base_kernel({"kind": "linear"}))) > 0.15


def test_a_constant_kernel_has_the_zero_fingerprint() -> None:
    constant = base_kernel({"kind": "rbf", "lengthscale": 1e9})
    assert not fingerprint(constant).any()


def test_nearest_takes_the_smallest_distance_and_the_first_on_a_tie() -> None:
    one, two, far = (fingerprint(base_kernel({"kind": "rbf", "lengthscale": s})) for s in (0.5, 0.52, 2.0))
    value, name = nearest(one, [("far", far), ("two", two), ("again", two)])
    assert name == "two"
    assert value == pytest.approx(distance(one, two))


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (0.0, "duplicate"),
        (0.0299, "duplicate"),
        (0.03, "near_reference"),
        (0.0799, "near_reference"),
        (0.08, "distinct"),
        (0.15, "strongly_distinct"),
    ],
)
def test_bands(value: float, name: str) -> None:
    assert band(value) == name


def test_a_kernel_of_tasks_has_a_fingerprint_of_its_own() -> None:
    kernel = interpret(template("coregionalized"))
    found = fingerprint(kernel)
    points = fingerprint_points()[1].clone()
    points[:, -1] = torch.floor(3.0 * points[:, -1])
    embedding = kernel.embed(points)
    centring = np.eye(16) - 1.0 / 16
    expected = centring @ kernel.cross(embedding, embedding).detach().numpy() @ centring
    np.testing.assert_allclose(found[1], expected / np.linalg.norm(expected), rtol=0, atol=1e-12)
    kernel.close()
