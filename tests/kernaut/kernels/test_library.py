"""Leaves by name."""

from __future__ import annotations

import pytest

from kernaut.errors import ProgramRefused
from kernaut.kernels.library import LEAF_FORMS, base_kernel, leaf
from kernaut.program.leaves import LEAF_KINDS


def test_every_declared_kind_has_a_form() -> None:
    assert set(LEAF_FORMS) == set(LEAF_KINDS)


def test_every_number_of_a_leaf_can_be_tuned_under_its_name() -> None:
    kernel = leaf("spectral_mixture", weights=[0.4, 0.9], means=[[0.3, 0.2], [1.1, 0.7]], scales=[0.2, 0.5])
    assert kernel.parameter_names[:4] == ("variance", "lengthscale", "weights[0]", "weights[1]")
    assert kernel.parameter_names[4:] == (
        "means[0][0]",
        "means[0][1]",
        "means[1][0]",
        "means[1][1]",
        "scales[0]",
        "scales[1]",
    )
    assert kernel.values.tolist() == [1.0, 1.0, 0.4, 0.9, 0.3, 0.2, 1.1, 0.7, 0.2, 0.5]
    ramp = base_kernel({"kind": "ard_rbf", "lengthscales": {"mode": "geometric_ramp", "min": 0.25, "max": 4}})
    assert dict(zip(ramp.parameter_names, ramp.values.tolist(), strict=True)) == {
        "variance": 1.0,
        "min": 0.25,
        "max": 4.0,
    }


def test_an_unknown_leaf_is_refused_with_the_legal_ones() -> None:
    with pytest.raises(
        ProgramRefused, match=r"Expected base_kernel\.kind of linear, rbf, .*ard_matern52\. Got 'matern'"
    ):
        leaf("matern")
