from __future__ import annotations

import numpy as np
import pytest

from kernaut.episodes.enzymes import SEEN, UNSEEN, draw_experiments
from kernaut.episodes.rate_laws import MECHANISMS, EmbeddedOracle, Experiment, constants
from kernaut.errors import InputError


def experiment(**changed: float) -> Experiment:
    values = {"a": 3.0, "i": 2.0, "b": 1.5, "p": 0.7, "e": 0.8, "t": 320.0, "ph": 6.5} | changed
    return Experiment(**{name: np.array([value]) for name, value in values.items()})


def rate(domain: str, **changed: float) -> float:
    return float(MECHANISMS[domain].law(experiment(**changed), constants(domain, "v0", "easy"))[0])


def test_the_mechanisms_are_the_protocols() -> None:
    assert tuple(MECHANISMS) == (*SEEN, *UNSEEN)


@pytest.mark.parametrize("domain", list(MECHANISMS))
def test_rates_are_proportional_to_the_loading_and_differ_between_versions(domain: str) -> None:
    assert rate(domain, e=1.6) == pytest.approx(2.0 * rate(domain, e=0.8))
    points = draw_experiments(np.random.default_rng(3), 4)
    made = [
        EmbeddedOracle(domain, difficulty=d, noise=0.0, version=v, seed=1).measure(points)
        for v, d in (("v0", "easy"), ("v1", "easy"), ("v2", "easy"), ("v0", "medium"), ("v0", "hard"))
    ]
    assert all(np.isfinite(rates).all() for rates in made)
    assert len({rates.tobytes() for rates in made}) == 5


def test_known_values_by_hand() -> None:
    assert rate("c0_michaelis_menten") == pytest.approx(0.8 * 6 * 3 / 4.5)
    assert rate("c1_competitive_inhibition") == pytest.approx(0.8 * 6 * 3 / (2.5 * (1 + 2 / 1.2) + 3))
    assert rate("c6_uncompetitive_inhibition") == pytest.approx(0.8 * 6 * 3 / (1.8 + 3 * (1 + 2 / 2)))
    assert rate("c7_substrate_inhibition") == pytest.approx(0.8 * 8 * 3 / (1.6 + 3 + 9 / 12))
    assert rate("c5_pingpong_bisubstrate") == pytest.approx(0.8 * 6 * 3 * 1.5 / (3 * 3 + 2 * 1.5 + 4.5))
    assert rate("c3_arrhenius_temperature", t=310.0) == pytest.approx(0.8 * 4 * 3 / 4.5)


def test_limits_that_define_the_mechanisms() -> None:
    high = 1e9
    assert rate("c1_competitive_inhibition", a=high) == pytest.approx(rate("c1_competitive_inhibition", a=high, i=0.0))
    ratio = rate("c9_noncompetitive_inhibition") / rate("c9_noncompetitive_inhibition", i=0.0)
    assert ratio == pytest.approx(1 / (1 + 2 / 3))
    assert rate("c73_metal_activation", b=1e-12) < 1e-9
    assert rate("c67_allosteric_act", b=1e-12) > 0.1
    assert rate("c66_reversible_mm", a=1e-9, p=20.0) < 0.0
    optimum = rate("c4_ph_activity", ph=7.0)
    assert optimum > max(rate("c4_ph_activity", ph=4.0), rate("c4_ph_activity", ph=10.0))


def test_noise_is_the_episodes_own() -> None:
    points = draw_experiments(np.random.default_rng(3), 2000)
    make = {"difficulty": "easy", "version": "v0"}
    clean = EmbeddedOracle("c8_hill_cooperativity", noise=0.0, seed=7, **make).measure(points)
    one = EmbeddedOracle("c8_hill_cooperativity", noise=0.02, seed=7, **make).measure(points)
    again = EmbeddedOracle("c8_hill_cooperativity", noise=0.02, seed=7, **make).measure(points)
    other = EmbeddedOracle("c8_hill_cooperativity", noise=0.02, seed=8, **make).measure(points)
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)
    assert (one / clean - 1.0).std() == pytest.approx(0.02, rel=0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("c99_magic", "v0", "easy"), "Expected a mechanism of c0_michaelis_menten, .* Got 'c99_magic'"),
        (("c0_michaelis_menten", "v3", "easy"), "a law version of v0, v1, v2. Got 'v3'"),
        (("c0_michaelis_menten", "v0", "brutal"), "a difficulty of easy, medium, hard. Got 'brutal'"),
    ],
)
def test_unknown_names_list_the_legal_ones(arguments: tuple[str, str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        constants(*arguments)
