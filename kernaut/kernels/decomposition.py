"""The summands of a kernel: k = k_1 + ... + k_m, each a kernel of its own, so that a posterior mean can be told apart.

Sums, scaled kernels, the two residual contracts, closures that are sums, and feature maps that join the features of several functions are taken apart; any other kernel
is its own only summand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from kernaut.kernels.algebra import ScaleForm, SumForm
from kernaut.kernels.closure import TreeForm
from kernaut.kernels.component import Component
from kernaut.kernels.feature_map import FeatureMap
from kernaut.kernels.form import Embedding, Form
from kernaut.kernels.kernel import KernautKernel
from kernaut.kernels.residual import Residual
from kernaut.program.joined_features import joined_features


@dataclass(frozen=True, eq=False)
class Summand:
    """One summand at fixed parameters; it embeds like any kernel.

    Args:
        name: for people.
        form: its mathematics.
        theta: its parameters.
        scale: what its covariances are multiplied by.
        own: whether the form was made for this summand, whose children end with it; otherwise they are the kernel's.
    """

    name: str
    form: Form
    theta: Tensor
    scale: float = 1.0
    own: bool = False

    def embed(self, x: Tensor) -> Embedding:
        """``... x n x d`` points to everything the summand needs of them."""
        return self.form.embed(x, self.theta)

    def cross(self, a: Embedding, b: Embedding) -> Tensor:
        """Covariances of embedded points."""
        return self.scale * self.form.cross(a, b, self.theta)

    def diagonal(self, a: Embedding) -> Tensor:
        """Variances of embedded points."""
        return self.scale * self.form.diagonal(a, self.theta)

    def close(self) -> None:
        """End the child processes that were started for this summand alone."""
        if self.own:
            self.form.close()


def summands(kernel: KernautKernel) -> tuple[Summand, ...]:
    """The summands of a kernel without batch; their covariances add up to the kernel's.

    Raises:
        SandboxFailure: when a closure's program gives no tree.
    """
    return tuple(_apart(kernel.form, kernel.theta().detach(), "kernel", 1.0))


def _apart(form: Form, theta: Tensor, name: str, scale: float) -> list[Summand]:
    if isinstance(form, TreeForm):
        inner, own = form.resolved(theta)
        return _apart(inner, own, name, scale)
    if isinstance(form, SumForm):
        found = []
        for place, (child, own) in enumerate(form.slices(theta), start=1):
            found += _apart(child, own, f"{_label(child)} {place}", scale)
        return found
    if isinstance(form, ScaleForm):
        return _apart(form.child, theta[form.own :], name, scale * float(theta[0]))
    if isinstance(form, Residual):
        base, component = form.split(theta)
        weight = float(form.weight_of(theta)) ** 2
        return [
            Summand("base", form.base, base, scale),
            *_apart(form.component, component, "component", scale * weight),
        ]
    if isinstance(form, FeatureMap):
        return _features_apart(form, theta, scale) or [Summand(name, form, theta, scale)]
    return [Summand(name, form, theta, scale)]


def _features_apart(form: FeatureMap, theta: Tensor, scale: float) -> list[Summand]:
    """A feature map of joined features as one map for each function; nothing where its source is written otherwise."""
    program = form.component.program
    return [
        Summand(
            name, FeatureMap(Component(replace(program, source=source), form.component.names)), theta, scale, own=True
        )
        for name, source in joined_features(program.source, program.rules.entry_point)
    ]


def _label(form: Form) -> str:
    """A word for a form, from its class: ``FeatureMap`` to ``feature map``."""
    text = type(form).__name__.removesuffix("Form")
    return "".join(f" {c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(text))
