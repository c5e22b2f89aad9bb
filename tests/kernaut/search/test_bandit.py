"""The bandit: warm-up, rewards on a running scale, a preference for what is better, and the same choice for the same past."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from kernaut.authors.author import Brief, Tools
from kernaut.errors import InputError
from kernaut.search.bandit import BanditOptions, Ensemble, Played, running_rewards


class Named:
    """An author that does nothing."""

    runs_at_once = 1

    def __init__(self, name: str) -> None:
        self.name = name

    def write(self, brief: Brief, tools: Tools) -> None:
        """Write nothing."""


def ensemble(*names: str, weights: tuple[float, ...] | None = None, **options: object) -> Ensemble:
    members = tuple(Named(name) for name in names)
    return Ensemble(members, weights or (1.0,) * len(names), BanditOptions(**options))  # type: ignore[arg-type]


def test_rewards_lie_between_the_extremes_so_far() -> None:
    scores = [None, 0.2, 0.2, 0.6, 0.4, -0.4]
    assert running_rewards([Played("a", score) for score in scores]) == pytest.approx([0.0, 0.5, 0.5, 1.0, 0.5, 0.0])


def test_every_member_warms_up_first() -> None:
    crowd = ensemble("a", "b", "c")
    played: list[Played] = []
    for index in range(6):
        played.append(Played(crowd.choose(played, 3, index).name, float(index)))
    assert [run.member for run in played] == ["a", "b", "c", "a", "b", "c"]


def test_the_better_member_gets_most_runs_and_the_other_is_not_forgotten() -> None:
    crowd = ensemble("good", "bad")
    played: list[Played] = []
    rng = np.random.default_rng(0)
    for index in range(200):
        name = crowd.choose(played, 1, index).name
        played.append(Played(name, rng.uniform(0.6, 1.0) if name == "good" else rng.uniform(0.0, 0.5)))
    counts = Counter(run.member for run in played)
    assert counts["good"] > 150
    assert counts["bad"] > 3


def test_only_the_window_counts() -> None:
    past = [Played("gone", 0.0), *(Played("a", 1.0) for _ in range(50)), *(Played("b", 0.5) for _ in range(50))]
    past += [Played("a", 0.0) for _ in range(20)]
    short = Counter(ensemble("a", "b", window=20).choose(past, seed, 9).name for seed in range(60))
    long = Counter(ensemble("a", "b", window=500).choose(past, seed, 9).name for seed in range(60))
    assert short["b"] > 55
    assert long["a"] > 45


def test_a_choice_follows_from_the_past() -> None:
    crowd = ensemble("a", "b", "c")
    past = [Played(name, 0.1 * place) for place, name in enumerate("abcabcabc")]
    assert {crowd.choose(past, 5, 9).name for _ in range(5)} == {crowd.choose(past, 5, 9).name}
    assert len({crowd.choose(past, seed, 9).name for seed in range(30)}) > 1


def test_without_the_bandit_weights_decide() -> None:
    crowd = ensemble("a", "b", weights=(3.0, 1.0), enabled=False)
    counts = Counter(crowd.choose([], seed, 0).name for seed in range(400))
    assert 260 < counts["a"] < 340


def test_what_is_no_ensemble_is_refused() -> None:
    for names, weights in (((), ()), (("a", "a"), (1.0, 1.0)), (("a", "b"), (1.0,)), (("a", "b"), (1.0, 0.0))):
        with pytest.raises(InputError, match=r"members|weights"):
            Ensemble(tuple(Named(name) for name in names), weights)
    with pytest.raises(InputError, match="window"):
        BanditOptions(window=0)
