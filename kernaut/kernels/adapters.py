"""Kernels for other libraries: a Gram matrix for anyone, a kernel object for scikit-learn."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kernaut.errors import InputError
from kernaut.kernels.interpreter import interpret
from kernaut.kernels.kernel import KernautKernel
from kernaut.program.program import KernelProgram


def as_kernel(source: KernelProgram | KernautKernel) -> KernautKernel:
    """A kernel as it is, a program interpreted.

    Raises:
        InputError: for anything else.
    """
    if isinstance(source, KernautKernel):
        return source
    if isinstance(source, KernelProgram):
        return interpret(source)
    raise InputError(f"Expected a KernelProgram or a KernautKernel. Got {type(source).__name__}.")


def gram(source: KernelProgram | KernautKernel, X: Any, Z: Any = None) -> np.ndarray:
    """Covariances of points with each other, or with other points.

    Args:
        source: a program or a kernel.
        X: ``n x d`` points (``n`` numbers count as n points of one coordinate).
        Z: ``m x d`` points; ``X`` if absent.

    Returns:
        ``n x n`` or ``n x m``, float64.

    Raises:
        InputError: for points that are not a finite matrix, or of different dimensions.
        SandboxFailure: when the kernel's program gives no value.
    """
    kernel = as_kernel(source)
    left = torch.from_numpy(finite_matrix(X, "X"))
    with torch.no_grad():
        if Z is None:
            embedding = kernel.embed(left)
            return kernel.cross(embedding, embedding).numpy()
        right = torch.from_numpy(finite_matrix(Z, "Z"))
        if left.shape[1] != right.shape[1]:
            raise InputError(f"Expected X and Z of one dimension. Got {left.shape[1]} and {right.shape[1]}.")
        both = kernel.embed(torch.cat([left, right]))
        n = len(left)
        return kernel.cross(tuple(t[..., :n, :] for t in both), tuple(t[..., n:, :] for t in both)).numpy()


def variances(source: KernelProgram | KernautKernel, X: Any) -> np.ndarray:
    """The diagonal of :func:`gram`, ``n``, without the matrix."""
    kernel = as_kernel(source)
    with torch.no_grad():
        return kernel.diagonal(kernel.embed(torch.from_numpy(finite_matrix(X, "X")))).numpy().copy()


def sklearn_kernel(source: KernelProgram | KernautKernel) -> Any:
    """A kernel for ``sklearn.gaussian_process``, with its own parameters frozen.

    Raises:
        InputError: when scikit-learn is not installed.
    """
    try:
        module = import_module("kernaut.kernels.sklearn_kernel")
    except ModuleNotFoundError as error:
        raise InputError(
            f"Expected scikit-learn to be installed. Got: {error}.", hint="Install it with: pip install scikit-learn"
        ) from error
    return module.SklearnKernel(as_kernel(source))


def finite_matrix(values: Any, name: str) -> NDArray[np.float64]:
    """A user's matrix as ``n x d`` numbers; a vector is one column.

    Raises:
        InputError: for anything else, naming what was given.
    """
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"Expected {name} to be a matrix of numbers. Got: {error}.") from error
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or 0 in array.shape or not np.isfinite(array).all():
        raise InputError(f"Expected {name} to be a finite n x d matrix. Got shape {array.shape}.")
    return array
