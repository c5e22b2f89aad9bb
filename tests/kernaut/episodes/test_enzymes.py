from __future__ import annotations

import math
import os

import numpy as np
import pytest

from kernaut.episodes import rate_laws
from kernaut.episodes.enzymes import INPUTS, SEEN, UNSEEN, EnzymeKinetics, draw_experiments, encode
from kernaut.errors import InputError
from kernaut.evaluation.outcome import mean_crps
from kernaut.evaluation.scoring import score_predictive
from kernaut.kernels.library import base_kernel

ENZYMES = EnzymeKinetics()
ROOT = os.environ.get("KERNAUT_CHEMBENCH_ROOT")


def test_draws_are_in_the_protocols_order() -> None:
    rng = np.random.default_rng(5)
    first = [
        math.exp(rng.uniform(math.log(0.01), math.log(100))),
        rng.uniform(0, 50),
        math.exp(rng.uniform(math.log(0.01), math.log(100))),
        rng.uniform(0, 20),
        math.exp(rng.uniform(math.log(0.01), math.log(10))),
        rng.uniform(278, 368),
        rng.uniform(4, 10),
    ]
    second = math.exp(rng.uniform(math.log(0.01), math.log(100)))
    points = draw_experiments(np.random.default_rng(5), 2)
    np.testing.assert_allclose(points[0], first, rtol=1e-14)
    assert points[1, 0] == pytest.approx(second, rel=1e-14)


def test_encoding_maps_ends_to_0_and_1() -> None:
    ends = np.array([[c.lower for c in INPUTS], [c.upper for c in INPUTS]])
    np.testing.assert_allclose(encode(ends), [[0.0] * 7, [1.0] * 7], atol=1e-15)
    middle = np.array([[1.0, 25.0, 1.0, 10.0, math.sqrt(0.1), 323.0, 7.0]])
    np.testing.assert_allclose(encode(middle), [[0.5] * 7], rtol=1e-14)


def test_episodes_standardize_by_the_protocols_rule() -> None:
    for index, episode in enumerate(ENZYMES.episodes("train", 4)):
        points = draw_experiments(np.random.default_rng(episode.seed), 40)
        np.testing.assert_array_equal(episode.fit_inputs, encode(points)[:20])
        assert episode.tags["version"] == ("v0", "v1", "v2", "v0")[index % 4]
        rates = episode.fit_targets * episode.target_scale + episode.target_mean
        assert episode.target_scale == pytest.approx(max(rates.std(), 0.1 * abs(rates.mean()), 1e-6))
    assert ENZYMES.families("validation") == SEEN
    assert ENZYMES.families("test") == UNSEEN


def test_the_embedded_oracle_is_plainly_named() -> None:
    assert ENZYMES.options()["oracle"] == "kernaut-embedded"
    assert "not ChemBench's" in str(ENZYMES.warning)
    assert all(episode.name.startswith("embedded:") for episode in ENZYMES.episodes("train", 1))
    assert ENZYMES.digest() != EnzymeKinetics(difficulty="hard").digest()


def test_sizes_are_options() -> None:
    small = EnzymeKinetics(train_points=7, test_points=3).episodes("test", 1)[0]
    assert (len(small.fit_targets), len(small.query_targets)) == (7, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"difficulty": "brutal"}, "a difficulty of easy, medium, hard"),
        ({"noise_level": -0.1}, "a noise level from 0 to 1"),
        ({"train_points": 0}, "1 to 1000 fitting points"),
        ({"test_points": True}, "1 to 1000 test points"),
        ({"chembench_root": "/nowhere"}, "Expected a checkout of github.com"),
    ],
)
def test_options_out_of_range(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        EnzymeKinetics(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("rate", [np.inf, np.nan, 1e200])
def test_a_rate_that_is_not_finite_is_an_error(monkeypatch: pytest.MonkeyPatch, rate: float) -> None:
    monkeypatch.setattr(
        rate_laws.EmbeddedOracle, "measure", lambda self, points: np.where(np.arange(len(points)) == 3, rate, 1.0)
    )
    with pytest.raises(InputError, match=r"Expected finite rates from the oracle of c0_michaelis_menten v0. Got .* at"):
        ENZYMES.episodes("train", 1)


if ROOT is not None:

    def test_published_values_with_the_external_oracle() -> None:
        """Runs where KERNAUT_CHEMBENCH_ROOT names a checkout of LLM-AutoSciLab."""
        external = EnzymeKinetics(chembench_root=ROOT)
        kernel = base_kernel({"kind": "matern52", "lengthscale": 1.0})
        expected = {("train", 1): 0.6349, ("validation", 2): 0.7013, ("test", 15): 0.7215}
        for (split, count), value in expected.items():
            assert round(mean_crps(score_predictive(kernel, external.episodes(split, count))), 4) == value
