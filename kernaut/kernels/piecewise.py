"""A function of a number >= 0 that is a polynomial between evenly spaced knots, with gradients in the numbers and the coefficients.

f(t) = sum_k c_mk s^k where m is the knot nearest to t and s = t/width - m; beyond the last knot, s is held at 1.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

CHUNK = 2**14


def piecewise(lags: Tensor, coefficients: Tensor, width: float) -> Tensor:
    """Values at some lags.

    Args:
        lags: any shape, >= 0, no NaN.
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
        rows = list(coefficients.contiguous())
        result = torch.empty_like(lags, memory_format=torch.contiguous_format)
        for own, into in _chunks(lags.reshape(-1), result.view(-1)):
            _horner(rows, *_placed(own, len(rows[0]), width), into)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *cotangents: Tensor) -> tuple[Tensor | None, ...]:
        lags, coefficients = ctx.saved_tensors
        orders, knots = coefficients.shape
        flat, given = lags.reshape(-1), cotangents[0].reshape(-1)
        at_lags = torch.empty_like(flat) if ctx.needs_input_grad[0] else None
        at_knots = torch.zeros_like(coefficients) if ctx.needs_input_grad[1] else None
        powers = torch.arange(1, orders, dtype=flat.dtype, device=flat.device)[:, None]
        slopes = list((coefficients[1:] * powers / ctx.width).contiguous())
        for start, (own, cotangent) in zip(range(0, len(flat), CHUNK), _chunks(flat, given), strict=True):
            place, s = _placed(own, knots, ctx.width)
            if at_lags is not None:
                into = at_lags[start : start + len(own)]
                _horner(slopes, place, s, into)
                into.mul_(cotangent)
            if at_knots is not None:
                weight = cotangent.clone()
                for row in at_knots:
                    row.scatter_add_(0, place, weight)
                    weight.mul_(s)
        return None if at_lags is None else at_lags.reshape(lags.shape), at_knots, None


def _chunks(first: Tensor, second: Tensor) -> zip[tuple[Tensor, Tensor]]:
    """Corresponding pieces of two vectors, small enough for a processor's cache."""
    return zip(first.split(CHUNK), second.split(CHUNK), strict=True)


def _horner(rows: list[Tensor], place: Tensor, s: Tensor, into: Tensor) -> None:
    """Write sum_k rows[k][place] s^k."""
    own = torch.empty_like(s)
    torch.index_select(rows[-1], 0, place, out=into)
    for row in reversed(rows[:-1]):
        into.mul_(s).add_(torch.index_select(row, 0, place, out=own))


def _placed(lags: Tensor, knots: int, width: float) -> tuple[Tensor, Tensor]:
    """The nearest knot of each lag, and how far from it the lag is, in steps."""
    steps = lags / width
    nearest = steps.round().clamp_(max=knots - 1)
    return nearest.long(), steps.sub_(nearest).clamp_(max=1.0)
