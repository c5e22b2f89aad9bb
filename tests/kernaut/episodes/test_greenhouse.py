from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernaut.episodes.greenhouse import MADE_UP, MADE_UP_MONTHS, MADE_UP_WINDOWS, SEEN, UNSEEN, GreenhouseGases
from kernaut.episodes.records import format_record, write_records
from kernaut.errors import InputError
from kernaut.fitting.prefixes import stack_episodes

GASES = GreenhouseGases()


def test_episodes_are_windows_of_a_record_drawn_as_the_protocol_says() -> None:
    for episode in GASES.episodes("validation", 3):
        record = GASES.record(episode.family)
        total = len(record)
        rng = np.random.default_rng(episode.seed)
        count = int(rng.integers(216, total - 48 + 1))
        flipped = bool(rng.integers(0, 2))
        noise = rng.uniform(0, 0.04)
        values = record.values[::-1] if flipped else record.values
        clean = (values - values[:count].mean()) / values[:count].std()
        noisy = clean[:count] + rng.normal(0.0, noise * clean[:count].std(), count)
        np.testing.assert_array_equal(episode.fit_targets, noisy)
        np.testing.assert_array_equal(episode.query_targets, clean[count : count + 48])
        np.testing.assert_array_equal(episode.fit_inputs[:, 0], np.linspace(0, 1, total)[:count])
        np.testing.assert_array_equal(episode.query_inputs[:, 0], np.linspace(0, 1, total)[count : count + 48])
        assert episode.tags["direction"] == ("reversed" if flipped else "forward")
        assert episode.tags["months"] == count


def test_a_windows_months_are_named_in_either_direction() -> None:
    record = GASES.record("co2")
    for episode in GASES.episodes("train", 6)[:6]:
        count = int(episode.tags["months"])
        first, last = episode.tags["first"], episode.tags["last"]
        if episode.tags["direction"] == "forward":
            assert (first, last) == (record.month(0), record.month(count - 1))
        else:
            assert (first, last) == (record.month(len(record) - count), record.month(len(record) - 1))
    assert {e.tags["direction"] for e in GASES.episodes("train", 6)} == {"forward", "reversed"}


def test_families_seeds_and_tuning_horizon() -> None:
    assert GASES.families("train") == GASES.families("validation") == SEEN == ("co2", "ch4", "n2o")
    assert GASES.families("test") == UNSEEN == ("sf6", "cfc12", "cfc11")
    assert [e.seed for e in GASES.episodes("test", 2)] == [20000, 20001, 21000, 21001, 22000, 22001]
    assert {len(e.query_targets) for e in GASES.episodes("train", 1, tuning=True)} == {24}
    assert {len(e.query_targets) for e in GreenhouseGases(horizon=12).episodes("train", 1, tuning=True)} == {12}


def test_a_record_that_is_too_short_for_the_horizon_is_refused(tmp_path: Path) -> None:
    rows = [(2000 + i // 12, i % 12 + 1, str(300.0 + i)) for i in range(263)]
    write_records(tmp_path, {name: ("ppm", format_record(rows)) for name in (*SEEN, *UNSEEN)}, "made up")
    short = GreenhouseGases(data=str(tmp_path))
    with pytest.raises(InputError, match=r"at least 216 \+ 48 months. Got co2 with 263"):
        short.episodes("train", 1)
    assert len(GreenhouseGases(horizon=47, data=str(tmp_path)).episodes("train", 1)) == 3
    assert len(GreenhouseGases(minimum=215, data=str(tmp_path)).episodes("train", 1)) == 3
    with pytest.raises(InputError, match=r"216 \+ 120 months. Got n2o with 304"):
        GreenhouseGases(horizon=120).episodes("train", 1)


def test_options_out_of_range_and_what_the_report_says() -> None:
    for bad in ({"horizon": 0}, {"minimum": -1}, {"horizon": True}):
        with pytest.raises(InputError, match=r"Expected a (horizon|minimum) of at least 1 month"):
            GreenhouseGases(**bad)
    options = GASES.options()
    assert "may share months" in options["overlap"]
    assert len(options["records"]) == 6
    assert GASES.digest() != GreenhouseGases(horizon=24).digest()


def test_rehearsals_are_windows_of_made_up_gases_and_open_no_record(tmp_path: Path) -> None:
    found = GreenhouseGases(data=str(tmp_path)).rehearsals()
    assert len(found) == MADE_UP * MADE_UP_WINDOWS
    assert len({episode.family for episode in found}) == MADE_UP
    assert len({episode.seed for episode in found}) == len(found)
    assert {len(e.query_targets) for e in found} == {48}
    assert min(len(e.fit_targets) for e in found) >= 216
    assert {e.tags["direction"] for e in found} == {"forward", "reversed"}
    assert len(stack_episodes(found)) == len(MADE_UP_MONTHS)
    again = GASES.rehearsals()
    np.testing.assert_array_equal(found[-1].fit_targets, again[-1].fit_targets)
    assert {len(e.query_targets) for e in GreenhouseGases(horizon=120).rehearsals()} == {120}
