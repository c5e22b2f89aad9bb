"""The public UVA/Padova patients of ``simglucose``, stepped minute by minute, with sensor noise of our own.

``pip install --no-deps simglucose`` together with numpy, scipy and pandas is enough: the two modules it would import beyond these (gym, and pkg_resources of an old
setuptools) are stood in for while it is imported.  Reference: Dalla Man et al. (2014), J. Diabetes Sci. Technol. 8(1); simglucose by J. Xie (2018), MIT.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

from kernaut.episodes.glucose_actions import Action
from kernaut.seeds import generator

DURATION = 360
EVERY = 5
SENSOR_NOISE = 2.0
"""Standard deviation of a reading [mg/dL]."""


def simulated_episode(patient: str, action: Action, label: str) -> dict[str, Any]:
    """One episode in the exchange file's form.

    Args:
        patient: such as ``child#001``.
        action: its meal and bolus.
        label: names the stream of its sensor noise.

    Returns:
        ``times_min``, ``cgm_mg_dl`` and ``minute_inputs``; the latter hold the minutes at which something happens, and minute 0.
    """
    patient_class, step = _simglucose()
    person = patient_class.withName(patient)
    parameters = person._params
    basal = float(parameters.u2ss * parameters.BW / 6000.0)
    kept = ("Name", "patient_history")
    person._params = types.SimpleNamespace(**{k: v if k in kept else float(v) for k, v in parameters.items()})
    readings = [float(person.observation.Gsub)]
    for minute in range(DURATION):
        meal = action.meal_g if minute == action.meal_minute else 0.0
        bolus = action.bolus_u if minute == action.bolus_minute else 0.0
        person.step(step(CHO=meal, insulin=basal + bolus))
        if (minute + 1) % EVERY == 0:
            readings.append(float(person.observation.Gsub))
    noise = generator("glucose-sensor", patient, label).normal(0.0, SENSOR_NOISE, len(readings))
    moments = sorted({0.0, action.meal_minute, action.bolus_minute if action.bolus_u else 0.0})
    return {
        "times_min": list(range(0, DURATION + 1, EVERY)),
        "cgm_mg_dl": [round(value + error, 1) for value, error in zip(readings, noise, strict=True)],
        "minute_inputs": [
            [
                moment,
                action.meal_g if moment == action.meal_minute else 0.0,
                round(basal, 6),
                action.bolus_u if action.bolus_u and moment == action.bolus_minute else 0.0,
            ]
            for moment in moments
        ],
    }


def _simglucose() -> tuple[Any, Any]:
    """The patient class and its action tuple.

    Raises:
        SystemExit: when the package is not installed.
    """
    found = importlib.util.find_spec("simglucose")
    if found is None or found.submodule_search_locations is None:
        raise SystemExit(
            "Expected the package simglucose or glucosebench. Got neither. "
            "Install the public simulator with: pip install --no-deps simglucose && pip install numpy scipy pandas"
        )
    root = Path(next(iter(found.submodule_search_locations)))
    registration = types.ModuleType("gym.envs.registration")
    registration.register = lambda **_: None  # type: ignore[attr-defined]
    resources = types.ModuleType("pkg_resources")
    resources.resource_filename = lambda _, name: str(root / name)  # type: ignore[attr-defined]
    stand_ins = {
        "gym": types.ModuleType("gym"),
        "gym.envs": types.ModuleType("gym.envs"),
        "gym.envs.registration": registration,
        "pkg_resources": resources,
    }
    missing = {name: module for name, module in stand_ins.items() if name not in sys.modules}
    sys.modules.update(missing)
    try:
        module = importlib.import_module("simglucose.patient.t1dpatient")
    finally:
        for name in missing:
            del sys.modules[name]
    return module.T1DPatient, module.Action
