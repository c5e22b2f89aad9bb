"""Residual contracts: k(x, z) = base(x, z) + residual_weight^2 component(x, z).

The component is a feature map (``residual_feature_map``) or a trusted base on transformed points
(``residual_input_transform``).  The trusted base stays whatever the program answers, and the sum of valid kernels is valid.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from kernaut.kernels.form import Embedding, Form, broadcast, column


class Residual(Form):
    """A trusted base plus a weighted component.

    Args:
        base: the trusted base kernel, a library leaf.
        component: the form that the program adds.
        names: the program's float parameters, which come first in ``theta``; then the base's numbers, then whatever else the
            component takes.
        weight: the residual weight, used unless ``residual_weight`` is among the names.
    """

    def __init__(self, base: Form, component: Form, names: tuple[str, ...], weight: float) -> None:
        self.base = base
        self.component = component
        self.count = len(names)
        self.place = names.index("residual_weight") if "residual_weight" in names else None
        self.weight = weight
        self.size = base.size + component.size

    def embed(self, x: Tensor, theta: Tensor) -> Embedding:
        """The base's embedding, then the component's."""
        base, component = self.split(theta)
        return (*self.base.embed(x, base), *self.component.embed(x, component))

    def cross(self, a: Embedding, b: Embedding, theta: Tensor) -> Tensor:
        """The weighted sum of covariances."""
        base, component = self.split(theta)
        cut = self.base.arity(base)
        added = self.component.cross(a[cut:], b[cut:], component)
        return self.base.cross(a[:cut], b[:cut], base) + column(self.weight_of(theta).square()) * added

    def diagonal(self, a: Embedding, theta: Tensor) -> Tensor:
        """The weighted sum of variances."""
        base, component = self.split(theta)
        cut = self.base.arity(base)
        added = self.component.diagonal(a[cut:], component)
        return self.base.diagonal(a[:cut], base) + self.weight_of(theta).square()[..., None] * added

    def features(self, x: Tensor, theta: Tensor) -> Tensor:
        """The base's features beside the component's."""
        base, component = self.split(theta)
        parts = [self.base.features(x, base)]
        parts.append(column(self.weight_of(theta)) * self.component.features(x, component))
        batch = broadcast(*(part.shape[:-1] for part in parts))
        return torch.cat([part.expand(*batch, part.shape[-1]) for part in parts], dim=-1)

    def arity(self, theta: Tensor) -> int:
        """The base's and the component's."""
        base, component = self.split(theta)
        return self.base.arity(base) + self.component.arity(component)

    def low_rank(self, theta: Tensor) -> bool:
        """Whether base and component are."""
        base, component = self.split(theta)
        return self.base.low_rank(base) and self.component.low_rank(component)

    def parts(self) -> Iterator[Form]:
        """The base and the component."""
        yield from (self.base, self.component)

    def split(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """Parameters of the base, and of the component."""
        own = theta[..., : self.count]
        end = self.count + self.base.size
        base, rest = theta[..., self.count : end], theta[..., end:]
        return base, torch.cat([own, rest], dim=-1) if rest.shape[-1] else own

    def weight_of(self, theta: Tensor) -> Tensor:
        """The residual weight, before it is squared."""
        return theta.new_tensor(self.weight) if self.place is None else theta[..., self.place]
