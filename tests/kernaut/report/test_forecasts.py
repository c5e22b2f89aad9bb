from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from kernaut.episodes.enzymes import EnzymeKinetics
from kernaut.episodes.episode import Episode
from kernaut.episodes.glucose import GlucoseForecasts
from kernaut.episodes.greenhouse import GreenhouseGases
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
    rows = [row for row in values(picture.spec) if "part" in row]
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


def marks(spec: Any) -> set[str]:
    return {layer["mark"]["type"] for layer in spec["layer"]}


def guess(episode: Episode) -> Forecast:
    return Forecast(episode, np.zeros(len(episode.query_targets)), np.ones(len(episode.query_targets)), 1.0, 0.01)


def test_both_kinds_of_points_share_one_legend() -> None:
    encoding = forecast_chart(FORECAST).spec["layer"][-1]["encoding"]  # type: ignore[index]
    assert encoding["color"]["scale"]["domain"] == encoding["shape"]["scale"]["domain"] == ["observed", "held out"]


def test_a_gas_is_drawn_against_the_calendar_whatever_its_direction() -> None:
    gases = GreenhouseGases()
    found = {str(e.tags["direction"]): e for e in gases.episodes("train", 6) if e.family == "n2o"}
    record = gases.record("n2o")
    for direction, episode in found.items():
        picture = forecast_chart(guess(episode), gases)
        rows = values(picture.spec)
        seen = sorted(row["x"] for row in rows if row["kind"] == "observed")
        later = sorted(row["x"] for row in rows if "low" in row)
        year, month = (int(part) for part in str(episode.tags["first"]).split("-"))
        assert seen[0] == pytest.approx(year + (month - 0.5) / 12)
        assert len(seen) == round((seen[-1] - seen[0]) * 12) + 1 == episode.tags["months"]
        assert (later[0] > seen[-1]) is (direction == "forward")
        assert (later[-1] < seen[0]) is (direction == "reversed")
        nearest = later[0] - seen[-1] if direction == "forward" else seen[0] - later[-1]
        assert nearest == pytest.approx(1 / 12)
        units = {row["x"]: row["y"] for row in rows if "low" in row}
        place = round((later[0] - record.start[0]) * 12 - (record.start[1] - 0.5))
        assert units[later[0]] == pytest.approx(record.values[place])
        assert marks(picture.spec) == {"area", "line", "point"}
    assert len(found) == 2


def test_points_that_differ_in_several_inputs_are_not_joined() -> None:
    enzymes = EnzymeKinetics()
    episode = enzymes.episodes("train", 1)[0]
    picture = forecast_chart(guess(episode), enzymes)
    assert marks(picture.spec) == {"rule", "tick", "point"}
    places = [row["x"] for row in values(picture.spec)]
    assert min(places) >= 0.01
    assert 1.0 < max(places) <= 100.0
    assert "C_A [mM]" in picture.alt
    parts = np.zeros((1, len(episode.fit_targets) + len(episode.query_targets)))
    assert marks(parts_chart(Decomposition(episode, ("all",), parts), enzymes).spec) == {"point"}


def test_contributions_to_a_patients_episode_are_of_that_episode_alone() -> None:
    glucose = GlucoseForecasts()
    episode = glucose.episodes("train", 1)[0]
    count = len(episode.fit_targets) + len(episode.context[1]) + len(episode.query_targets)
    means = np.arange(2.0 * count).reshape(2, count)
    spec = parts_chart(Decomposition(episode, ("meal", "drift"), means), glucose).spec
    rows = [row for row in values(spec) if row.get("part") == "meal"]
    assert [row["x"] for row in rows] == pytest.approx([5.0 * i for i in range(len(rows))])
    assert len(rows) == len(episode.context[1]) + len(episode.query_targets)
    first = len(episode.fit_targets)
    assert [row["y"] for row in rows] == pytest.approx(list(means[0, first:] * episode.target_scale))
    (begin,) = [row["x"] for row in values(spec) if "part" not in row]
    assert begin == pytest.approx(50.0)
