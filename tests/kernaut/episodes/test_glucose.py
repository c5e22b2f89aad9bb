from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kernaut.episodes.glucose import GlucoseForecasts
from kernaut.episodes.glucose_actions import PATIENTS, training_actions
from kernaut.errors import InputError
from kernaut.plugins import bundled

GLUCOSE = GlucoseForecasts()


def test_a_fold_holds_one_episode_out() -> None:
    patient = GLUCOSE.file.patient("child#003")
    episodes = [e for e in GLUCOSE.episodes("train", 6) if e.family == "child#003"]
    for place, episode in enumerate(episodes):
        others = np.concatenate([e.cgm for i, e in enumerate(patient.episodes) if i != place])
        np.testing.assert_allclose(episode.fit_targets, (others - others.mean()) / others.std(), rtol=1e-12)
        held = patient.episodes[place]
        scaled = (held.cgm - others.mean()) / others.std()
        np.testing.assert_allclose(episode.context[1], scaled[held.times <= 45], rtol=1e-12)
        np.testing.assert_allclose(episode.query_targets, scaled[held.times > 45], rtol=1e-12)
        assert (len(episode.fit_targets), len(episode.context[1]), len(episode.query_targets)) == (365, 10, 63)
        assert episode.tags["nmse_variance"] == patient.passive_variance


def test_tuning_folds_hold_every_third_reading() -> None:
    episode = GLUCOSE.episodes("train", 1, tuning=True)[0]
    assert (len(episode.fit_targets), len(episode.context[1]), len(episode.query_targets)) == (125, 4, 21)


def test_families_and_fold_counts() -> None:
    assert [GLUCOSE.families(split)[0] for split in PATIENTS] == ["child#001", "adolescent#001", "adult#001"]
    with pytest.raises(InputError, match=r"Expected 1 to 6 episodes per family. Got 7"):
        GLUCOSE.episodes("train", 7)


def test_the_bundled_file_follows_the_acquisition_policy() -> None:
    record = json.loads(bundled("data", "glucose", "training.json").read_text())
    assert set(record) == {patient for group in PATIENTS.values() for patient in group}
    for patient, entry in record.items():
        assert entry["actions"] == [action.to_json() for action in training_actions(patient)]
        for action, episode in zip(training_actions(patient), GLUCOSE.file.patient(patient).episodes, strict=True):
            assert episode.meal == (action.meal_g, action.meal_minute)
            assert episode.bolus == (action.bolus_u, action.bolus_minute)


def test_a_file_without_a_patient_is_an_error_when_it_is_needed(tmp_path: Path) -> None:
    record = json.loads(bundled("data", "glucose", "training.json").read_text())
    del record["adolescent#004"]
    path = tmp_path / "short.json"
    path.write_text(json.dumps(record))
    short = GlucoseForecasts(data=str(path))
    assert short.episodes("train", 1)
    with pytest.raises(InputError, match="Expected patient adolescent#004 in the exchange file"):
        short.episodes("validation", 1)
    assert short.digest() != GLUCOSE.digest()


@pytest.mark.parametrize("late", [False, True])
def test_an_episode_needs_readings_before_and_after_the_prefix_ends(tmp_path: Path, late: bool) -> None:
    record = json.loads(bundled("data", "glucose", "training.json").read_text(encoding="utf-8"))
    episode = record["child#001"]["training"][2]
    kept = [place for place, minute in enumerate(episode["times_min"]) if (minute > 45) == late]
    for key in ("times_min", "cgm_mg_dl"):
        episode[key] = [episode[key][place] for place in kept]
    (tmp_path / "g.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(InputError, match=r"up to minute 45 and after it in child#001.training\[2\]"):
        GlucoseForecasts(str(tmp_path / "g.json"))


def test_numbers_beyond_floats_are_refused(tmp_path: Path) -> None:
    record = json.loads(bundled("data", "glucose", "training.json").read_text(encoding="utf-8"))
    record["child#001"]["training"][0]["cgm_mg_dl"][0] = 10**400
    (tmp_path / "g.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(InputError, match="numbers that a float can hold in child#001"):
        GlucoseForecasts(str(tmp_path / "g.json"))
