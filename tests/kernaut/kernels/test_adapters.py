"""Gram matrices for anyone, kernels for scikit-learn."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn import gaussian_process

from kernaut.errors import InputError
from kernaut.kernels.adapters import as_kernel, gram, sklearn_kernel, variances
from kernaut.kernels.interpreter import interpret
from kernaut.kernels.library import leaf
from kernaut.program.program import KernelProgram
from kernaut.sandbox.pool import SandboxPool

Program = Callable[[str], KernelProgram]


def test_a_program_and_its_kernel_have_one_gram_matrix(program: Program) -> None:
    X, Z = np.random.default_rng(0).normal(size=(5, 2)), np.random.default_rng(1).normal(size=(3, 2))
    kernel = as_kernel(program("input_transform"))
    np.testing.assert_array_equal(gram(program("input_transform"), X, Z), gram(kernel, X, Z))
    np.testing.assert_allclose(gram(kernel, X, X[:2]), gram(kernel, X)[:, :2], rtol=1e-13)
    np.testing.assert_allclose(variances(kernel, X), np.diag(gram(kernel, X)), rtol=1e-13)
    kernel.close()


def test_numbers_are_points_of_one_coordinate_and_lists_will_do() -> None:
    assert gram(leaf("rbf"), [0, 1, 2]).shape == (3, 3)
    assert gram(leaf("linear"), [[1, 2]], [[3, 4]]).tolist() == [[11.0]]


@pytest.mark.parametrize(
    ("X", "Z", "message"),
    [
        ([[0.0, np.nan]], None, "finite n x d matrix"),
        (np.zeros((2, 3, 4)), None, "finite n x d matrix"),
        ([["a"]], None, "matrix of numbers"),
        (np.zeros((2, 3)), np.zeros((2, 2)), "one dimension. Got 3 and 2"),
        (np.zeros((0, 3)), None, "finite n x d matrix"),
    ],
)
def test_points_that_are_no_finite_matrix_are_refused(X: Any, Z: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        gram(leaf("rbf"), X, Z)


def test_only_programs_and_kernels_have_gram_matrices() -> None:
    with pytest.raises(InputError, match=r"Expected a KernelProgram or a KernautKernel. Got str"):
        gram("rbf", [[0.0]])  # type: ignore[arg-type]


def test_scikit_learn_fits_and_predicts_with_our_kernel(program: Program, pool: SandboxPool) -> None:
    kernels = gaussian_process.kernels
    ours = sklearn_kernel(interpret(program("input_transform"), pool=pool))
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(20, 2))
    y = np.sin(4 * X[:, 0])
    model = gaussian_process.GaussianProcessRegressor(kernels.ConstantKernel(1.5, (1e-2, 1e2)) * ours, alpha=1e-4)
    model.fit(X, y)
    scale = model.kernel_.k1.constant_value
    assert scale != 1.5
    Z = rng.uniform(size=(4, 2))
    K, k = (scale * gram(ours.kernel, *pair) for pair in ((X,), (Z, X)))
    mean, deviation = model.predict(Z, return_std=True)
    solve = np.linalg.solve(K + 1e-4 * np.eye(20), np.column_stack([y, k.T]))
    np.testing.assert_allclose(mean, k @ solve[:, 0], rtol=1e-5, atol=1e-6)
    spread = scale * variances(ours.kernel, Z) - np.sum(k * solve[:, 1:].T, axis=1)
    np.testing.assert_allclose(deviation**2, spread, rtol=1e-4, atol=1e-6)
    assert repr(ours) == "SklearnKernel(warp)"
    assert not ours.is_stationary()
    assert sklearn_kernel(leaf("rbf")).is_stationary()


def test_without_scikit_learn_the_adapter_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "kernaut.kernels.sklearn_kernel", raising=False)
    monkeypatch.setitem(sys.modules, "sklearn.gaussian_process.kernels", None)
    with pytest.raises(InputError, match=r"Expected scikit-learn to be installed.*pip install scikit-learn"):
        sklearn_kernel(leaf("rbf"))
