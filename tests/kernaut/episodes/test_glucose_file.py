from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernaut.episodes.glucose_file import glucose_episode, read_glucose_file
from kernaut.errors import InputError

EPISODE = {
    "times_min": [0, 5, 10, 15],
    "cgm_mg_dl": [120.0, 121.0, 130.0, 140.0],
    "minute_inputs": [[0, 0, 0.01, 0], [30, 25.0, 0.01, 0], [31, 5.0, 0.01, 0], [50, 0, 0.01, 0.75]],
}
FILE = {"child#001": {"actions": [], "training": [EPISODE, EPISODE | {"cgm_mg_dl": [100.0, 100.0, 100.0, 100.0]}]}}


def written(tmp_path: Path, record: Any) -> Path:
    path = tmp_path / "exchange.json"
    path.write_text(json.dumps(record))
    return path


def test_amounts_and_onsets_are_read_from_the_minute_inputs() -> None:
    episode = glucose_episode(EPISODE, "here")
    assert (episode.meal, episode.bolus) == ((30.0, 30.0), (0.75, 50.0))
    np.testing.assert_allclose(episode.inputs()[1], [5 / 360, 0.5, 30 / 360, 0.5, 50 / 360])


def test_a_zero_bolus_takes_the_meals_start() -> None:
    quiet = EPISODE | {"minute_inputs": [[40, 20.0, 0.01, 0.0]]}
    assert glucose_episode(quiet, "here").bolus == (0.0, 40.0)
    fasting = EPISODE | {"minute_inputs": []}
    assert glucose_episode(fasting, "here").meal == (0.0, 0.0)


def test_a_file_is_read_with_its_passive_variance(tmp_path: Path) -> None:
    found = read_glucose_file(written(tmp_path, FILE), episodes=2)
    patient = found.patient("child#001")
    readings = [120.0, 121.0, 130.0, 140.0, 100.0, 100.0, 100.0, 100.0]
    assert patient.passive_variance == pytest.approx(np.var(readings))
    with pytest.raises(InputError, match=r"Expected patient child#002 in the exchange file. Got child#001"):
        found.patient("child#002")


def change(path: list[Any], value: Any) -> Callable[[Any], Any]:
    def apply(record: Any) -> Any:
        inner = record
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        return record

    return apply


EP = ["child#001", "training", 0]


@pytest.mark.parametrize(
    ("apply", "message"),
    [
        (change([*EP, "times_min"], [0, 5, 5, 15]), r"times that increase from 0 .* child#001.training\[0\].times_min"),
        (change([*EP, "times_min"], [0, 5, 10, 400]), "times that increase from 0 to at most 360"),
        (change([*EP, "times_min"], [0, 5]), "equally many times and readings"),
        (change([*EP, "times_min"], "0,5"), "a list of numbers in child#001.training"),
        (change([*EP, "cgm_mg_dl"], [6.7, 6.8, 7.2, 7.8]), r"readings in mg/dL .* median of 7. These look like mmol/L"),
        (change([*EP, "cgm_mg_dl"], [1e4] * 4), r"readings in mg/dL .* median of 10000"),
        (change([*EP, "cgm_mg_dl"], [120.0, 121.0, -3.0, 0.0]), r"child#001.training\[0\].* Got -3 at minute 10"),
        (
            change([*EP, "cgm_mg_dl"], [120.0, 0.0, 120.0, 120.0]),
            r"readings above 0 and at most 10000 mg/dL in .* Got 0 at minute 5",
        ),
        (
            change([*EP, "cgm_mg_dl"], [120.0, 121.0, 122.0, 1e300]),
            r"at most 10000 mg/dL in .* Got 1e\+300 at minute 15",
        ),
        (change([*EP, "cgm_mg_dl"], [120.0, None, 120.0, 120.0]), "a list of numbers"),
        (change([*EP, "minute_inputs"], [[0, 1, 2]]), "rows of minute, meal_g, basal_U, bolus_U"),
        (change([*EP, "minute_inputs"], [[0, -1.0, 0, 0]]), "amounts of at least 0 .* Got -1"),
        (change(EP, {"times_min": []}), "Expected times_min, cgm_mg_dl and minute_inputs"),
        (
            change(["child#001", "training"], [EPISODE]),
            "at least 2 training episodes of patient child#001. Got 1 episodes",
        ),
        (change(["child#001"], {"actions": []}), "training episodes of patient child#001. Got the keys actions"),
    ],
)
def test_malformed_files_name_the_place(tmp_path: Path, apply: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_glucose_file(written(tmp_path, apply(copy.deepcopy(FILE))), episodes=2)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Expected an exchange file at"):
        read_glucose_file(tmp_path / "absent.json", episodes=2)
    with pytest.raises(InputError, match="Expected an object of patients"):
        read_glucose_file(written(tmp_path, []), episodes=2)
    (tmp_path / "bad.json").write_text('{"a": NaN}')
    with pytest.raises(InputError, match="finite"):
        read_glucose_file(tmp_path / "bad.json", episodes=2)
