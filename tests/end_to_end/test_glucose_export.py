"""The exporter of the glucose benchmark as its own process, with stand-ins for the simulator and for the external package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from kernaut.episodes.glucose_actions import sealed_actions, training_actions
from kernaut.episodes.glucose_file import read_glucose_file
from kernaut.plugins import bundled

SCRIPT = bundled("examples", "glucose", "export_training.py")
SIMULATOR = '''
"""A patient whose glucose rises by the carbohydrates eaten and falls by the insulin beyond the basal rate."""
import collections
from gym.envs.registration import register
import pkg_resources

assert pkg_resources.resource_filename("simglucose", "params/x.csv").endswith("simglucose/params/x.csv")
register(id="x")
Action = collections.namedtuple("patient_action", ["CHO", "insulin"])
Observation = collections.namedtuple("observation", ["Gsub"])


class Parameters(dict):
    u2ss = 1.2
    BW = 50.0


class T1DPatient:
    def __init__(self, name):
        self.level = 100.0 + float(name[-3:])
        self._params = Parameters(Name=name, patient_history=0, u2ss=1.2, BW=50.0)
        self.basal = 1.2 * 50.0 / 6000.0

    @classmethod
    def withName(cls, name):
        return cls(name)

    @property
    def observation(self):
        return Observation(self.level)

    def step(self, action):
        assert isinstance(self._params.u2ss, float)
        self.level += action.CHO - 20.0 * (action.insulin - self.basal)
'''
PACKAGE = '''
"""Two passive episodes, and a menu in which a zero bolus stands twice."""
def episode(meal, bolus, level):
    return {"times_min": [0, 5, 10], "cgm_mg_dl": [level, level + 1, level + 2], "minute_inputs": [[30, meal, 0.01, 0], [40, 0, 0.01, bolus]]}


class Benchmark:
    def __init__(self, patient, replicate):
        assert replicate == 0
        menu = [(20, 30, 0, 30), (20, 30, 0, 50), (20, 30, 1, 30), (20, 30, 1, 50), (40, 30, 1, 30), (40, 60, 1, 60)]
        self.actions = {10 + i: dict(zip(("meal_g", "meal_minute", "bolus_U", "bolus_minute"), row)) for i, row in enumerate(menu)}
        self.training = [episode(20, 0, 100.0), episode(40, 0, 110.0), episode(60, 2, 120.0)]

    def observe(self, index):
        return episode(self.actions[index]["meal_g"], self.actions[index]["bolus_U"], 100.0 + index)
'''


def export(folder: Path, *words: str, **packages: str) -> subprocess.CompletedProcess[str]:
    """Run the exporter where only these packages are found besides the interpreter's own."""
    for name, text in packages.items():
        path = folder.joinpath("found", *name.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for package in path.relative_to(folder / "found").parents:
            if package.name:
                (folder / "found" / package / "__init__.py").touch()
    environment = {**os.environ, "PYTHONPATH": str(folder / "found")}
    command = [sys.executable, str(SCRIPT), *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60)


def load(path: Path) -> Any:
    return json.loads(path.read_text())


def test_the_simulator_steps_each_fixed_action(tmp_path: Path) -> None:
    words = ("--out", "deep/training.json", "--sealed-out", "sealed.json", "--patients", "child#003", "adult#002")
    result = export(tmp_path, *words, **{"simglucose.patient.t1dpatient": SIMULATOR})
    assert result.returncode == 0, result.stderr
    found = read_glucose_file(tmp_path / "deep" / "training.json", episodes=6)
    for patient in ("child#003", "adult#002"):
        for episode, action in zip(found.patient(patient).episodes, training_actions(patient), strict=True):
            assert (episode.meal, episode.bolus) == (
                (action.meal_g, action.meal_minute),
                (action.bolus_u, action.bolus_minute),
            )
            truth = 100.0 + float(patient[-3:]) + np.where(episode.times > action.meal_minute, action.meal_g, 0.0)
            truth -= np.where(episode.times > action.bolus_minute, 20.0 * action.bolus_u, 0.0)
            assert 0.5 < (episode.cgm - truth).std() < 4.0  # the sensor's noise, and nothing else
            assert abs((episode.cgm - truth).mean()) < 1.5
    hidden = load(tmp_path / "sealed.json")
    assert list(hidden) == ["adult#002"]
    given = [
        (max(r[1] for r in e["minute_inputs"]), max(r[3] for r in e["minute_inputs"]))
        for e in hidden["adult#002"]["episodes"]
    ]
    assert given == [(action.meal_g, action.bolus_u) for action in sealed_actions("adult#002")]


def test_the_external_package_comes_first_and_counts_a_zero_bolus_once(tmp_path: Path) -> None:
    packages = {"simglucose.patient.t1dpatient": "raise AssertionError", "glucosebench": PACKAGE}
    result = export(tmp_path, "--out", "training.json", "--patients", "child#001", **packages)
    assert result.returncode == 0, result.stderr
    record = load(tmp_path / "training.json")["child#001"]
    assert [episode["cgm_mg_dl"][0] for episode in record["training"][:2]] == [100.0, 110.0]
    observed = [int(episode["cgm_mg_dl"][0] - 100) for episode in record["training"][2:]]
    assert len(set(observed)) == 4
    assert set(observed) <= {10, 12, 13, 14, 15}  # 11 differs from 10 in the delay of no bolus only
    assert len(read_glucose_file(tmp_path / "training.json", episodes=6).patient("child#001").episodes) == 6


def test_without_either_it_says_what_to_install(tmp_path: Path) -> None:
    result = export(tmp_path, "--out", "training.json", "--patients", "child#001")
    assert result.returncode == 1
    assert "pip install --no-deps simglucose" in result.stderr
    assert "Traceback" not in result.stderr
