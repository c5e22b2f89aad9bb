"""Stationary leaves: radial kernels, their ARD forms, periodic, cosine and spectral mixture.

References: Rasmussen and Williams (2006), section 4.2 (Matern eq. 4.14 to 4.17, rational quadratic 4.19, piecewise polynomial
4.21, periodic 4.31); Wilson and Adams (2013), eq. 12 (spectral mixture).  Formulas as they stand in
:data:`kernaut.program.leaves.LEAF_KINDS`.
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor

from kernaut.errors import InputError
from kernaut.kernels.form import Embedding, broadcast, column, distance
from kernaut.kernels.leaf_form import LeafForm
from kernaut.kernels.radial import Matern12Profile, Matern32Profile, Matern52Profile, Profile, RBFProfile, correlation


class StationaryForm(LeafForm):
    """Variance times a correlation of the difference of two points."""

    def stationary(self, theta: Tensor) -> bool:
        """Always."""
        return True

    def diagonal(self, a: Embedding, theta: Tensor) -> Tensor:
        """The variance, at every point."""
        return self.spread(self.number(theta, "variance"), a[0])

    def spread(self, value: Tensor, points: Tensor) -> Tensor:
        """One value ``*p`` for every point of ``*b x n x k``, as ``*bp x n``."""
        batch = broadcast(value.shape, points.shape[:-2])
        return value[..., None].expand(*batch, points.shape[-2])


class Radial(StationaryForm):
    """A function of the Euclidean distance of the inputs, each coordinate divided by its lengthscale."""

    profile: ClassVar[type[Profile]]

    def embed(self, x: Tensor, theta: Tensor) -> Embedding:
        """Inputs in lengthscales."""
        return (x / self.lengthscales(theta, x.shape[-1]),)

    def cross(self, a: Embedding, b: Embedding, theta: Tensor) -> Tensor:
        """Variance times the correlation at the distances."""
        return column(self.number(theta, "variance")) * correlation(a[0], b[0], self.profile)

    def lengthscales(self, theta: Tensor, dimension: int) -> Tensor:
        """Lengthscales ``*p x 1 x 1`` or ``*p x 1 x d``.

        Raises:
            InputError: when a list of lengthscales has another length than the points have coordinates.
        """
        if "lengthscale" in self.shapes:
            return column(self.number(theta, "lengthscale"))
        if "ramp" in self.options:
            start, end = (self.number(theta, name).log()[..., None] for name in ("min", "max"))
            steps = torch.linspace(0.0, 1.0, dimension, dtype=theta.dtype, device=theta.device)
            return torch.exp(start + (end - start) * steps)[..., None, :]
        if self.shapes["lengthscales"] == ():
            return column(self.number(theta, "lengthscales"))
        self.require_dimension("lengthscales", self.shapes["lengthscales"][0], dimension)
        return self.number(theta, "lengthscales")[..., None, :]


class RBF(Radial):
    """exp(-r^2/2)."""

    profile = RBFProfile


class Matern12(Radial):
    """exp(-r)."""

    profile = Matern12Profile


class Matern32(Radial):
    """(1 + sqrt(3) r) exp(-sqrt(3) r)."""

    profile = Matern32Profile


class Matern52(Radial):
    """(1 + sqrt(5) r + 5 r^2/3) exp(-sqrt(5) r)."""

    profile = Matern52Profile


class RationalQuadratic(StationaryForm):
    """(1 + r^2/(2 alpha))^-alpha."""

    def embed(self, x: Tensor, theta: Tensor) -> Embedding:
        """Inputs in lengthscales."""
        return (x / column(self.number(theta, "lengthscale")),)

    def cross(self, a: Embedding, b: Embedding, theta: Tensor) -> Tensor:
        """Variance times the correlation at the distances."""
        alpha = column(self.number(theta, "alpha"))
        decay = torch.log1p(distance(a[0], b[0]).square() / (2.0 * alpha))
        return column(self.number(theta, "variance")) * torch.exp(-alpha * decay)


class PiecewisePolynomial(StationaryForm):
    """Wendland's polynomial of smoothness q, zero beyond r = 1.

    Positive semi-definite only up to the dimension it was made for: the option ``dimension``, or that of the points.
    """

    def embed(self, x: Tensor, theta: Tensor) -> Embedding:
        """Inputs in lengthscales.

        Raises:
            InputError: beyond the dimension up to which the polynomial is valid.
        """
        limit = self.options.get("dimension", x.shape[-1])
        if x.shape[-1] > limit:
            raise InputError(f"Expected points of at most {limit} coordinates, as declared. Got {x.shape[-1]}.")
        return (x / column(self.number(theta, "lengthscale")),)

    def cross(self, a: Embedding, b: Embedding, theta: Tensor) -> Tensor:
        """Variance times the polynomial."""
        r = distance(a[0], b[0])
        q = self.options["q"]
        j = self.options.get("dimension", a[0].shape[-1]) // 2 + q + 1
        if q == 0:
            shape = torch.ones_like(r)
        elif q == 1:
            shape = 1.0 + (j + 1) * r
        elif q == 2:
            shape = 1.0 + (j + 2) * r + (j**2 + 4 * j + 3) / 3.0 * r**2
        else:
            cubic = (j**3 + 9 * j**2 + 23 * j + 15) / 15.0 * r**3
            shape = 1.0 + (j + 3) * r + (6 * j**2 + 36 * j + 45) / 15.0 * r**2 + cubic
        return column(self.number(theta, "variance")) * (1.0 - r).clamp_min(0.0) ** (j + q) * shape


class Periodic(StationaryForm):
    """prod_i exp(-2 sin^2(pi (x_i - z_i)/period)/lengthscale^2).

    Since 4 sin^2(t/2) is the squared distance of the angles' points on the unit circle, this is an RBF kernel on circles, one a
    coordinate.
    """

    def embed(self, x: Tensor, theta: Tensor) -> Embedding:
        """Points on circles, in lengthscales: ``2 d`` columns."""
        angle = x * (2.0 * math.pi / column(self.number(theta, "period")))
        circle = torch.cat([torch.cos(angle), torch.sin(angle)], dim=-1)
        return (circle / column(self.number(theta, "lengthscale")),)

    def cross(self, a: Embedding, b: Embedding, theta: Tensor) -> Tensor:
        """An RBF of chord lengths."""
        return column(self.number(theta, "variance")) * correlation(a[0], b[0], RBFProfile)


class Cosine(StationaryForm):
    """prod_i cos(pi (x_i - z_i)/(period lengthscale)).

    GPyTorch's cosine of the Euclidean distance is indefinite beyond one dimension; a product over coordinates is valid in any
    and agrees with it in one.
    """

    def embed(self, x: Tensor, theta: Tensor) -> Embedding:
        """Cosines and sines of the angles, ``2 d`` columns."""
        unit = column(self.number(theta, "period") * self.number(theta, "lengthscale"))
        angle = x * (math.pi / unit)
        return (torch.cat([torch.cos(angle), torch.sin(angle)], dim=-1),)

    def cross(self, a: Embedding, b: Embedding, theta: Tensor) -> Tensor:
        """Products of cosines of differences."""
        return column(self.number(theta, "variance")) * _cosine_product(a[0], b[0])


class SpectralMixture(StationaryForm):
    """sum_q weight_q prod_i exp(-2 pi^2 scale_qi^2 t_i^2) cos(2 pi mean_qi t_i), t = (x - z)/lengthscale.

    Means and scales are Q x d, or Q numbers that hold for every coordinate.
    """

    def embed(self, x: Tensor, theta: Tensor) -> Embedding:
        """Scaled inputs (``Q d`` columns) and cosines and sines of the angles (``2 Q d`` columns)."""
        t = (x / column(self.number(theta, "lengthscale"))).unsqueeze(-2)
        means, scales = (self._components(theta, name, x.shape[-1]) for name in ("means", "scales"))
        angle = t * (2.0 * math.pi * means)
        scaled = t * (2.0 * math.pi * scales)
        return scaled.flatten(-2), torch.cat([torch.cos(angle), torch.sin(angle)], dim=-1).flatten(-2)

    def arity(self, theta: Tensor) -> int:
        """Scaled inputs, and angles."""
        return 2

    def cross(self, a: Embedding, b: Embedding, theta: Tensor) -> Tensor:
        """The weighted sum of the components."""
        weights = self.number(theta, "weights")
        left, right = ([self._split(tensor) for tensor in side] for side in (a, b))
        decay = correlation(left[0], right[0], RBFProfile)
        parts = decay * _cosine_product(left[1], right[1])
        return column(self.number(theta, "variance")) * (weights[..., None, None] * parts).sum(-3)

    def diagonal(self, a: Embedding, theta: Tensor) -> Tensor:
        """The variance times the sum of the weights."""
        return self.spread(self.number(theta, "variance") * self.number(theta, "weights").sum(-1), a[0])

    def _components(self, theta: Tensor, name: str, dimension: int) -> Tensor:
        """``*p x 1 x Q x d`` (or ``x 1``) means or scales."""
        shape = self.shapes[name]
        if len(shape) == 1:
            return self.number(theta, name)[..., None, :, None]
        self.require_dimension(name, shape[1], dimension)
        return self.number(theta, name)[..., None, :, :]

    def _split(self, columns: Tensor) -> Tensor:
        """``*b x n x (Q k)`` to ``*b x Q x n x k``."""
        return columns.unflatten(-1, (self.shapes["weights"][0], -1)).transpose(-3, -2)


def _cosine_product(a: Tensor, b: Tensor) -> Tensor:
    """prod_i cos(angle difference) from ``[cos, sin]`` columns, ``... x n x 2d`` and ``... x m x 2d``."""
    dimension = a.shape[-1] // 2
    result: Tensor | None = None
    for i in range(dimension):
        cosines = a[..., :, None, i] * b[..., None, :, i]
        sines = a[..., :, None, dimension + i] * b[..., None, :, dimension + i]
        result = cosines + sines if result is None else result * (cosines + sines)
    if result is None:
        raise InputError("Expected points of at least one coordinate. Got none.")
    return result
