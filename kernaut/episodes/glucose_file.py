"""The glucose benchmark's exchange file, read and checked.

``{patient: {"actions": [...], "training": [{"times_min", "cgm_mg_dl", "minute_inputs"}, ...]}}``, passive episodes first; ``minute_inputs`` are rows of
``[minute, meal_g, basal_U, bolus_U]`` (any minutes; what is left out is 0).  Readings are in mg/dL, times in minutes from the episode's start.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.digest import loads_finite
from kernaut.errors import InputError

Array = NDArray[np.float64]

DURATION = 360.0
MEAL_SCALE = 60.0
BOLUS_SCALE = 1.5
HIGHEST = 10_000.0
"""No patient's glucose reaches it [mg/dL]."""
PLAUSIBLE = (30.0, 1000.0)
"""Median readings outside are no mg/dL; one from 2 to 30 is mmol/L."""


@dataclass(frozen=True, eq=False)
class GlucoseEpisode:
    """Six hours of one patient.

    Args:
        times: ``T`` minutes of readings, increasing.
        cgm: ``T`` readings [mg/dL].
        meal: carbohydrates [g] of the meal, and its minute.
        bolus: insulin bolus [U], and its minute (the meal's where there is none).
    """

    times: Array
    cgm: Array
    meal: tuple[float, float]
    bolus: tuple[float, float]

    def inputs(self) -> Array:
        """``T x 5``: minute/360, meal/60, meal start/360, bolus/1.5, bolus start/360."""
        rest = (
            self.meal[0] / MEAL_SCALE,
            self.meal[1] / DURATION,
            self.bolus[0] / BOLUS_SCALE,
            self.bolus[1] / DURATION,
        )
        return np.column_stack([self.times / DURATION, np.tile(rest, (len(self.times), 1))])


@dataclass(frozen=True, eq=False)
class Patient:
    """One patient's exported episodes, two passive ones first."""

    name: str
    episodes: tuple[GlucoseEpisode, ...]

    @property
    def passive_variance(self) -> float:
        """Population variance of all readings of the two passive episodes [(mg/dL)^2]."""
        return float(np.concatenate([episode.cgm for episode in self.episodes[:2]]).var())


@dataclass(frozen=True, eq=False)
class GlucoseFile:
    """All patients of an exchange file, and the SHA-256 of its bytes."""

    patients: Mapping[str, Patient]
    sha256: str

    def patient(self, name: str) -> Patient:
        """One patient.

        Raises:
            InputError: when the file has no such patient.
        """
        if name not in self.patients:
            raise InputError(
                f"Expected patient {name} in the exchange file. Got {', '.join(self.patients) or 'none'}.",
                hint="Write a complete file with examples/glucose/export_training.py.",
            )
        return self.patients[name]


def read_glucose_file(path: Path, *, episodes: int) -> GlucoseFile:
    """Read an exchange file.

    Args:
        path: the file.
        episodes: fewest episodes of each patient.

    Raises:
        InputError: naming the place of what is missing or malformed.
    """
    if not path.is_file():
        raise InputError(f"Expected an exchange file at {path}. Got no such file.")
    content = path.read_bytes()
    record = loads_finite(content, str(path))
    if not isinstance(record, Mapping) or not record:
        found = "an empty one" if record == {} else type(record).__name__
        raise InputError(f"Expected an object of patients in {path}. Got {found}.")
    patients = {str(name): _patient(str(name), entry, episodes) for name, entry in record.items()}
    return GlucoseFile(patients, hashlib.sha256(content).hexdigest())


def glucose_episode(record: Any, where: str) -> GlucoseEpisode:
    """Read one episode.

    Raises:
        InputError: naming what is missing or malformed.
    """
    if not isinstance(record, Mapping) or not {"times_min", "cgm_mg_dl", "minute_inputs"} <= set(record):
        raise InputError(f"Expected times_min, cgm_mg_dl and minute_inputs in {where}. Got {_keys(record)}.")
    times, cgm = (
        _numbers(record["times_min"], f"{where}.times_min"),
        _numbers(record["cgm_mg_dl"], f"{where}.cgm_mg_dl"),
    )
    if len(times) != len(cgm) or len(times) < 2:
        raise InputError(
            f"Expected equally many times and readings, at least 2, in {where}. Got {len(times)} and {len(cgm)}."
        )
    if not (np.diff(times) > 0).all() or times[0] < 0 or times[-1] > DURATION:
        raise InputError(
            f"Expected times that increase from 0 to at most {DURATION:g} minutes in {where}.times_min. Got {times.tolist()[:8]}..."
        )
    _require_mg_dl(times, cgm, where)
    rows = record["minute_inputs"]
    if not isinstance(rows, list) or any(not isinstance(row, list) or len(row) != 4 for row in rows):
        raise InputError(f"Expected rows of minute, meal_g, basal_U, bolus_U in {where}.minute_inputs. Got others.")
    table = np.array([_numbers(row, f"{where}.minute_inputs") for row in rows]).reshape(-1, 4)
    if (table < 0).any():
        raise InputError(f"Expected minutes and amounts of at least 0 in {where}.minute_inputs. Got {table.min():g}.")
    meal = _total(table[:, 0], table[:, 1], 0.0)
    return GlucoseEpisode(times, cgm, meal, _total(table[:, 0], table[:, 3], meal[1]))


def _patient(name: str, entry: Any, episodes: int) -> Patient:
    training = entry.get("training") if isinstance(entry, Mapping) else None
    if not isinstance(training, list) or len(training) < episodes:
        found = f"{len(training)} episodes" if isinstance(training, list) else _keys(entry)
        raise InputError(f"Expected at least {episodes} training episodes of patient {name}. Got {found}.")
    return Patient(name, tuple(glucose_episode(e, f"{name}.training[{i}]") for i, e in enumerate(training)))


def _total(minutes: Array, amounts: Array, otherwise: float) -> tuple[float, float]:
    """Sum of amounts, and the first minute at which one is given."""
    given = amounts > 0
    return (float(amounts.sum()), float(minutes[given].min())) if given.any() else (0.0, otherwise)


def _require_mg_dl(times: Array, cgm: Array, where: str) -> None:
    middle = float(np.median(cgm))
    if not PLAUSIBLE[0] <= middle <= PLAUSIBLE[1]:
        hint = "These look like mmol/L: multiply them by 18.016." if 2.0 <= middle < PLAUSIBLE[0] else None
        raise InputError(f"Expected readings in mg/dL in {where}.cgm_mg_dl. Got a median of {middle:g}.", hint=hint)
    absurd = (cgm <= 0) | (cgm > HIGHEST)
    if absurd.any():
        place = int(np.argmax(absurd))
        raise InputError(
            f"Expected readings above 0 and at most {HIGHEST:g} mg/dL in {where}.cgm_mg_dl. Got {cgm[place]:g} at minute {times[place]:g}.",
            hint="Leave out a reading that is missing together with its time; no number stands for one.",
        )


def _numbers(values: Any, where: str) -> Array:
    if not isinstance(values, list) or any(isinstance(v, bool) or not isinstance(v, (int, float)) for v in values):
        raise InputError(f"Expected a list of numbers in {where}. Got {str(values)[:60]}.")
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError as error:
        raise InputError(f"Expected numbers that a float can hold in {where}. Got a larger one.") from error


def _keys(record: Any) -> str:
    return f"the keys {', '.join(map(str, record))}" if isinstance(record, Mapping) else type(record).__name__
