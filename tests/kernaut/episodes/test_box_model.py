"""Made-up records against the sum that the box model stands for."""

from __future__ import annotations

import numpy as np
import pytest

from kernaut.episodes import box_model
from kernaut.episodes.box_model import SPIN_UP, made_up_record


def test_a_record_is_what_is_left_of_all_emissions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box_model, "WOBBLE", 0.0)
    for name in ("YEAR", "SWINGS", "ERROR"):
        monkeypatch.setattr(box_model, name, (1e-14, 1e-13))
    rng = np.random.default_rng(5)
    lifetime = 12 * 8.0 * (120 / 8) ** rng.uniform()
    growth = (0.02 + 0.10 * rng.uniform()) / 12
    turn = (0.15 + 1.05 * rng.uniform()) * 300
    cut = 12 * (2 + 13 * rng.uniform())
    remainder = 0.4 * rng.uniform()
    time = np.arange(-SPIN_UP, 300)
    after = remainder + (1 - remainder) * np.exp(-(time - turn) / cut)
    emitted = np.where(time < turn, np.exp(growth * time), np.exp(growth * turn) * after)
    left = (1 - 1 / lifetime) ** np.subtract.outer(time, time).clip(0) * (time[:, None] >= time)
    np.testing.assert_allclose(made_up_record(np.random.default_rng(5), 300), (left @ emitted)[SPIN_UP:], rtol=1e-9)


def test_a_year_and_errors_are_shares_of_the_records_deviation(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {}
    for height in (1e-13, 0.05):
        monkeypatch.setattr(box_model, "YEAR", (height, height * 1.0001))
        made[height] = made_up_record(np.random.default_rng(3), 288)
    wave = made[0.05] - made[1e-13]
    np.testing.assert_allclose(wave[12:], wave[:-12], atol=1e-9 * made[0.05].std())
    assert np.ptp(wave) / 2 / made[0.05].std() == pytest.approx(0.05, rel=0.05)


def test_records_differ_and_can_be_made_again() -> None:
    records = [made_up_record(np.random.default_rng(seed), 280) for seed in (1, 2, 2)]
    np.testing.assert_array_equal(records[1], records[2])
    assert not np.allclose(records[0], records[1])
    turns = [record.argmax() < 250 for record in (made_up_record(np.random.default_rng(s), 280) for s in range(30))]
    assert 5 <= sum(turns) <= 25
