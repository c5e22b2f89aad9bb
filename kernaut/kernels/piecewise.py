"""A function of a number >= 0 that is a polynomial between evenly spaced knots, with gradients in the numbers and the coefficients.

f(t) = sum_k c_mk s^k where m is the knot nearest to t and s = t/width - m; beyond the last knot, s is held at 1.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def piecewise(lags: Tensor, coefficients: Tensor, width: float) -> Tensor:
    """Values at some lags.

    Args:
        lags: any shape, >= 0.
        coefficients: ``k x m``, one column a knot.
        width: of a step between knots.

    Returns:
        As ``lags``; not differentiable twice.
    """
    return _Piecewise.apply(lags, coefficients, width)


class _Piecewise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, lags: Tensor, coefficients: Tensor, width: float) -> Tensor:
        ctx.width = width
        ctx.save_for_backward(lags, coefficients)
        flat, knots = lags.reshape(-1), coefficients.contiguous()
        place, s = _placed(flat, knots.shape[1], width)
        value = knots[-1].take(place)
        for row in reversed(knots[:-1]):
            value.mul_(s).add_(row.take(place))
        return value.reshape(lags.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor | None, ...]:
        lags, coefficients = ctx.saved_tensors
        given = cotangents[0].reshape(-1)
        place, s = _placed(lags.reshape(-1), coefficients.shape[1], ctx.width)
        at_lags = at_knots = None
        if ctx.needs_input_grad[0]:
            slope = torch.zeros_like(s)
            for power in range(len(coefficients) - 1, 0, -1):
                slope.mul_(s).add_(coefficients[power].contiguous().take(place), alpha=power)
            at_lags = (given * slope / ctx.width).reshape(lags.shape)
        if ctx.needs_input_grad[1]:
            weight, at_knots = given.clone(), torch.zeros_like(coefficients)
            for row in at_knots:
                row.scatter_add_(0, place, weight)
                weight.mul_(s)
        return at_lags, at_knots, None


def _placed(lags: Tensor, knots: int, width: float) -> tuple[Tensor, Tensor]:
    """The nearest knot of each lag, and how far from it the lag is, in steps."""
    steps = lags / width
    nearest = steps.round().clamp(max=knots - 1)
    return nearest.nan_to_num(0.0).long(), (steps - nearest).clamp(max=1.0)
