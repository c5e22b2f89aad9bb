from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from kernaut.episodes.episode import Episode
from kernaut.evaluation.decomposition import Decomposition
from kernaut.evaluation.forecast import Forecast
from kernaut.report.forecasts import calibration_chart, forecast_chart, parts_chart, residual_chart

EPISODE = Episode(
    name="co2:seed-1",
    benchmark="greenhouse",
    split="train",
    family="co2",
    seed=1,
    fit_inputs=np.array([[0.1], [0.2], [0.3]]),
    fit_targets=np.array([-1.0, 0.5, 0.5]),
    query_inputs=np.array([[0.5], [0.4]]),
    query_targets=np.array([2.0, 1.0]),
    target_mean=300.0,
    target_scale=10.0,
    tags={"unit": "ppm"},
)
FORECAST = Forecast(EPISODE, np.array([1.8, 1.1]), np.array([0.4, 0.2]), 1.0, 0.01)


def values(spec: Any) -> list[dict[str, Any]]:
    """All data rows of a specification, wherever they stand."""
    if isinstance(spec, dict):
        own = spec["values"] if isinstance(spec.get("values"), list) else []
        rows = [row for row in own if isinstance(row, dict)]
        return rows + [row for key, part in spec.items() if key != "values" for row in values(part)]
    return [row for part in spec for row in values(part)] if isinstance(spec, list) else []


def test_a_forecast_is_drawn_in_the_records_units_with_its_band() -> None:
    picture = forecast_chart(FORECAST)
    rows = values(picture.spec)
    band = {row["x"]: row for row in rows if "low" in row}
    assert sorted(band) == [0.4, 0.5]
    assert band[0.5]["mean"] == pytest.approx(318.0)
    assert band[0.5]["low"] == pytest.approx(318.0 - 1.959964 * 4.0)
    assert band[0.4]["high"] == pytest.approx(311.0 + 1.959964 * 2.0)
    assert band[0.4]["y"] == pytest.approx(310.0)
    assert {(row["x"], row["y"]) for row in rows if row["kind"] == "observed"} == {
        (0.1, 290.0),
        (0.2, 305.0),
        (0.3, 305.0),
    }
    assert "95 % band, in ppm" in picture.alt


def test_context_is_what_was_observed_of_the_episode_itself() -> None:
    held = Episode(
        **{
            **{name: getattr(EPISODE, name) for name in EPISODE.__dataclass_fields__},
            "context_inputs": [[0.35]],
            "context_targets": [0.9],
        }
    )
    rows = values(forecast_chart(Forecast(held, FORECAST.mean, FORECAST.sd, 1.0, 0.01), unit="mg/dL").spec)
    assert {(row["x"], row["y"]) for row in rows if row["kind"] == "observed"} == {(0.35, 309.0)}


def test_contributions_stand_apart_in_units() -> None:
    means = np.array([[0.1, 0.2, 0.3, 0.5, 0.4], [1.0, -1.0, 0.0, 0.7, 0.6]])
    picture = parts_chart(Decomposition(EPISODE, ("smooth 1", "rough 2"), means))
    rows = values(picture.spec)
    assert [row["y"] for row in rows if row["part"] == "smooth 1"] == pytest.approx([1.0, 2.0, 3.0, 4.0, 5.0])
    assert [row["x"] for row in rows if row["part"] == "rough 2"] == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert "2 summands" in picture.alt


def test_calibration_counts_every_query_once() -> None:
    rows = [row for row in values(calibration_chart([FORECAST, FORECAST]).spec) if "share" in row]
    assert sum(row["share"] for row in rows) == pytest.approx(1.0)
    for residual in (0.5, -0.5):
        (bar,) = [row for row in rows if row["low"] <= ndtr(residual) < row["high"]]
        assert bar["share"] == pytest.approx(0.5)


def test_residuals_are_in_predictive_deviations_and_clipped() -> None:
    far = Forecast(EPISODE, np.array([1.8, -9.0]), np.array([0.4, 0.2]), 1.0, 0.01)
    rows = [row for row in values(residual_chart([far]).spec) if "residual" in row]
    assert [row["residual"] for row in rows] == pytest.approx([0.5, 8.0])
    assert [(row["query"], row["family"]) for row in rows] == [(0, "co2"), (1, "co2")]
