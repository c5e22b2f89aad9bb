from __future__ import annotations

import math

import numpy as np
import pytest

from kernaut.errors import InputError
from kernaut.kernels.interpreter import interpret
from kernaut.kernels.library import leaf
from kernaut.program.templates import template
from kernaut.report.kernel_view import (
    coordinate_line,
    covariance,
    influence,
    nearest_references,
    smallest_eigenvalue,
    spectrum,
    square_grid,
    stationary_gap,
    sweeps,
)


def test_a_line_varies_one_coordinate_and_a_grid_the_first_two() -> None:
    line = coordinate_line(3, 1, 5, np.array([0.1, 0.2, 0.3]))
    assert line[:, 1].tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert line[:, [0, 2]].tolist() == [[0.1, 0.3]] * 5
    grid = square_grid(3, 3)
    assert grid[1].tolist() == [0.0, 0.5, 0.5]
    assert grid[3].tolist() == [0.5, 0.0, 0.5]
    with pytest.raises(InputError, match="2 input dimensions"):
        square_grid(1, 3)


def test_covariances_are_the_formula() -> None:
    points = np.array([[0.1, 0.2], [0.4, 0.6], [0.9, 0.1]])
    others = np.array([[0.3, 0.3], [0.0, 1.0]])
    kernel = leaf("rbf", lengthscale=0.7, variance=2.0)
    slow = [[2.0 * math.exp(-0.5 * ((a - b) ** 2).sum() / 0.49) for b in others] for a in points]
    assert covariance(kernel, points, others) == pytest.approx(np.array(slow))
    assert covariance(kernel, points)[0, 1] == pytest.approx(2.0 * math.exp(-0.5 * 0.25 / 0.49))


def test_sweeps_start_from_the_anchor() -> None:
    axis, values = sweeps(leaf("ard_rbf", lengthscales=[0.2, 1.5]), np.array([0.5, 0.25]), count=5)
    assert values.shape == (2, 5)
    assert values[0][2] == pytest.approx(1.0)
    assert values[1][1] == pytest.approx(1.0)
    assert values[0][0] == pytest.approx(math.exp(-0.5 * (0.5 / 0.2) ** 2))
    assert axis.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_the_input_with_the_shorter_lengthscale_matters_more() -> None:
    found = influence(leaf("ard_rbf", lengthscales=[0.2, 1.5, 1e6]), 3).mean
    assert found[0] > 2 * found[1] > 100 * found[2]


def test_stationary_kernels_have_no_gap_and_others_do() -> None:
    assert stationary_gap(leaf("matern32", lengthscale=0.4), 3) < 1e-9
    assert stationary_gap(leaf("linear"), 2) > 0.1
    assert stationary_gap(interpret(template("input_transform")), 2) > 0.01


@pytest.mark.parametrize("period", [0.25, 0.8])
def test_the_spectrum_of_a_periodic_kernel_peaks_at_its_frequency(period: float) -> None:
    frequencies, density = spectrum(leaf("cosine", period=period), 1)
    assert frequencies[density.argmax()] == pytest.approx(0.5 / period, abs=0.15)
    with pytest.raises(InputError, match="stationary"):
        spectrum(leaf("linear"), 1)


def test_the_nearest_reference_of_a_reference_is_itself() -> None:
    name, distance = nearest_references(leaf("matern32", lengthscale=0.25))[0]
    assert (name, distance) == ("ard_matern32-lengthscales-0.25", pytest.approx(0.0, abs=1e-12))


def test_the_smallest_eigenvalue_of_an_indefinite_matrix_is_negative() -> None:
    assert smallest_eigenvalue(np.array([[1.0, 2.0], [2.0, 1.0]])) == pytest.approx(-1.0)
