"""Made-up records against the sum that the box model stands for."""

from __future__ import annotations

import numpy as np
import pytest

from kernaut.episodes import box_model
from kernaut.episodes.box_model import SPIN_UP, made_up_record


def test_a_record_is_what_is_left_of_all_emissions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box_model, "WOBBLE", 0.0)
    monkeypatch.setattr(box_model, "ERROR", 0.0)
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


def test_records_differ_and_can_be_made_again() -> None:
    records = [made_up_record(np.random.default_rng(seed), 280) for seed in (1, 2, 2)]
    np.testing.assert_array_equal(records[1], records[2])
    assert not np.allclose(records[0], records[1])
    turns = [record.argmax() < 250 for record in (made_up_record(np.random.default_rng(s), 280) for s in range(30))]
    assert 5 <= sum(turns) <= 25
