"""State-space programs: the stationary covariance of a linear stochastic differential equation (contract ``state_space``).

Along one coordinate (``coordinate`` in the parameters), k(x, z) = k_1(|x_c - z_c|); without it, a product over all d coordinates,
k(x, z) = k_1(0) prod_i k_1(|x_i - z_i|)/k_1(0).  The mathematics of k_1 stands in :mod:`kernaut.kernels.linear_sde`.
"""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor

from kernaut.errors import InputError
from kernaut.kernels.form import Embedding, Form, broadcast, rows_of
from kernaut.kernels.linear_sde import LinearSDE
from kernaut.program.linear_system import LinearSystem

KEPT = 16
"""Systems of other parameter rows that are remembered."""


class StateSpaceForm(Form):
    """A linear system whose matrices are the parameters, laid out as :meth:`LinearSystem.numbers`.

    Args:
        system: gives the shapes.
        coordinate: the column it runs along, negative from the end; None for a product over all columns.
    """

    def __init__(self, system: LinearSystem, coordinate: int | None) -> None:
        self.states = system.states
        self.size = len(system.numbers())
        self.coordinate = coordinate
        self._kept: OrderedDict[bytes, LinearSDE] = OrderedDict()

    def embed(self, x: Tensor, theta: Tensor) -> Embedding:
        """The points' coordinates, or the one that counts.

        Raises:
            InputError: when the points have no such coordinate.
        """
        if self.coordinate is None:
            return (x,)
        if not -x.shape[-1] <= self.coordinate < x.shape[-1]:
            raise InputError(
                f"Expected points with the coordinate {self.coordinate} that the program names. Got {x.shape[-1]} coordinates."
            )
        place = self.coordinate % x.shape[-1]
        return (x[..., place : place + 1],)

    def cross(self, a: Embedding, b: Embedding, theta: Tensor) -> Tensor:
        """The product over coordinates; its gradient at coincident points, where there may be a kink, is 0."""
        batch = broadcast(a[0].shape[:-2], b[0].shape[:-2], theta.shape[:-1])
        if not a[0].shape[-1]:
            variances = self._variances(theta)[..., None, None]
            return variances.expand(*batch, a[0].shape[-2], b[0].shape[-2])
        if theta.dim() == 1:
            return self._product(self.system(theta), a[0], b[0])
        left, right = (side[0].expand(*batch, *side[0].shape[-2:]).flatten(0, -3) for side in (a, b))
        rows = rows_of(theta)
        label = torch.arange(len(rows)).reshape(theta.shape[:-1]).expand(batch).reshape(-1)
        groups = [torch.nonzero(label == index)[:, 0] for index in range(len(rows))]
        found = [self._product(self.system(row), left[own], right[own]) for row, own in zip(rows, groups, strict=True)]
        order = torch.argsort(torch.cat(groups))
        return torch.cat(found)[order].reshape(*batch, left.shape[-2], right.shape[-2])

    def diagonal(self, a: Embedding, theta: Tensor) -> Tensor:
        """The variance, at every point."""
        batch = broadcast(theta.shape[:-1], a[0].shape[:-2])
        return self._variances(theta)[..., None].expand(*batch, a[0].shape[-2])

    def stationary(self, theta: Tensor) -> bool:
        """Always."""
        return True

    def _product(self, system: LinearSDE, a: Tensor, b: Tensor) -> Tensor:
        """Covariances ``... x n x m`` of coordinates ``... x n x c`` and ``... x m x c``."""
        result: Tensor | None = None
        for place in range(a.shape[-1]):
            found = system.covariance((a[..., :, None, place] - b[..., None, :, place]).abs())
            result = found if result is None else result * (found / system.variance.to(found.device))
        assert result is not None
        return result

    def _variances(self, theta: Tensor) -> Tensor:
        found = [self.system(row).variance for row in rows_of(theta)]
        return torch.stack(found).reshape(theta.shape[:-1]).to(theta.device)

    def system(self, row: Tensor) -> LinearSDE:
        """The system at one row of parameters, ``size``.

        Raises:
            SandboxFailure: when it is not stable, or observes nothing.
        """
        if torch.is_grad_enabled() and row.requires_grad:
            return self._made(row)
        stamp = row.detach().cpu().numpy().tobytes()
        if stamp not in self._kept:
            with torch.no_grad():
                self._kept[stamp] = self._made(row.detach())
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return self._kept[stamp]

    def _made(self, row: Tensor) -> LinearSDE:
        s = self.states
        feedback, noise, observation = row.cpu().split([s * s, len(row) - s * s - s, s])
        return LinearSDE(feedback.reshape(s, s), noise.reshape(s, -1), observation)

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"_kept": OrderedDict()}


class StateSpaceAssembly:
    """Makes forms of linear systems."""

    def __init__(self, coordinate: int | None) -> None:
        self.coordinate = coordinate

    def __call__(self, system: LinearSystem) -> Form:
        """The form of a system."""
        return StateSpaceForm(system, self.coordinate)
