from __future__ import annotations

from dataclasses import replace

import pytest

from kernaut.episodes.glucose import GlucoseForecasts
from kernaut.evaluation.normalized import normalized
from kernaut.evaluation.report import normalized_error
from kernaut.evaluation.scoring import score_predictive
from kernaut.kernels.library import base_kernel
from kernaut.scoring.nmse import geometric_over_families


def test_errors_are_in_squared_units_over_the_tagged_variance() -> None:
    episode = replace(GlucoseForecasts().episodes("train", 1)[0], tags={"nmse_variance": 50.0}, target_scale=20.0)
    assert normalized(episode, 0.5) == {"nmse": pytest.approx(2.0)}
    assert normalized(replace(episode, tags={"nmse_variance": 0.1}), 0.5) == {"nmse": pytest.approx(100.0)}
    assert normalized(replace(episode, tags={}), 0.5) == {}


def test_reports_take_the_geometric_mean_over_patients() -> None:
    outcomes = score_predictive(
        base_kernel({"kind": "rbf", "lengthscale": 0.5}), GlucoseForecasts().episodes("train", 1)
    )
    by_patient = {o.family: [(o.scores or {})["nmse"]] for o in outcomes}
    assert normalized_error(outcomes) == pytest.approx(geometric_over_families(by_patient))
