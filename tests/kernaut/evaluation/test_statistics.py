from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from kernaut.evaluation.statistics import bootstrap_interval, paired_difference


def test_interval_is_that_of_scipy() -> None:
    values = np.random.default_rng(1).gamma(2.0, size=60)
    ours = bootstrap_interval(values, resamples=20_000)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    np.testing.assert_allclose(ours, [theirs.low, theirs.high], rtol=0.02)
    narrow = bootstrap_interval(values, resamples=20_000, level=0.5)
    assert ours[0] < narrow[0] < values.mean() < narrow[1] < ours[1]


def test_equal_seeds_give_equal_intervals() -> None:
    values = np.random.default_rng(3).normal(size=30)
    assert bootstrap_interval(values, seed=4) == bootstrap_interval(list(values), seed=4)
    assert bootstrap_interval(values, seed=4) != bootstrap_interval(values, seed=5)


def test_many_values_are_resampled_in_pieces() -> None:
    values = np.random.default_rng(5).normal(3.0, 1.0, 400_000)
    low, high = bootstrap_interval(values, resamples=40)
    assert low < values.mean() < high
    assert high - low < 0.02


@pytest.mark.parametrize("values", [[], [[1.0, 2.0]]])
def test_nothing_to_resample(values: list[float]) -> None:
    with pytest.raises(ValueError, match="Expected at least one value"):
        bootstrap_interval(values)


def test_the_interval_covers_the_mean_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(7)
    hits = 0
    for trial in range(200):
        low, high = bootstrap_interval(rng.normal(1.0, 2.0, 50), seed=trial, resamples=400)
        hits += low <= 1.0 <= high
    assert 0.88 <= hits / 200 <= 0.99


def test_pairing_removes_what_episodes_have_in_common() -> None:
    rng = np.random.default_rng(8)
    hard = rng.normal(size=60)
    first, second = hard - 0.1 + 0.02 * rng.normal(size=60), hard + 0.02 * rng.normal(size=60)
    difference = paired_difference(first, second)
    assert difference.mean == pytest.approx((first - second).mean())
    assert difference.lower < difference.mean < difference.upper < 0
    assert difference.decided
    assert difference.episodes == 60
    assert difference.first_better == (first < second).mean()
    unpaired = bootstrap_interval(first)
    assert unpaired[1] - unpaired[0] > 5 * (difference.upper - difference.lower)
    back = paired_difference(second, first)
    assert back.mean == -difference.mean
    assert back.to_json()["lower"] == back.lower
    assert not paired_difference(hard, hard[::-1]).decided
    with pytest.raises(ValueError, match="same episodes"):
        paired_difference(first, second[:-1])
