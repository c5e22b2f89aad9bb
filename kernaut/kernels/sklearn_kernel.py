"""A scikit-learn kernel around a Kernaut kernel; import it through :func:`kernaut.kernels.adapters.sklearn_kernel`.

Scikit-learn fits amplitude and noise around it (``ConstantKernel() * k + WhiteKernel()``); the kernel's own parameters are
frozen, so that it has no hyperparameters of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from kernaut.kernels.adapters import gram, variances
from kernaut.kernels.kernel import KernautKernel
from kernaut.program.base_node import Base


class SklearnKernel(Kernel):
    """k(X, Y) of a kernel, which copies and pickles with it.

    Args:
        kernel: the kernel.
    """

    def __init__(self, kernel: KernautKernel) -> None:
        self.kernel = kernel

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Covariances ``n x m``; with ``eval_gradient`` also the gradient in no hyperparameters, ``n x n x 0``."""
        matrix = gram(self.kernel, X, Y)
        return (matrix, np.empty((*matrix.shape, 0))) if eval_gradient else matrix

    def diag(self, X: Any) -> np.ndarray:
        """Variances ``n``."""
        return variances(self.kernel, X)

    def is_stationary(self) -> bool:
        """Whether it depends on differences alone."""
        return self.kernel.stationary

    def __repr__(self) -> str:
        identity = self.kernel.identity
        return f"SklearnKernel({identity.kind if isinstance(identity, Base) else identity.name})"
