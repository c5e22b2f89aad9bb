"""Output spaces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kernaut.errors import InputError
from kernaut.sealed.spaces import Box, OutputSpace, RowSimplex, space_from_json

SPACES = [Box((5,), -2.0, 3.0), Box((2, 3), 0.0, 0.5), RowSimplex((3, 4))]


@pytest.mark.parametrize("space", SPACES)
def test_draws_centre_and_mapped_points_are_legal(space: OutputSpace, rng: np.random.Generator) -> None:
    for output in (space.sample(rng), space.centre(), space.from_unit(rng.uniform(size=space.size))):
        assert space.problem(output) is None
    assert space_from_json(space.to_json()) == space


@given(arrays(np.float64, (3, 4), elements=st.floats(-5, 5)))
def test_projection_onto_the_simplex_is_the_nearest_point(point: np.ndarray) -> None:
    space = RowSimplex((3, 4))
    nearest = space.project(point)
    assert space.problem(nearest) is None
    rng = np.random.default_rng(0)
    others = [space.sample(rng) for _ in range(30)]
    assert all(np.linalg.norm(point - nearest) <= np.linalg.norm(point - other) + 1e-9 for other in others)
    np.testing.assert_allclose(space.project(nearest), nearest, atol=1e-12)


def test_the_random_policy_is_uniform() -> None:
    rng = np.random.default_rng(1)
    box = np.array([SPACES[0].sample(rng) for _ in range(4000)])
    assert np.abs(np.quantile(box, [0.25, 0.5, 0.75]) - [-0.75, 0.5, 1.75]).max() < 0.05
    rows = np.array([SPACES[2].sample(rng) for _ in range(4000)])
    # Dirichlet(1, 1, 1, 1): mean 1/4, variance 3/80
    assert np.abs(rows.mean(axis=0) - 0.25).max() < 0.015
    assert np.abs(rows.var(axis=0) - 3 / 80).max() < 0.004


@pytest.mark.parametrize(
    ("space", "output", "word"),
    [
        (SPACES[0], np.zeros(4), "shape"),
        (SPACES[0], np.zeros((5, 1)), "shape"),
        (SPACES[0], np.array([0, 0, np.nan, 0, 0]), "finite"),
        (SPACES[0], np.array([0, 0, np.inf, 0, 0]), "finite"),
        (SPACES[0], np.array([0, 0, 3.0 + 1e-9, 0, 0]), "outside"),
        (SPACES[2], np.full((3, 4), 0.25 + 1e-6), "sum"),
        (SPACES[2], np.array([[1.5, -0.5, 0, 0]] * 3), "negative"),
    ],
)
def test_malformed_outputs_are_named(space: OutputSpace, output: np.ndarray, word: str) -> None:
    problem = space.problem(output)
    assert problem is not None
    assert word in problem


def test_a_row_may_miss_one_by_a_millionth() -> None:
    output = np.full((3, 4), 0.25)
    output[0, 0] += 0.9e-6
    assert SPACES[2].problem(output) is None


@pytest.mark.parametrize(
    "record",
    [
        None,
        {"kind": "ball", "shape": [3]},
        {"kind": "box", "shape": [0], "lower": 0, "upper": 1},
        {"kind": "box", "shape": [2, 2, 2], "lower": 0, "upper": 1},
        {"kind": "box", "shape": [5000], "lower": 0, "upper": 1},
        {"kind": "box", "shape": [3], "lower": 1, "upper": 1},
        {"kind": "box", "shape": [3], "lower": True, "upper": 2},
        {"kind": "box", "shape": [3], "lower": 0, "upper": float("inf")},
        {"kind": "box", "shape": [3]},
        {"kind": "row_simplex", "shape": [3]},
        {"kind": "row_simplex", "shape": [3, 3], "lower": 0},
    ],
)
def test_bad_descriptions_are_refused(record: object) -> None:
    with pytest.raises(InputError, match="Expected"):
        space_from_json(record)
