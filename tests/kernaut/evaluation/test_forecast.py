from __future__ import annotations

import numpy as np
import pytest

from kernaut.episodes.registry import benchmark_named
from kernaut.errors import FitError
from kernaut.evaluation.forecast import forecast
from kernaut.evaluation.scoring import score_predictive
from kernaut.kernels.library import base_kernel
from kernaut.scoring.predictive import predictive_scores

KERNEL = base_kernel({"kind": "matern52", "lengthscale": 0.6})


@pytest.mark.parametrize("name", ["bbo", "greenhouse", "enzymes", "glucose"])
def test_forecasts_are_what_is_scored(name: str) -> None:
    episode = benchmark_named(name).episodes("train", 1, tuning=True)[0]
    found = forecast(KERNEL, episode)
    (outcome,) = score_predictive(KERNEL, [episode])
    scores = predictive_scores(found.mean[None], found.sd[None], episode.query_targets[None])
    assert float(scores["crps"][0]) == pytest.approx((outcome.scores or {})["crps"], rel=1e-7)
    assert (found.amplitude, found.noise) == ((outcome.fit or {})["amplitude"], (outcome.fit or {})["noise"])


def test_units_residuals_and_calibration() -> None:
    episode = benchmark_named("enzymes").episodes("train", 1)[0]
    found = forecast(KERNEL, episode)
    mean, sd, truth = found.in_units()
    np.testing.assert_allclose(found.residuals(), (truth - mean) / sd, rtol=1e-9)
    assert ((found.pit() > 0.5) == (truth > mean)).all()


def test_an_episode_that_cannot_be_fitted_raises() -> None:
    class Negative:
        def embed(self, x):  # type: ignore[no-untyped-def]
            return (x,)

        def cross(self, a, b):  # type: ignore[no-untyped-def]
            return -KERNEL.cross(KERNEL.embed(a[0]), KERNEL.embed(b[0]))

        def diagonal(self, a):  # type: ignore[no-untyped-def]
            return KERNEL.diagonal(KERNEL.embed(a[0]))

    for name in ("bbo", "glucose"):
        with pytest.raises(FitError, match="Expected an episode that can be fitted"):
            forecast(Negative(), benchmark_named(name).episodes("train", 1, tuning=True)[0])
