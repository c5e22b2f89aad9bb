"""The stationary covariance of a stable linear system, with gradients: F P + P F^T + Q = 0 (Lyapunov's equation).

Solved by Bartels and Stewart's method (1972, as SciPy has it).  With G the cotangent of P and S the solution of F^T S + S F + G = 0, the
cotangent of Q is S and that of F is 2 S P.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from scipy.linalg import solve_continuous_lyapunov
from torch import Tensor
from torch.autograd.function import once_differentiable

from kernaut.errors import SandboxFailure


def lyapunov(feedback: Tensor, diffusion: Tensor) -> Tensor:
    """P of F P + P F^T + Q = 0.

    Args:
        feedback: F, ``s x s``, its eigenvalues left of the imaginary axis.
        diffusion: Q, ``s x s``, symmetric.

    Returns:
        ``s x s``, symmetric; gradients flow to both, once.

    Raises:
        SandboxFailure: where the equation is too ill-conditioned to be solved.
    """
    return _Lyapunov.apply(feedback, diffusion)


class _Lyapunov(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, feedback: Tensor, diffusion: Tensor) -> Tensor:
        covariance = _solved(feedback, diffusion)
        ctx.save_for_backward(feedback, covariance)
        return covariance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor, Tensor]:
        feedback, covariance = ctx.saved_tensors
        adjoint = _solved(feedback.mT, 0.5 * (cotangents[0] + cotangents[0].mT))
        return 2.0 * adjoint @ covariance, adjoint


def _solved(feedback: Tensor, right: Tensor) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = solve_continuous_lyapunov(feedback.numpy(), -right.numpy())
        except (Warning, ValueError, np.linalg.LinAlgError) as error:
            raise SandboxFailure(
                "failed", f"Expected a stable F that Lyapunov's equation can be solved for. Got: {error}."
            ) from error
    if not np.isfinite(found).all():
        raise SandboxFailure("failed", "Expected F and L with a finite stationary covariance. Got one that is not.")
    return torch.from_numpy(np.ascontiguousarray(0.5 * (found + found.T)))
