"""Construction contracts: what a program's source defines, and what trusted code makes of it.

Each contract names one module-level function.  The names are the published ones, so that candidate files travel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kernaut.errors import ProgramRefused

Calling = Literal["point", "coordinate", "dimension", "tree", "matrix"]


@dataclass(frozen=True)
class Contract:
    """One way to write a kernel component.

    Args:
        name: the contract's published name.
        entry_point: the function the source must define.
        arguments: its exact argument names.
        calling: ``point`` (one input point, d), ``coordinate`` (one coordinate's value), ``dimension`` (the input dimension),
            ``tree`` (parameters alone; answers nested lists of numbers) or ``matrix`` (all points, n x d).
        residual: whether the component is added to a trusted base kernel with weight ``residual_weight**2``.
        acceptable: whether a program of this contract can reach tier T2.
        meaning: one sentence on the kernel that trusted code assembles.
    """

    name: str
    entry_point: str
    arguments: tuple[str, ...]
    calling: Calling
    residual: bool
    acceptable: bool
    meaning: str


CONTRACTS: dict[str, Contract] = {
    contract.name: contract
    for contract in (
        Contract(
            "feature_map",
            "feature_point",
            ("x", "parameters"),
            "point",
            False,
            True,
            "k(x, z) = phi(x) . phi(z) for the feature vector phi.",
        ),
        Contract(
            "additive_feature_map",
            "coordinate_feature",
            ("value", "parameters"),
            "coordinate",
            False,
            True,
            "k(x, z) = mean over coordinates i of phi(x_i) . phi(z_i).",
        ),
        Contract(
            "spectral",
            "spectral_components",
            ("input_dimension", "parameters"),
            "dimension",
            False,
            True,
            "k(x, z) = (1/m) sum_j raw_j^2 cos(omega_j . (x - z)), frequencies in radians a unit.",
        ),
        Contract(
            "input_transform",
            "transform_point",
            ("x", "parameters"),
            "point",
            False,
            True,
            "k(x, z) = base(T(x), T(z)) for the trusted base_kernel.",
        ),
        Contract(
            "residual_feature_map",
            "feature_point",
            ("x", "parameters"),
            "point",
            True,
            True,
            "k(x, z) = base(x, z) + residual_weight^2 phi(x) . phi(z).",
        ),
        Contract(
            "residual_input_transform",
            "transform_point",
            ("x", "parameters"),
            "point",
            True,
            True,
            "k(x, z) = base(x, z) + residual_weight^2 residual_base(T(x), T(z)).",
        ),
        Contract(
            "closure",
            "closure_tree",
            ("parameters",),
            "tree",
            False,
            True,
            "sum, product, scale and pullback of library kernels and accepted programs.",
        ),
        Contract(
            "state_space",
            "state_space_matrices",
            ("parameters",),
            "tree",
            False,
            True,
            "the covariance of H s at two places, where ds = F s dt + L dw is stable; a product over coordinates, or one coordinate.",
        ),
        Contract(
            "coregionalized",
            "coregionalization",
            ("parameters",),
            "tree",
            False,
            True,
            "k((x, i), (z, j)) = W_ij k(x, z), W = L L^T + diagonal over tasks, k a closure tree over the other columns.",
        ),
        Contract(
            "unverified",
            "kernel_matrix",
            ("x", "parameters"),
            "matrix",
            False,
            False,
            "the program's own matrix; diagnostics only, never accepted.",
        ),
    )
}


def contract_named(name: object) -> Contract:
    """Look a contract up.

    Raises:
        ProgramRefused: for an unknown name, listing the legal ones.
    """
    if not isinstance(name, str) or name not in CONTRACTS:
        raise ProgramRefused(f"Expected a contract of {', '.join(CONTRACTS)}. Got {name!r}.")
    return CONTRACTS[name]
