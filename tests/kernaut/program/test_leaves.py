"""Declarations of the library's leaves."""

from __future__ import annotations

from kernaut.program.leaves import LEAF_KINDS

PUBLISHED = (
    "linear",
    "rbf",
    "matern12",
    "matern32",
    "matern52",
    "rq",
    "periodic",
    "spectral_mixture",
    "rff",
    "ard_rbf",
    "ard_matern32",
    "ard_matern52",
)


def test_the_published_kinds_are_there() -> None:
    assert set(PUBLISHED) <= set(LEAF_KINDS)
    assert all(leaf.name == name for name, leaf in LEAF_KINDS.items())


def test_every_kind_takes_variance_and_lengthscale_of_one_by_default() -> None:
    for leaf in LEAF_KINDS.values():
        defaults = {number.name: number.default for number in leaf.numbers}
        assert defaults["variance"] == 1.0
        assert leaf.ard or defaults["lengthscale"] == 1.0
        assert {"op", "kind", "variance", "lengthscale"} <= set(leaf.keys)
        assert ("lengthscales" in leaf.keys) == leaf.ard
