"""Regret of closed runs, against slow twins and by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from kernaut.errors import InputError
from kernaut.sealed.aggregation import (
    curve_interval,
    episode_regret,
    hierarchical_interval,
    learning_curve,
    report,
    seconds_auc,
)
from kernaut.sealed.calibration import regret
from kernaut.sealed.runs import Run


def filled(
    desk: Any, policy: str, rng: np.random.Generator, *, seeds: tuple[int, ...] = (0, 1), split: str = "all"
) -> Run:
    """A closed run with random queries; every fifth episode fails."""
    run = desk.register(policy, split, seeds)
    for place, episode in enumerate(run.episodes.values()):
        token, task = desk.book.token(run, episode), desk.manifest.tasks[episode.task_id]
        desk.book.open(token, 0.0)
        for index in range(3):
            sent = task.space.sample(rng).tolist()
            desk.book.evaluate(token, index, task.to_json(), episode.seed, sent, float(index))
            desk.book.answered(token, float(index))
        if place % 5 == 4:
            desk.book.finish(token, ("timeout", "crash", "malformed", "no_final")[place // 5 % 4], None, "failed")
        else:
            desk.book.finish(token, "returned", 1, "")
    return desk.book.close(run.id)


def test_means_are_those_of_a_slow_twin(desk: Any, rng: np.random.Generator) -> None:
    run = filled(desk, "p", rng)
    found = report(desk.book.ledger, [run], [run])
    (entry,) = found["runs"]
    raw: dict[str, list[list[float]]] = {}
    for identifier in sorted({task for task, _ in run.episodes}):
        row = desk.book.ledger.row(identifier)
        assert row.calibrated
        values = []
        for seed in (0, 1):
            episode = run.episodes[identifier, seed]
            failed = episode.outcome != "returned"
            star, random = row.j_star, row.j_random.mean
            values.append(2.0 if failed else (star - episode.answers[1]) / (star - random + 1e-9))
        raw.setdefault(row.family, []).append(values)
    flat = [np.mean(values) for family in raw.values() for values in family]
    assert entry["raw"]["micro"]["mean"] == pytest.approx(np.mean(flat), rel=1e-12)
    macro = np.mean([np.mean(family) for family in raw.values()])
    assert entry["raw"]["macro"]["mean"] == pytest.approx(macro, rel=1e-12)
    cut = [np.mean([min(1.0, max(0.0, v)) for v in values]) for family in raw.values() for values in family]
    assert entry["clipped"]["micro"]["mean"] == pytest.approx(np.mean(cut), rel=1e-12)
    low, high = entry["raw"]["micro"]["interval"]
    assert low < entry["raw"]["micro"]["mean"] < high
    assert entry["outcomes"] == {"returned": 15, "malformed": 1, "timeout": 1, "crash": 1, "no_final": 0}
    assert list(entry)[5:9] == ["outcomes", "queries", "begun_again", "raw"]


def test_failures_have_raw_regret_of_exactly_two(desk: Any, rng: np.random.Generator) -> None:
    run = filled(desk, "p", rng)
    for (identifier, _), episode in run.episodes.items():
        row = desk.book.ledger.row(identifier)
        if episode.outcome == "returned":
            expected = regret("maximize", episode.answers[1], row.j_star, row.j_random.mean)
            assert episode_regret(episode, row) == expected
        else:
            assert episode_regret(episode, row) == 2.0
            assert regret("maximize", row.j_worst, row.j_star, row.j_random.mean) == pytest.approx(2.0, abs=1e-9)


def test_learning_curves_by_hand(desk: Any, rng: np.random.Generator) -> None:
    run = filled(desk, "p", rng, split="test", seeds=(0,))
    episode = next(e for e in run.episodes.values() if "haar" in e.task_id)
    row = desk.book.ledger.row(episode.task_id)
    regrets = [regret("maximize", a, row.j_star, row.j_random.mean) for a in episode.answers]
    best = [regrets[0], min(regrets[:2]), min(regrets)]
    np.testing.assert_allclose(learning_curve(episode, row), best + [best[-1]] * 7)
    # queries at 0, 1 and 2 seconds, then level until 8
    expected = (0 * 2.0 + 1 * best[0] + 1 * best[1] + 6 * best[2]) / 8.0
    episode.seconds = [0.0, 1.0, 2.0]
    assert seconds_auc(episode, row, 8.0) == pytest.approx(expected)
    episode.seconds = [1.0, 3.0, 20.0]
    assert seconds_auc(episode, row, 8.0) == pytest.approx((1 * 2.0 + 2 * best[0] + 5 * best[1]) / 8.0)
    episode.outcome = "crash"
    assert learning_curve(episode, row).tolist() == [2.0] * 10


def test_the_interval_resamples_instances_then_seeds() -> None:
    rng = np.random.default_rng(3)
    # all variation between instances: the interval is that of a plain bootstrap of instance means
    between = np.repeat(rng.normal(size=(40, 1)), 5, axis=1)
    low, high = hierarchical_interval([between], macro=True, name="x")
    assert high - low == pytest.approx(2 * 1.96 * between[:, 0].std() / np.sqrt(40), rel=0.2)
    # all variation within: instances resampled and seeds resampled, variance (1/40)(within / 5)
    within = np.tile([-1.0, -0.5, 0.0, 0.5, 1.0], (40, 1))
    low, high = hierarchical_interval([within], macro=True, name="y")
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(0.5 / 5 / 40), rel=0.2)
    assert low < 0.0 < high


def test_micro_and_macro_weigh_families_differently() -> None:
    small, large = np.full((2, 3), 1.0), np.full((8, 3), 0.0)
    assert hierarchical_interval([small, large], macro=True, name="x") == (0.5, 0.5)
    low, high = hierarchical_interval([small, large], macro=False, name="x")
    assert low == pytest.approx(0.2) and high == pytest.approx(0.2)


def test_the_runners_report_holds_no_single_number_and_the_owners_does(desk: Any, rng: np.random.Generator) -> None:
    run = filled(desk, "p", rng)
    public = json.dumps(report(desk.book.ledger, [run], [run], times=True))
    assert "j_star" not in public and "j_random" not in public and "episodes" not in public
    for identifier in desk.book.ledger.task_ids:
        row = desk.book.ledger.row(identifier)
        assert repr(row.j_random.mean) not in public
        assert row.j_star == 0.0 or repr(row.j_star) not in public
    detailed = report(desk.book.ledger, [run], [run], details=True)["runs"][0]["episodes"]
    assert len(detailed) == 18
    assert {e["raw_regret"] for e in detailed if e["outcome"] != "returned"} == {2.0}


def test_uncalibrated_instances_are_listed_and_left_out(desk: Any, rng: np.random.Generator) -> None:
    run = filled(desk, "p", rng)
    true_row = desk.book.ledger.row
    dropped = "v41-haar_encode-0001"

    def row(identifier: str) -> Any:
        found = true_row(identifier)
        if identifier == dropped:
            object.__setattr__(found, "calibrated", False)
        return found

    desk.book.ledger.row = row
    before = report(desk.book.ledger, [run], [run], details=True)
    assert before["uncalibrated"] == [dropped]
    assert before["runs"][0]["instances"] == 8
    kept = [e["raw_regret"] for e in before["runs"][0]["episodes"] if e["task_id"] != dropped]
    assert before["runs"][0]["raw"]["micro"]["mean"] == pytest.approx(np.mean(kept))


def test_a_report_does_not_depend_on_tokens_run_names_or_time(desk: Any) -> None:
    texts = []
    for _ in range(2):
        run = filled(desk, "p", np.random.default_rng(5))
        texts.append(json.dumps(report(desk.book.ledger, [run], [run])))
    assert texts[0] == texts[1]


def test_reports_that_make_no_sense_are_refused(desk: Any, rng: np.random.Generator) -> None:
    run, other = filled(desk, "p", rng, split="test"), filled(desk, "q", rng, split="train")
    with pytest.raises(InputError, match="Got none"):
        report(desk.book.ledger, [], [run])
    with pytest.raises(InputError, match="one split"):
        report(desk.book.ledger, [run, other], [run, other])
    going_on = desk.register("r", "test")
    with pytest.raises(InputError, match="closed runs"):
        report(desk.book.ledger, [run, going_on], [run])


def test_rankings_put_raw_first_and_count_registrations(desk: Any, rng: np.random.Generator) -> None:
    runs = [filled(desk, name, rng) for name in ("b", "a", "b")]
    found = report(desk.book.ledger, runs, runs)
    assert found["registered"] == {"a": 1, "b": 2}
    assert list(found["rankings"]) == ["raw", "clipped"]
    order = [entry["regret"] for entry in found["rankings"]["raw"]["macro"]]
    assert order == sorted(order) and len(order) == 3
    assert [entry["policy"] for entry in found["runs"]] == ["a", "b", "b"]


def test_curves_come_with_intervals_of_the_same_resamples_as_means(desk: Any, rng: np.random.Generator) -> None:
    values = rng.random((5, 3, 4))
    lower, upper = curve_interval([values, values[:2] + 1.0], macro=True, name="z")
    for query in range(4):
        single = [values[:, :, query], values[:2, :, query] + 1.0]
        assert hierarchical_interval(single, macro=True, name="z") == pytest.approx((lower[query], upper[query]))
    run = filled(desk, "p", rng)
    (entry,) = report(desk.book.ledger, [run], [run])["runs"]
    families = entry["auc_queries"]["families"]
    for family, found in families.items():
        lines = [
            learning_curve(run.episodes[task, seed], desk.book.ledger.row(task))
            for task, seed in run.episodes
            if desk.book.ledger.row(task).family == family
        ]
        np.testing.assert_allclose(found["curve"], np.mean(lines, axis=0))
        assert all(
            low <= mean <= high for low, mean, high in zip(found["lower"], found["curve"], found["upper"], strict=True)
        )
    width = max(len(found["curve"]) for found in families.values())
    level = [[*f["curve"], *f["curve"][-1:] * (width - len(f["curve"]))] for f in families.values()]
    np.testing.assert_allclose(entry["auc_queries"]["curves"]["macro"]["curve"], np.mean(level, axis=0))
    micro = entry["auc_queries"]["curves"]["micro"]
    assert len({len(values) for values in micro.values()}) == 1
    assert micro["lower"][-1] < micro["curve"][-1] < micro["upper"][-1]
