from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernaut.export import formulas
from kernaut.kernels.adapters import gram
from kernaut.kernels.library import base_kernel
from kernaut.program.leaves import LEAF_KINDS

PLAIN: dict[str, dict[str, Any]] = {
    "linear": {},
    "rbf": {},
    "matern12": {},
    "matern32": {},
    "matern52": {},
    "rq": {"alpha": 1.7},
    "periodic": {"period": 0.6},
    "cosine": {"period": 0.8},
    "polynomial": {"offset": 0.3, "power": 3},
    "piecewise_polynomial": {"q": 3, "dimension": 5},
    "spectral_mixture": {"weights": [0.4, 0.9], "means": [0.3, 1.1], "scales": [[0.2, 0.3, 0.4], [0.5, 0.1, 0.7]]},
    "rff": {"features": 7, "seed": 5},
}


def test_every_kind_is_here() -> None:
    assert {kind.removeprefix("ard_") for kind in LEAF_KINDS} == set(PLAIN)


@pytest.mark.parametrize("kind", PLAIN)
def test_a_formula_is_the_librarys(kind: str) -> None:
    rng = np.random.default_rng(1)
    x, z = rng.uniform(size=(6, 3)), rng.uniform(size=(4, 3))
    x[2] = z[1]
    if kind == "spectral_mixture":
        PLAIN[kind]["means"] = [[0.3] * 3, [1.1] * 3]
    node = {"kind": kind, "variance": 1.3, "lengthscale": 0.7, **PLAIN[kind]}
    arguments = {"variance": 1.3, "lengthscale": 0.7, **PLAIN[kind]}
    found = getattr(formulas, kind)(x, z, **arguments)
    assert np.allclose(found, gram(base_kernel(node), x, z), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scales", [[0.2, 0.9, 3.0], 0.4, {"mode": "geometric_ramp", "min": 0.2, "max": 2.0}])
def test_lengthscales_of_each_coordinate(scales: Any) -> None:
    x = np.random.default_rng(2).uniform(size=(5, 3))
    expected = gram(base_kernel({"kind": "ard_matern32", "lengthscales": scales}), x)
    assert np.allclose(formulas.matern32(x, x, 1.0, scales), expected, rtol=1e-12, atol=1e-12)


def test_stored_fourier_features() -> None:
    x = np.random.default_rng(3).uniform(size=(5, 2))
    stored = {"omega": [[1.0, -2.0], [0.5, 3.0]], "bias": [0.1, 2.0]}
    expected = gram(base_kernel({"kind": "rff", **stored}), x)
    assert np.allclose(formulas.rff(x, x, 1.0, 1.0, **stored), expected)
