"""The log marginal likelihood of one data set as a differentiable function of kernel parameters, amplitude and noise.

Dense Cholesky, exact and deterministic; for up to a few thousand points.  (GPyTorch's own objective turns stochastic above 800 points unless told otherwise, and
offers no gradient in a frozen kernel's parameters.)

Shapes: ``n`` points of dimension ``d``.  Reference: Rasmussen and Williams (2006), equation 2.30.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from kernaut.fitting.embedding import EmbeddedKernel


def log_marginal(kernel: EmbeddedKernel, inputs: Tensor, targets: Tensor, amplitude: Tensor, noise: Tensor) -> Tensor:
    """Log marginal likelihood of ``y = f + e``, ``f ~ GP(0, a k)``, ``e ~ N(0, s)`` [nats].

    Args:
        kernel: any kernel that embeds.
        inputs: ``n x d``.
        targets: ``n``.
        amplitude: scalar signal variance a.
        noise: scalar noise variance s.

    Returns:
        A scalar with gradients; -inf without gradient where the matrix is not positive definite.
    """
    embedding = kernel.embed(inputs)
    gram = kernel.cross(embedding, embedding)
    count = targets.shape[-1]
    matrix = amplitude * 0.5 * (gram + gram.mT) + noise * torch.eye(count, dtype=gram.dtype)
    factor, broken = torch.linalg.cholesky_ex(matrix)
    if bool(broken) or not bool(torch.isfinite(factor).all()):
        return torch.tensor(-torch.inf, dtype=gram.dtype)
    solved = torch.linalg.solve_triangular(factor, targets[:, None], upper=False)
    return -0.5 * (solved.square().sum() + 2.0 * factor.diagonal().log().sum() + count * math.log(2.0 * math.pi))
