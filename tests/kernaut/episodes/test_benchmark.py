"""Rules that hold for all four benchmarks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernaut.episodes.benchmark import Benchmark
from kernaut.episodes.enzymes import EnzymeKinetics
from kernaut.episodes.episode import SPLITS, Episode
from kernaut.episodes.glucose import GlucoseForecasts
from kernaut.episodes.greenhouse import GreenhouseGases
from kernaut.episodes.registry import benchmark_named
from kernaut.errors import InputError
from kernaut.evaluation.forecast import forecast
from kernaut.kernels.library import base_kernel

NAMES = ("bbo", "greenhouse", "enzymes", "glucose")
MADE = {name: benchmark_named(name) for name in NAMES}
DRAWN: dict[tuple[str, str], list[Episode]] = {}


def episodes(name: str, split: str) -> list[Episode]:
    if (name, split) not in DRAWN:
        DRAWN[name, split] = MADE[name].episodes(split, 2, tuning=True)
    return DRAWN[name, split]


@pytest.mark.parametrize("name", NAMES)
def test_no_split_shares_a_seed(name: str) -> None:
    made = MADE[name]
    seeds = {split: {e.seed for e in made.episodes(split, min(3, made.most_per_family))} for split in SPLITS}
    assert not seeds["train"] & seeds["validation"]
    assert not (seeds["train"] | seeds["validation"]) & seeds["test"]
    assert all(len(seeds[split]) == 3 * len(made.families(split)) for split in SPLITS)


@pytest.mark.parametrize("name", NAMES)
def test_counts_beyond_999_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"episodes per family\. Got 1000"):
        MADE[name].episodes("train", 1000)
    with pytest.raises(InputError, match="Expected a split of train, validation, test"):
        MADE[name].episodes("testing", 1)


@settings(max_examples=24, deadline=None, derandomize=True)
@given(
    name=st.sampled_from(NAMES),
    split=st.sampled_from(SPLITS),
    place=st.integers(0, 10**6),
    query=st.integers(0, 10**6),
    value=st.floats(-1e6, 1e6),
)
def test_changing_a_query_target_changes_no_fit_and_no_prediction(
    name: str, split: str, place: int, query: int, value: float
) -> None:
    found = episodes(name, split)
    episode = found[place % len(found)]
    targets = episode.query_targets.copy()
    targets[query % len(targets)] = value
    kernel = base_kernel({"kind": "matern52", "lengthscale": 0.7})
    before, after = forecast(kernel, episode), forecast(kernel, replace(episode, query_targets=targets))
    assert (before.amplitude, before.noise) == (after.amplitude, after.noise)
    np.testing.assert_array_equal(before.mean, after.mean)
    np.testing.assert_array_equal(before.sd, after.sd)


@pytest.mark.parametrize("name", ["greenhouse", "enzymes", "glucose"])
def test_standardization_never_sees_a_query(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The raw query values of a benchmark's source are changed, and everything but the query targets stays."""
    before = MADE[name].episodes("train", 1)[0]
    made = benchmark_named(name)
    if isinstance(made, EnzymeKinetics):
        measure = EnzymeKinetics.measure

        def changed(self: EnzymeKinetics, domain: str, version: str, seed: int, points: np.ndarray) -> np.ndarray:
            rates = measure(self, domain, version, seed, points).copy()
            rates[self.train_points :] *= 3.0
            return rates

        monkeypatch.setattr(EnzymeKinetics, "measure", changed)
        after = made.episodes("train", 1)[0]
    else:
        after = _with_changed_source(made, before)
    assert (before.target_mean, before.target_scale) == (after.target_mean, after.target_scale)
    np.testing.assert_array_equal(before.fit_targets, after.fit_targets)
    assert not np.array_equal(before.query_targets, after.query_targets)


def _with_changed_source(made: Benchmark, before: Episode) -> Episode:
    """The first training episode of a benchmark whose raw query values were tripled."""
    if isinstance(made, GreenhouseGases):
        record = made.record(before.family)
        values = record.values[::-1].copy() if before.tags["direction"] == "reversed" else record.values.copy()
        values[int(before.tags["months"]) :] *= 3.0
        values = values[::-1] if before.tags["direction"] == "reversed" else values
        changed = replace(record, values=values)
        made.record = lambda name: changed  # type: ignore[method-assign]
        return made.episodes("train", 1)[0]
    assert isinstance(made, GlucoseForecasts)
    patient = made.file.patient(before.family)
    held = patient.episodes[0]
    wrong = replace(held, cgm=np.where(held.times > 45, 3.0 * held.cgm, held.cgm))
    patients = {**made.file.patients, before.family: replace(patient, episodes=(wrong, *patient.episodes[1:]))}
    made.file = replace(made.file, patients=patients)
    return made.episodes("train", 1)[0]
