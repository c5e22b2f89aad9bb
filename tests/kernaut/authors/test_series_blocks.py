"""Blocks of records in time against the processes that they stand for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kernaut.authors.series_blocks import SERIES_BLOCKS

Features = Callable[..., np.ndarray]
TIMES = [0.11, 0.34, 0.62, 0.97]


def covariances(features: Features, name: str, **values: float) -> np.ndarray:
    found = np.array([features(name, [time], **values) for time in TIMES])
    return found @ found.T


def integrals(of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """``int_0^1 g(t - c) g(s - c) dc`` of a response g that is 0 before 0, on a fine grid."""
    knots = (np.arange(20_000) + 0.5) / 20_000
    responses = np.array([np.where(time > knots, of(np.maximum(time - knots, 0.0)), 0.0) for time in TIMES])
    return np.asarray(responses @ responses.T / len(knots))


@pytest.mark.parametrize(
    ("name", "values", "response"),
    [
        ("wandering_slope", {}, lambda u: u),
        ("wandering_curvature", {}, lambda u: u**2),
        ("damped_slope", {"damping": 2.0}, lambda u: (1 - np.exp(-2.0 * u)) / 2.0),
    ],
)
def test_knots_stand_for_an_integrated_process(
    name: str, values: dict[str, float], response: Callable[[np.ndarray], np.ndarray], features: Features
) -> None:
    expected = 1.5**2 * integrals(response)
    np.testing.assert_allclose(covariances(features, name, weight=1.5, **values), expected, rtol=0.02, atol=1e-4)


def test_an_integrated_wiener_process_in_closed_form(features: Features) -> None:
    s, t = np.minimum.outer(TIMES, TIMES), np.maximum.outer(TIMES, TIMES)
    np.testing.assert_allclose(covariances(features, "wandering_slope", weight=1.0), s**2 * (3 * t - s) / 6, atol=1e-4)


def test_a_gentle_slope_is_an_integrated_process_whose_bends_are_rounded(features: Features) -> None:
    knots = (np.arange(20_000) + 0.5) / 20_000 * 1.4 - 0.2
    since = np.subtract.outer(TIMES, knots)
    expected = {r: r * np.logaddexp(0.0, since / r) if r > 0.01 else np.maximum(since, 0.0) for r in (0.004, 0.03)}
    for rounding, ramps in expected.items():
        np.testing.assert_allclose(
            covariances(features, "gentle_slope", weight=1.5, rounding=rounding),
            1.5**2 * 1.4 * ramps @ ramps.T / len(knots),
            rtol=5e-3,
        )


def test_a_bank_of_periods_has_a_power_law_spectrum(features: Features) -> None:
    lags = np.subtract.outer(TIMES, TIMES)
    frequencies = np.geomspace(0.125, 9.0, 32)
    waves = [f ** (1.0 - 2.0 * 1.6) * np.cos(2 * np.pi * f * lags) * np.log(72.0) / 16.0 for f in frequencies]
    found = covariances(features, "period_bank", weight=0.7, decay=1.6, fastest=9.0)
    np.testing.assert_allclose(found, 0.7**2 * np.sum(waves, axis=0), rtol=1e-9)


def test_level_and_line(features: Features) -> None:
    np.testing.assert_allclose(features("level_trend", [0.8], weight=2.0, slope=3.0), [2.0, 3.0 * 0.3 * np.sqrt(12)])


@pytest.mark.parametrize(("name", "lowest", "step"), [("annual_band", 22.0, 0.75), ("half_year_band", 44.0, 1.5)])
def test_a_year_is_a_band_of_frequencies(name: str, lowest: float, step: float, features: Features) -> None:
    lags = np.subtract.outer(TIMES, TIMES)
    waves = [np.cos(2 * np.pi * (lowest + step * k) * lags) for k in range(44)]
    np.testing.assert_allclose(covariances(features, name, weight=0.7), 0.49 * np.mean(waves, axis=0), atol=1e-10)


@pytest.mark.parametrize("name", [name for name, block in SERIES_BLOCKS.items() if not block.leaf])
def test_coordinates_are_taken_one_by_one_and_clamped(name: str, features: Features) -> None:
    one, other = features(name, [0.3]), features(name, [0.9])
    both = features(name, [0.3, 0.9])
    np.testing.assert_allclose(both @ both, (one @ one + other @ other) / 2, rtol=1e-10)
    np.testing.assert_array_equal(features(name, [1.7]), features(name, [1.5]))
