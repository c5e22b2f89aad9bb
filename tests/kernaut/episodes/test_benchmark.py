"""Rules that hold for all four benchmarks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernaut.episodes.bbo import BlackBoxOptimization, HiddenObjective
from kernaut.episodes.enzymes import EnzymeKinetics
from kernaut.episodes.episode import SPLITS, Episode, episode_seed
from kernaut.episodes.glucose import PREFIX, GlucoseForecasts
from kernaut.episodes.greenhouse import GreenhouseGases
from kernaut.episodes.registry import benchmark_named
from kernaut.errors import InputError
from kernaut.evaluation.forecast import forecast
from kernaut.evaluation.scoring import score_predictive
from kernaut.kernels.library import base_kernel

NAMES = ("bbo", "greenhouse", "enzymes", "glucose")
MADE = {name: benchmark_named(name) for name in NAMES}
Array = NDArray[np.float64]
TRUE_OBJECTIVE, TRUE_RATES, RECORD = HiddenObjective.__call__, EnzymeKinetics.measure, GreenhouseGases.record
DRAWN: dict[tuple[str, str], list[Episode]] = {}


def episodes(name: str, split: str) -> list[Episode]:
    if (name, split) not in DRAWN:
        DRAWN[name, split] = MADE[name].episodes(split, 2, tuning=True)
    return DRAWN[name, split]


@pytest.mark.parametrize("name", NAMES)
def test_no_split_shares_a_seed(name: str) -> None:
    """No two episodes do, in any number that may be asked for; those that are drawn have the seeds of the protocol."""
    made = MADE[name]
    seeds = {
        split: [
            episode_seed(split, i, j) for i in range(len(made.families(split))) for j in range(made.most_per_family)
        ]
        for split in SPLITS
    }
    everything = [seed for split in SPLITS for seed in seeds[split]]
    assert len(set(everything)) == len(everything)
    for split in SPLITS:
        some = [*episodes(name, split), *made.episodes(split, 2), *made.rollouts(split, 2)]
        wanted = [episode_seed(split, i, j) for i in range(len(made.families(split))) for j in range(2)]
        assert [e.seed for e in some] == wanted * (3 if made.has_rollouts else 2)
        assert {e.split for e in some} == {split}


def test_no_optimization_task_shares_a_stream_with_another() -> None:
    streams = [task.stream_seed for split in SPLITS for task in MADE["bbo"].rollouts(split, 20)]
    assert len(set(streams)) == len(streams) == 20 * (5 + 5 + 6)


@pytest.mark.parametrize("name", NAMES)
def test_counts_beyond_999_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"episodes per family\. Got 1000"):
        MADE[name].episodes("train", 1000)
    with pytest.raises(InputError, match="Expected a split of train, validation, test"):
        MADE[name].episodes("testing", 1)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=6, deadline=None, derandomize=True)
@given(
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


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=7, deadline=None, derandomize=True)
@given(
    split=st.sampled_from(SPLITS),
    place=st.integers(0, 10**6),
    factor=st.floats(1.5, 40.0) | st.floats(0.02, 0.5),
    tuning=st.booleans(),
)
def test_standardization_fit_and_prediction_never_see_a_query(
    name: str, split: str, place: int, factor: float, tuning: bool
) -> None:
    """The raw query values of a benchmark's source are multiplied, and everything but the query targets stays."""
    made = MADE[name]
    index = place % len(made.families(split))
    before = made.episodes(split, 1, tuning=tuning)[index]
    with pytest.MonkeyPatch.context() as patch:
        after = _with_other_queries(before, factor, patch, tuning)
    assert (before.name, before.target_mean, before.target_scale) == (after.name, after.target_mean, after.target_scale)
    for label in ("fit_inputs", "fit_targets", "context_inputs", "context_targets", "query_inputs"):
        np.testing.assert_array_equal(getattr(before, label), getattr(after, label))
    raw = before.query_targets * before.target_scale + before.target_mean
    wanted = (factor * raw - before.target_mean) / before.target_scale
    np.testing.assert_allclose(after.query_targets, wanted, rtol=1e-9, atol=1e-9)
    assert not np.array_equal(before.query_targets, after.query_targets)
    kernel = base_kernel({"kind": "matern52", "lengthscale": 0.7})
    (one,), (other,) = score_predictive(kernel, [before]), score_predictive(kernel, [after])
    assert one.fit == other.fit
    assert one.scores != other.scores
    first, second = forecast(kernel, before), forecast(kernel, after)
    for part in (0, 1):
        np.testing.assert_array_equal(first.in_units()[part], second.in_units()[part])


def _with_other_queries(before: Episode, factor: float, patch: pytest.MonkeyPatch, tuning: bool) -> Episode:
    """The same episode, drawn from a source whose raw values at its queries are multiplied."""
    made = benchmark_named(before.benchmark)
    if isinstance(made, BlackBoxOptimization):
        queries = before.query_inputs

        def elsewhere(self: HiddenObjective, points: Array) -> Array:
            values = TRUE_OBJECTIVE(self, points)
            return factor * values if np.array_equal(points, queries) else values

        patch.setattr(HiddenObjective, "__call__", elsewhere)
    elif isinstance(made, EnzymeKinetics):

        def measure(self: EnzymeKinetics, domain: str, version: str, seed: int, points: Array) -> Array:
            rates = TRUE_RATES(self, domain, version, seed, points).copy()
            rates[self.train_points :] *= factor
            return rates

        patch.setattr(EnzymeKinetics, "measure", measure)
    elif isinstance(made, GreenhouseGases):
        record = made.record(before.family)
        values = record.values[::-1].copy() if before.tags["direction"] == "reversed" else record.values.copy()
        values[int(before.tags["months"]) :] *= factor
        values = values[::-1] if before.tags["direction"] == "reversed" else values
        changed = replace(record, values=values)
        patch.setattr(
            GreenhouseGases, "record", lambda self, name: changed if name == before.family else RECORD(self, name)
        )
    else:
        assert isinstance(made, GlucoseForecasts)
        patient = made.file.patient(before.family)
        held = patient.episodes[0]
        wrong = replace(held, cgm=np.where(held.times > PREFIX, factor * held.cgm, held.cgm))
        patients = {**made.file.patients, before.family: replace(patient, episodes=(wrong, *patient.episodes[1:]))}
        made.file = replace(made.file, patients=patients)
    return next(e for e in made.episodes(before.split, 1, tuning=tuning) if e.family == before.family)
