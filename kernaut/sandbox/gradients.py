"""Child side: pullbacks of torch programs by plain autograd over vmap, and a check that no gradient was lost.

``float(p)``, ``math.sin(p)``, ``p.item()``, ``p.detach()`` and ``torch.tensor([p])`` drop a parameter's gradient without an error.  The
first pullback of a child is therefore compared with one-sided finite differences along one direction in parameter space and, for
per-point callings, one in the points.  A gradient outside what both sides allow is "not differentiable".  The check is made once per
child (programs may branch on parameters later), at parameter values that are no jump; a parameter whose relative influence is under
1e-5 of the values escapes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import torch

from kernaut.sandbox.execution import Caught, Parameters, ProgramError
from kernaut.sandbox.messages import NOT_DIFFERENTIABLE
from kernaut.sandbox.records import Floats
from kernaut.sandbox.torch_execution import TorchProgram, as_floats, parameter_vector

STEP = 1e-6
_RELATIVE = 1e-3
_OF_VALUES = 1e-5
_CHECK_COST = 6.0

_Values = Callable[[torch.Tensor | None, torch.Tensor], tuple[torch.Tensor, ...]]


class Differentiator:
    """Pulls cotangents back through one program.

    Args:
        program: the torch program.
        request_seconds: the request's deadline; the check waits for a request that leaves it time.
    """

    def __init__(self, program: TorchProgram, request_seconds: float) -> None:
        self._program = program
        self._request_seconds = request_seconds
        self._checked = False

    def pullback(
        self,
        points: Floats | None,
        parameters: Parameters,
        cotangents: Sequence[Floats],
        dimension: int,
        want_points: bool,
    ) -> tuple[Floats, ...]:
        """Values and gradients.

        Args:
            points: ``n x d``, ``n`` or None, by calling.
            parameters: the request's parameters.
            cotangents: one array for each value, of its shape.
            dimension: the input dimension, for ``dimension``.
            want_points: whether the gradient in the points is wanted.

        Returns:
            The values, then the gradient in the float parameters (p), then, when wanted, the gradient in the points.

        Raises:
            ProgramError: when the program fails or is not differentiable.
        """
        start = time.monotonic()
        forward = self._forward(parameters, dimension)
        vector = parameter_vector(parameters).requires_grad_()
        x = None if points is None else torch.from_numpy(points).requires_grad_(want_points)
        values = self._values_with_gradient(forward, x, vector)
        weights = [torch.from_numpy(cotangent) for cotangent in cotangents]
        if [value.shape for value in values] != [weight.shape for weight in weights]:
            expected = ", ".join(str(tuple(value.shape)) for value in values)
            got = ", ".join(str(tuple(weight.shape)) for weight in weights)
            raise ProgramError(f"expected cotangents of the values' shapes {expected}; got {got}")
        # A scalar output: with grad_outputs, torch.autograd imports sympy (a second, and files the child cannot open).
        total = torch.stack([(value * weight).sum() for value, weight in zip(values, weights, strict=True)]).sum()
        inputs = [vector] if x is None or not want_points else [vector, x]
        found: Sequence[torch.Tensor | None] = [None] * len(inputs)
        if total.requires_grad:
            found = torch.autograd.grad(total, inputs, allow_unused=True)
        gradients = [torch.zeros_like(i) if g is None else g for i, g in zip(inputs, found, strict=True)]
        if not self._checked and (time.monotonic() - start) * _CHECK_COST < self._request_seconds:
            with torch.no_grad():
                _Check(
                    forward, x, vector, [v.detach() for v in values], weights, gradients, self._program.calling
                ).require(parameters.floats)
            self._checked = True
        return tuple(as_floats(tensor) for tensor in (*values, *gradients))

    def _forward(self, parameters: Parameters, dimension: int) -> _Values:
        def forward(points: torch.Tensor | None, vector: torch.Tensor) -> tuple[torch.Tensor, ...]:
            if self._program.calling == "tree":
                return (self._program.tree(vector, parameters)[1],)
            return self._program.forward(None if points is None else points.clone(), vector, parameters, dimension)

        return forward

    def _values_with_gradient(
        self, forward: _Values, points: torch.Tensor | None, vector: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        """The values; an error that only appears under autograd is "not differentiable"."""
        with Caught() as caught:
            return forward(points, vector)
        assert caught.error is not None
        with torch.no_grad(), Caught() as plain:
            forward(points, vector)
        if plain.error is not None:
            raise plain.error
        raise ProgramError(f"not differentiable: {caught.error}", flags=NOT_DIFFERENTIABLE)


class _Check:
    """Compares gradients with finite differences of ``sum(values * cotangents)``."""

    def __init__(
        self,
        forward: _Values,
        points: torch.Tensor | None,
        vector: torch.Tensor,
        values: Sequence[torch.Tensor],
        weights: Sequence[torch.Tensor],
        gradients: Sequence[torch.Tensor],
        calling: str,
    ) -> None:
        self._forward = forward
        self._points = points
        self._vector = vector
        self._weights = weights
        self._gradients = gradients
        self._by_point = calling in ("point", "coordinate")
        self._here = self._weighted(values)
        self._scale = self._weighted([value.abs() for value in values], absolute=True)

    def require(self, names: Sequence[str]) -> None:
        """Check the parameters, then the points.

        Raises:
            ProgramError: naming the parameters whose gradient is lost.
        """
        if names:
            direction = _direction(self._vector)
            if not self._parameters_agree(direction):
                lost = [
                    name
                    for index, name in enumerate(names)
                    if not self._parameters_agree(direction * torch.eye(len(names), dtype=torch.float64)[index])
                ]
                if lost:
                    raise _lost(f"in the parameter{'s' * (len(lost) > 1)} {', '.join(lost)}")
        if self._by_point and len(self._gradients) > 1 and not self._points_agree():
            raise _lost("in the points")

    def _parameters_agree(self, direction: torch.Tensor) -> bool:
        ahead = self._weighted(self._forward(self._points, self._vector + STEP * direction))
        behind = self._weighted(self._forward(self._points, self._vector - STEP * direction))
        if ahead.shape != self._here.shape or behind.shape != self._here.shape:
            return True
        gradient = (self._gradients[0] * direction).sum()
        return not bool(_outside(gradient, ahead.sum(), self._here.sum(), behind.sum(), self._scale.sum()))

    def _points_agree(self) -> bool:
        assert self._points is not None
        direction = _direction(self._points)
        ahead = self._weighted(self._forward(self._points + STEP * direction, self._vector))
        behind = self._weighted(self._forward(self._points - STEP * direction, self._vector))
        if ahead.shape != self._here.shape or behind.shape != self._here.shape:
            return True
        gradient = (self._gradients[1] * direction).reshape(len(direction), -1).sum(1)
        wrong = _outside(gradient, ahead, self._here, behind, self._scale)
        moved = ((ahead - self._here).abs() > STEP * _OF_VALUES * self._scale) | (gradient != 0)
        return int(wrong.sum()) <= 0.5 * int(moved.sum())

    def _weighted(self, values: Sequence[torch.Tensor], *, absolute: bool = False) -> torch.Tensor:
        """The weighted values, summed for each point (per-point callings) or over all."""
        weights = [weight.abs() for weight in self._weights] if absolute else self._weights
        if any(value.shape != weight.shape for value, weight in zip(values, weights, strict=True)):
            return torch.zeros(0, dtype=torch.float64)
        products = [value * weight for value, weight in zip(values, weights, strict=True)]
        if self._by_point:
            return products[0].sum(1)
        return torch.stack([product.sum() for product in products]).sum().reshape(1)


def _direction(tensor: torch.Tensor) -> torch.Tensor:
    """A fixed direction, every element of another size, relative to the element's own magnitude."""
    index = torch.arange(1, tensor.numel() + 1, dtype=torch.float64)
    signs = torch.where(index % 2 == 0, -1.0, 1.0).to(torch.float64)
    spread = (0.5 + torch.remainder(index * 0.6180339887498949, 1.0)) * signs
    return spread.reshape(tensor.shape) * tensor.detach().abs().clamp(min=0.01)


def _outside(
    gradient: torch.Tensor, ahead: torch.Tensor, here: torch.Tensor, behind: torch.Tensor, scale: torch.Tensor
) -> torch.Tensor:
    """Where a directional derivative lies outside its two one-sided differences (a kink may lie between), all being finite."""
    forward, backward = (ahead - here) / STEP, (here - behind) / STEP
    slack = _RELATIVE * (forward.abs() + backward.abs() + gradient.abs()) + _OF_VALUES * scale
    low, high = torch.minimum(forward, backward) - slack, torch.maximum(forward, backward) + slack
    finite = torch.isfinite(low) & torch.isfinite(high) & torch.isfinite(gradient)
    return finite & ((gradient < low) | (gradient > high))


def _lost(where: str) -> ProgramError:
    return ProgramError(
        f"not differentiable {where}: the value changes and its gradient does not follow. float(), math functions, .item(), .detach() "
        "and torch.tensor([...]) of a parameter drop its gradient; use torch functions and torch.stack",
        flags=NOT_DIFFERENTIABLE,
    )
