"""Blocks of rate laws against the laws, written out with plain numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from kernaut.authors.enzyme_blocks import ENZYME_BLOCKS

Features = Callable[..., np.ndarray]
POINT = [0.6, 0.14, 0.35, 0.45, 0.8, 0.3, 0.55]
A, HINDER, B, P = 0.01 * 1e4**0.6, 7.0, 0.01 * 1e4**0.35, 9.0
E, T, H = 0.01 * 1e3**0.8 / 1.45, 305.0, 7.3
SHAPES = [A / (k + A) / 2 for k in (0.1, 0.5, 2.5, 12.0, 60.0)]
SHAPES += [0.2 * A**2 / (k**2 + A**2) for k in (0.5, 2.5, 12.0)]
SHAPES += [0.25 * A / (1 + A + A**2 / k) for k in (6.0, 30.0)]
LAWS = {
    "loaded_saturation": SHAPES,
    "hindered_saturation": [r / (1 + HINDER / k) for r in SHAPES for k in (0.3, 1.5, 8.0)],
    "competitive_saturation": [
        A / (k * (1 + rival) + A) / 2
        for k in (0.2, 0.8, 3.0, 12.0)
        for rival in (HINDER / 4, HINDER / 0.7, P / 4, P / 0.7)
    ],
    "uncompetitive_saturation": [A / (k + A * (1 + HINDER / c)) / 2 for k in (0.2, 0.8, 3.0, 12.0) for c in (6.0, 1.0)],
    "partnered_saturation": [r * B / (k + B) for r in SHAPES for k in (0.15, 1.0, 7.0)],
    "exchanged_pair": [
        A * B / (A * B + k * B + c * A) / 2 for k in (0.2, 1.0, 5.0, 25.0) for c in (0.2, 1.0, 5.0, 25.0)
    ],
    "power_saturation": [A**0.6 / (A**0.6 + k**0.6) for k in (0.2, 0.8, 3.0, 12.0)],
    "acid_bell": [
        r / (1 + 10 ** (low - H) + 10 ** (H - high))
        for r in SHAPES
        for low, high in ((5.0, 8.0), (6.0, 9.0), (5.0, 7.0), (6.5, 9.5), (5.5, 8.5))
    ],
    "thermal_saturation": [
        r * math.exp(-energy * 1000 / 8.314 * (1 / T - 1 / 355)) for r in SHAPES for energy in (22.5, 45.0)
    ],
}


@pytest.mark.parametrize("name", LAWS)
def test_a_block_is_its_law_times_the_loading(name: str, features: Features) -> None:
    found = features(name, POINT, weight=1.7)
    np.testing.assert_allclose(found, 1.7 * E * np.array(LAWS[name]), rtol=1e-10)


def test_product_inhibition_and_the_backward_rate(features: Features) -> None:
    ladder = (0.3, 1.5, 8.0)
    forward = [r / (1 + P / k) for r in SHAPES for k in ladder]
    backward = [0.5 * (P / k) / (1 + P / k + A / c) for k in ladder for c in ladder]
    np.testing.assert_allclose(features("product_saturation", POINT, weight=1.0), E * np.array(forward + backward))


def test_inputs_are_clamped_and_missing_ones_stand_in_the_middle(features: Features) -> None:
    for name, block in ENZYME_BLOCKS.items():
        if block.source and not block.leaf:
            np.testing.assert_array_equal(features(name, [-0.3, *POINT[1:]]), features(name, [0.0, *POINT[1:]]))
            np.testing.assert_array_equal(features(name, POINT[:3]), features(name, [*POINT[:3], 0.5, 0.5, 0.5, 0.5]))
