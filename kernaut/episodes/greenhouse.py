"""Greenhouse gases: forecast the next months of a monthly record from all months before them.

An episode is a window of one record, which may be reversed as a whole: 216 or more months for fitting, the 48 after them as queries.  Inputs are
``linspace(0, 1, T)`` for a record of T months, so that all windows of a record are prefixes of the same points and share one Gram matrix.
Training and validation draw windows of the same three records, which may share months; test has three other gases.

Records: NOAA Global Monitoring Laboratory (``data/greenhouse/SOURCE.md``).
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from kernaut.episodes.benchmark import Benchmark
from kernaut.episodes.box_model import made_up_record
from kernaut.episodes.coordinate import Axis, Coordinate
from kernaut.episodes.episode import Episode, episode_seed, require_split, standardization
from kernaut.episodes.records import MonthlyRecord, load_record
from kernaut.errors import InputError
from kernaut.plugins import bundled
from kernaut.seeds import generator, stable_seed

SEEN = ("co2", "ch4", "n2o")
UNSEEN = ("sf6", "cfc12", "cfc11")
HORIZON = 48
TUNING_HORIZON = 24
MINIMUM = 216
MAX_NOISE = 0.04
SCALE_FLOOR = 1e-8
MADE_UP = 12
"""Gases of the rehearsal, by turns short and long records."""
MADE_UP_MONTHS = (320, 560)
MADE_UP_WINDOWS = 3


class GreenhouseGases(Benchmark):
    """Forecasts of six monthly gas records.

    Args:
        horizon: months to forecast.
        minimum: fewest months of a fitting window.
        data: folder of the records; the bundled ones if absent.

    Raises:
        InputError: for a horizon or minimum below 1, or a folder that is none.
    """

    name = "greenhouse"
    dimensions = (1, 2, 3, 4, 5, 6, 7, 8)
    reference_grid = "series"
    coordinates = (
        Coordinate(
            "time",
            "time",
            "share of the record, oldest or newest month first; a year is 0.02 to 0.04 of a record",
            0.0,
            1.0,
        ),
    )

    def __init__(self, horizon: int = HORIZON, minimum: int = MINIMUM, data: str | None = None) -> None:
        for label, value in (("horizon", horizon), ("minimum", minimum)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"Expected a {label} of at least 1 month. Got {value!r}.")
        self.horizon = horizon
        self.minimum = minimum
        self._folder = bundled("data", "greenhouse") if data is None else Path(data)

    def families(self, split: str) -> tuple[str, ...]:
        """Three gases for train and validation, three others for test."""
        return UNSEEN if require_split(split) == "test" else SEEN

    def options(self) -> dict[str, Any]:
        """Horizon and shortest fitting window [months], the records' digests, and what the splits share."""
        return {
            "horizon_months": self.horizon,
            "minimum_months": self.minimum,
            "tuning_horizon_months": min(TUNING_HORIZON, self.horizon),
            "records": {name: self.record(name).sha256[:16] for name in (*SEEN, *UNSEEN)},
            "overlap": "training and validation windows are drawn from the same records and may share months",
        }

    def record(self, name: str) -> MonthlyRecord:
        """One gas's record, checked.

        Raises:
            InputError: when it is missing, damaged or has a gap.
        """
        return _record(self._folder, name)

    def axis(self, episode: Episode, coordinate: int = 0) -> Axis:
        """Calendar years; those of a reversed window run backwards."""
        step = float(episode.fit_inputs[1, 0] - episode.fit_inputs[0, 0])
        reverse = episode.tags["direction"] == "reversed"
        year, month = (int(part) for part in str(episode.tags["last" if reverse else "first"]).split("-"))
        start, sign = year + (month - 0.5) / 12.0, -1.0 if reverse else 1.0
        return Axis("year", lambda places: np.asarray(start + sign * places / (12.0 * step)), whole=True)

    def _episode(self, split: str, family_index: int, episode_index: int, tuning: bool) -> Episode:
        gas = self.families(split)[family_index]
        seed = episode_seed(split, family_index, episode_index)
        return self.window(gas, split, seed, min(TUNING_HORIZON, self.horizon) if tuning else self.horizon)

    def rehearsals(self) -> list[Episode]:
        """Windows of made-up gases (:mod:`kernaut.episodes.box_model`), drawn as those of a record are, at the full horizon."""
        return [
            _window(
                _made_up(gas, self.minimum + self.horizon),
                "train",
                stable_seed("rehearsal", gas, j),
                self.minimum,
                self.horizon,
            )
            for gas in range(MADE_UP)
            for j in range(MADE_UP_WINDOWS)
        ]

    def window(self, gas: str, split: str, seed: int, horizon: int) -> Episode:
        """The window that a seed draws from a record; the order of draws is part of the protocol.

        Raises:
            InputError: when the record is shorter than the shortest window and the horizon together.
        """
        record = self.record(gas)
        if len(record) < self.minimum + horizon:
            raise InputError(
                f"Expected a record of at least {self.minimum} + {horizon} months. Got {gas} with {len(record)}.",
                hint="Forecast fewer months (--horizon-months), or use a longer record.",
            )
        return _window(record, split, seed, self.minimum, horizon)


def _window(record: MonthlyRecord, split: str, seed: int, minimum: int, horizon: int) -> Episode:
    total = len(record)
    rng = np.random.default_rng(seed)
    count = int(rng.integers(minimum, total - horizon + 1))
    flipped = bool(rng.integers(0, 2))
    noise = float(rng.uniform(0.0, MAX_NOISE))
    values = record.values[::-1] if flipped else record.values
    mean, scale = standardization(values[:count], SCALE_FLOOR)
    clean = (values[: count + horizon] - mean) / scale
    inputs = np.linspace(0.0, 1.0, total)[: count + horizon, None]
    first, last = (total - count, total - 1) if flipped else (0, count - 1)
    return Episode(
        name=f"{record.name}:seed-{seed}",
        benchmark=GreenhouseGases.name,
        split=split,
        family=record.name,
        seed=seed,
        fit_inputs=inputs[:count],
        fit_targets=clean[:count] + rng.normal(0.0, noise * clean[:count].std(), count),
        query_inputs=inputs[count:],
        query_targets=clean[count:],
        target_mean=mean,
        target_scale=scale,
        tags={
            "direction": "reversed" if flipped else "forward",
            "months": count,
            "noise": noise,
            "first": record.month(first),
            "last": record.month(last),
            "unit": record.unit,
        },
    )


@lru_cache(maxsize=32)
def _made_up(gas: int, shortest: int) -> MonthlyRecord:
    months = max(MADE_UP_MONTHS[gas % len(MADE_UP_MONTHS)], shortest)
    return MonthlyRecord(f"made-up-{gas}", "ppt", (1980, 1), made_up_record(generator("made-up", gas), months), "")


@lru_cache(maxsize=32)
def _record(folder: Path, name: str) -> MonthlyRecord:
    return load_record(folder, name)
