"""Glucose: forecast the rest of a patient's episode from its first 45 minutes and the patient's other episodes.

A fold holds out one of a patient's six exported episodes.  Amplitude and noise are fitted on the others, complete, which also standardize; predictions are conditioned on
the held-out episode's readings up to minute 45 as well; its later readings are the queries.  Meta-training patients are children, validation adolescents, test adults.

The bundled file comes from the public UVA/Padova simulator (``data/glucose/SOURCE.md``).  Adult *interventions* stay hidden: folds of adults' exported episodes are no
substitute for them, which is why the command line offers no test split here.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from kernaut.episodes.benchmark import Benchmark
from kernaut.episodes.coordinate import Coordinate
from kernaut.episodes.episode import Episode, episode_seed, require_split, standardization
from kernaut.episodes.glucose_actions import INTERVENTIONS, PASSIVE, PATIENTS
from kernaut.episodes.glucose_file import BOLUS_SCALE, DURATION, MEAL_SCALE, GlucoseFile, read_glucose_file
from kernaut.errors import InputError
from kernaut.plugins import bundled

FOLDS = PASSIVE + INTERVENTIONS
PREFIX = 45.0
"""Readings up to this minute condition the forecast [min]."""
TUNING_STRIDE = 3
"""Tuning episodes hold every third reading."""
SCALE_FLOOR = 1e-8


class GlucoseForecasts(Benchmark):
    """Forecasts of thirty patients' glucose.

    Args:
        data: an exchange file; the bundled one if absent.

    Raises:
        InputError: for a file that is none, or is malformed.
    """

    name = "glucose"
    dimensions = (5,)
    most_per_family = FOLDS
    sealed_test = "kernaut glucose-sealed-test"
    coordinates = (
        Coordinate("minute", "time", "minute of the reading", 0.0, DURATION, unit="min"),
        Coordinate("meal", "dose", "carbohydrates of the meal", 0.0, MEAL_SCALE, unit="g"),
        Coordinate("meal_start", "onset", "minute at which the meal begins", 0.0, DURATION, unit="min"),
        Coordinate("bolus", "dose", "insulin bolus", 0.0, BOLUS_SCALE, unit="U"),
        Coordinate("bolus_start", "onset", "minute of the bolus, the meal's without one", 0.0, DURATION, unit="min"),
    )

    def __init__(self, data: str | None = None) -> None:
        self._path = bundled("data", "glucose", "training.json") if data is None else Path(data)
        self.file = _file(self._path, self._path.stat().st_mtime_ns if self._path.is_file() else 0)
        self._source = "bundled" if data is None else "user"

    def families(self, split: str) -> tuple[str, ...]:
        """Ten children, ten adolescents, ten adults."""
        return PATIENTS[require_split(split)]

    def options(self) -> dict[str, Any]:
        """The file and how episodes are cut from it."""
        return {
            "data": self._source,
            "sha256": self.file.sha256,
            "prefix_minutes": PREFIX,
            "folds": FOLDS,
            "tuning_stride": TUNING_STRIDE,
            "test": "folds of exported adult episodes; not the hidden interventions",
        }

    def _episode(self, split: str, family_index: int, episode_index: int, tuning: bool) -> Episode:
        name = self.families(split)[family_index]
        patient = self.file.patient(name)
        step = TUNING_STRIDE if tuning else 1
        others = [e for place, e in enumerate(patient.episodes[:FOLDS]) if place != episode_index]
        held = patient.episodes[episode_index]
        fitting = np.concatenate([e.cgm[::step] for e in others])
        mean, scale = standardization(fitting, SCALE_FLOOR)
        inputs, targets = held.inputs()[::step], (held.cgm[::step] - mean) / scale
        early = held.times[::step] <= PREFIX
        return Episode(
            name=f"{name}:fold-{episode_index}",
            benchmark=self.name,
            split=split,
            family=name,
            seed=episode_seed(split, family_index, episode_index),
            fit_inputs=np.concatenate([e.inputs()[::step] for e in others]),
            fit_targets=(fitting - mean) / scale,
            query_inputs=inputs[~early],
            query_targets=targets[~early],
            target_mean=mean,
            target_scale=scale,
            tags={"nmse_variance": patient.passive_variance, "unit": "mg/dL", "passive": episode_index < PASSIVE},
            context_inputs=inputs[early],
            context_targets=targets[early],
        )


@lru_cache(maxsize=4)
def _file(path: Path, stamp: int) -> GlucoseFile:
    """One reading of a file; ``stamp`` changes with it.

    Raises:
        InputError: for a malformed file, or an episode without readings on both sides of the prefix's end.
    """
    found = read_glucose_file(path, episodes=FOLDS)
    for patient in found.patients.values():
        for number, episode in enumerate(patient.episodes[:FOLDS]):
            times = episode.times[::TUNING_STRIDE]
            if not times[0] <= PREFIX < times[-1]:
                raise InputError(
                    f"Expected readings up to minute {PREFIX:g} and after it in {patient.name}.training[{number}]. "
                    f"Got {len(episode.times)} from minute {episode.times[0]:g} to {episode.times[-1]:g}."
                )
    return found
