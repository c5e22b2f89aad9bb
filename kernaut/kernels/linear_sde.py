"""The covariance function of a stable linear stochastic differential equation, at many lags at once.

For ds = F s dt + L dw, f = H s and P the stationary covariance of s: k(t) = H exp(F t) P H^T, t >= 0 (Hartikainen and Sarkka, 2010,
section 2; Solin and Sarkka, 2014, section 2).  Any F, L, H with F stable give a covariance, by construction.

The state is first brought to coordinates in which its covariance, under a trace of further noise, is the identity.  There F + F^T <= 0, so
that exp(F t) never grows, whatever the state was written in; defective matrices, such as Matern's, need no case of their own.  Then k and its
derivatives are had at knots 1/|F| apart from powers of one matrix exponential, and Taylor's series of 16 terms serves the lags around each:
its remainder is below 2^-16/16! = 7e-19.  The cost of a matrix of lags does not depend on the number of states.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy.linalg import matrix_balance
from torch import Tensor

from kernaut.errors import SandboxFailure
from kernaut.kernels.lyapunov import lyapunov
from kernaut.kernels.piecewise import piecewise

TERMS = 16
MAX_KNOTS = 2**18
MARGIN = 1e-10
"""How far left of the imaginary axis eigenvalues must lie, in units of the largest one."""
TRACES = (1e-12, 1e-10, 1e-8, 1e-6)
"""Further noise in every state, in units of the mean of L L^T; the first one that makes the covariance positive definite."""
GONE = 1e-20
"""Norm of exp(F t) from which on covariances are 0."""


class LinearSDE:
    """A system in coordinates in which it cannot grow.

    Args:
        feedback: F, ``s x s``.
        noise: L, ``s x w``.
        observation: H, ``s``.

    Attributes:
        variance: k(0), a number.
        feedback: F in the new coordinates.
        left: H in the new coordinates, ``s``.
        right: P H^T in the new coordinates, ``s``.
        width: of a step between knots.

    Raises:
        SandboxFailure: unless F is stable, and the observed variance positive and finite.
    """

    def __init__(self, feedback: Tensor, noise: Tensor, observation: Tensor) -> None:
        scales, root = _coordinates(feedback.detach().numpy(), noise.detach().numpy())
        scaled = feedback * (scales / scales[:, None])
        self.feedback = torch.linalg.solve_triangular(root, scaled @ root, upper=False)
        diffusion = torch.linalg.solve_triangular(root, noise / scales[:, None], upper=False)
        self.left = (observation * scales) @ root
        self.right = lyapunov(self.feedback, diffusion @ diffusion.mT) @ self.left
        self.variance = self.left @ self.right
        variance = float(self.variance.detach())
        if not 0.0 < variance < math.inf:
            raise SandboxFailure(
                "failed",
                f"Expected noise that reaches what is observed. Got a variance of {variance:g}.",
                hint="L must not vanish, and H must see a state that it drives.",
            )
        self.width = 1.0 / float(torch.linalg.matrix_norm(self.feedback.detach(), 2))
        self._knots: Tensor | None = None
        self._reach = 0.0

    def covariance(self, lags: Tensor) -> Tensor:
        """Covariances at lags of any shape, >= 0.

        Raises:
            SandboxFailure: where the system is too fast for the largest lag.
        """
        largest = float(lags.detach().amax()) if lags.numel() else 0.0
        if math.isnan(largest):
            return torch.where(lags.isnan(), lags, self.covariance(lags.nan_to_num(0.0, posinf=math.inf)))
        return piecewise(lags, self.knots(largest).to(lags.device), self.width)

    def knots(self, largest: float) -> Tensor:
        """Coefficients ``16 x m`` of k around knots that reach to the largest lag, or to where nothing is left.

        Raises:
            SandboxFailure: where more than 2^18 would be needed.
        """
        needed = largest / self.width
        if self._knots is not None and needed <= self._reach:
            return self._knots
        power = torch.linalg.matrix_exp(self.feedback * self.width)
        rows, gone = self.left[None], False
        while len(rows) <= needed + 1.0 and not gone:
            if len(rows) >= MAX_KNOTS:
                raise SandboxFailure(
                    "failed",
                    f"Expected the largest difference of points times the fastest rate to be at most {MAX_KNOTS}. Got {needed:.3g}.",
                    hint="Keep fast and slow states closer together, or bring the inputs to another unit.",
                )
            rows = torch.cat([rows, rows @ power])
            power = power @ power
            gone = float(power.detach().abs().amax()) < GONE
        column, columns = self.right, []
        for order in range(TERMS):
            columns.append(column)
            column = self.feedback @ column * (self.width / (order + 1))
        found = torch.stack(columns) @ rows.mT
        if gone:
            found = torch.cat([found, found.new_zeros(TERMS, 1)], dim=1)
        if not found.requires_grad:
            self._knots, self._reach = found, math.inf if gone else len(rows) - 1.0
        return found


def _coordinates(feedback: np.ndarray, noise: np.ndarray) -> tuple[Tensor, Tensor]:
    """Scales ``s`` and a lower triangle C: in the coordinates diag(scales) C the covariance, under further noise, is the identity."""
    balanced, (scales, _) = matrix_balance(feedback, permute=False, separate=True)
    eigenvalues = np.linalg.eigvals(balanced)
    slowest, size = float(eigenvalues.real.max()), float(np.abs(eigenvalues).max())
    if -MARGIN * size <= slowest < 0.0:
        raise SandboxFailure(
            "failed",
            f"Expected eigenvalues of F within a factor of {1 / MARGIN:.0e} of each other. Got a real part of {slowest:.3g} beside a modulus of {size:.3g}.",
            hint="Write slow and fast parts as programs of their own, or measure inputs in another unit.",
        )
    if not slowest < 0.0:
        raise SandboxFailure(
            "failed",
            f"Expected a stable F, whose eigenvalues have negative real parts. Got one of {slowest:.3g} (the largest modulus is {size:.3g}).",
            hint="Write rates and dampings as squares or exponentials, so that no parameter makes them negative.",
        )
    own = noise / scales[:, None]
    diffusion = own @ own.T
    typical = float(np.trace(diffusion)) / len(diffusion)
    if not 0.0 < typical < math.inf:
        raise SandboxFailure("failed", f"Expected an L that does not vanish. Got a mean square of {typical:g}.")
    for trace in TRACES:
        driven = torch.from_numpy(diffusion + trace * typical * np.eye(len(diffusion)))
        covariance = lyapunov(torch.from_numpy(balanced), driven)
        spread = covariance.diagonal().clamp_min(0.0).sqrt()
        root, failed = torch.linalg.cholesky_ex(covariance / (spread * spread[:, None]))
        if not failed and bool(torch.isfinite(root).all()):
            return torch.from_numpy(scales) * spread, root
    raise SandboxFailure(
        "failed", "Expected F and L with a positive definite stationary covariance. Got one that is not."
    )
