"""Correlations as functions of distance, with gradients in the points that cost two matrix products.

For K_ij = g(|a_i - b_j|) and a cotangent C, let W_ij = C_ij g'(r_ij)/r_ij; then the gradient in a_i is
sum_j W_ij (a_i - b_j) = (W 1)_i a_i - (W b)_i, and likewise in b_j.  This is several times faster than differentiating through
the distances, which tuning by gradient spends most of its time on.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from kernaut.kernels.form import broadcast, distance

SQRT3 = math.sqrt(3.0)
SQRT5 = math.sqrt(5.0)


class Profile(ABC):
    """A correlation g(r) of distances r, with g(0) = 1 and no parameters; tensors of any one shape."""

    @staticmethod
    @abstractmethod
    def value(r: Tensor) -> Tensor:
        """g(r)."""

    @staticmethod
    @abstractmethod
    def slope(r: Tensor, value: Tensor) -> Tensor:
        """g'(r)/r, given g(r)."""


class RBFProfile(Profile):
    """exp(-r^2/2)."""

    @staticmethod
    def value(r: Tensor) -> Tensor:
        """g(r)."""
        return r.square().mul_(-0.5).exp_()

    @staticmethod
    def slope(r: Tensor, value: Tensor) -> Tensor:
        """-g."""
        return -value


class Matern12Profile(Profile):
    """exp(-r)."""

    @staticmethod
    def value(r: Tensor) -> Tensor:
        """g(r)."""
        return r.neg().exp_()

    @staticmethod
    def slope(r: Tensor, value: Tensor) -> Tensor:
        """-g/r, and 0 at coincident points, where there is a kink."""
        return -value / torch.where(r == 0.0, torch.inf, r)


class Matern32Profile(Profile):
    """(1 + s) exp(-s), s = sqrt(3) r."""

    @staticmethod
    def value(r: Tensor) -> Tensor:
        """g(r)."""
        s = r * SQRT3
        return s.neg().exp_().mul_(s.add_(1.0))

    @staticmethod
    def slope(r: Tensor, value: Tensor) -> Tensor:
        """-3 exp(-s)."""
        return value.mul(-3.0).div_((r * SQRT3).add_(1.0))


class Matern52Profile(Profile):
    """(1 + s + s^2/3) exp(-s), s = sqrt(5) r."""

    @staticmethod
    def value(r: Tensor) -> Tensor:
        """g(r)."""
        s = r * SQRT5
        decay = s.neg().exp_()
        return s.square().div_(3.0).add_(s).add_(1.0).mul_(decay)

    @staticmethod
    def slope(r: Tensor, value: Tensor) -> Tensor:
        """-5/3 (1 + s) exp(-s)."""
        s = r * SQRT5
        polynomial = s.square().div_(3.0).add_(s).add_(1.0)
        return s.add_(1.0).mul_(-5.0 / 3.0).mul_(value).div_(polynomial)


def correlation(a: Tensor, b: Tensor, profile: type[Profile]) -> Tensor:
    """Correlations ``*b x n x m`` of scaled points ``*b x n x k`` and ``*b x m x k``."""
    if torch.is_grad_enabled() and (a.requires_grad or b.requires_grad):
        batch = broadcast(a.shape[:-2], b.shape[:-2])
        return _Correlation.apply(a.expand(*batch, *a.shape[-2:]), b.expand(*batch, *b.shape[-2:]), profile)
    return profile.value(distance(a, b))


class _Correlation(torch.autograd.Function):
    """Correlations with the gradient above; not differentiable twice."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, profile: type[Profile]) -> Tensor:
        r = distance(a, b)
        value = profile.value(r)
        ctx.profile = profile
        ctx.save_for_backward(a, b, r, value)
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor | None, ...]:
        a, b, r, value = ctx.saved_tensors
        weight = ctx.profile.slope(r, value).mul_(cotangents[0])
        at_a = at_b = None
        if ctx.needs_input_grad[0]:
            at_a = weight.sum(-1, keepdim=True) * a - weight @ b
        if ctx.needs_input_grad[1]:
            at_b = weight.sum(-2)[..., None] * b - weight.mT @ a
        return at_a, at_b, None
