"""The kernel library: leaves by name, as forms and as GPyTorch kernels.

Formulas, parameters and legal ranges stand in :data:`kernaut.program.leaves.LEAF_KINDS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from kernaut.kernels.dot_product import Linear, Polynomial, RandomFourierFeatures
from kernaut.kernels.kernel import KernautKernel
from kernaut.kernels.leaf_form import LeafForm
from kernaut.kernels.stationary import (
    RBF,
    Cosine,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    PiecewisePolynomial,
    RationalQuadratic,
    SpectralMixture,
)
from kernaut.program.base_node import Base, base_node

LEAF_FORMS: dict[str, type[LeafForm]] = {
    "linear": Linear,
    "rbf": RBF,
    "matern12": Matern12,
    "matern32": Matern32,
    "matern52": Matern52,
    "rq": RationalQuadratic,
    "periodic": Periodic,
    "cosine": Cosine,
    "polynomial": Polynomial,
    "piecewise_polynomial": PiecewisePolynomial,
    "spectral_mixture": SpectralMixture,
    "rff": RandomFourierFeatures,
    "ard_rbf": RBF,
    "ard_matern32": Matern32,
    "ard_matern52": Matern52,
}


def leaf_form(base: Base) -> LeafForm:
    """The form of a checked base node."""
    return LEAF_FORMS[base.kind](base)


def base_kernel(
    record: Any, *, batch_shape: torch.Size | None = None, active_dims: Sequence[int] | None = None
) -> KernautKernel:
    """The kernel of a base node such as ``{"kind": "rbf", "lengthscale": 0.5}``.

    Args:
        record: the node, as in candidate files.
        batch_shape: one kernel for each element.
        active_dims: the input columns to use.

    Raises:
        ProgramRefused: for an unknown kind, key or value, naming the legal ones.
    """
    base = base_node(record)
    names = [name for array in base.arrays for name in array.names()]
    return KernautKernel(leaf_form(base), names, base.numbers(), base, batch_shape=batch_shape, active_dims=active_dims)


def leaf(
    kind: str, *, batch_shape: torch.Size | None = None, active_dims: Sequence[int] | None = None, **parameters: Any
) -> KernautKernel:
    """A library leaf by keyword: ``leaf("matern52", lengthscale=0.5)``.

    Raises:
        ProgramRefused: for an unknown kind, parameter or value, naming the legal ones.
    """
    return base_kernel({"kind": kind, **parameters}, batch_shape=batch_shape, active_dims=active_dims)
