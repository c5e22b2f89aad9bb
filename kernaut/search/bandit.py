"""Several authors in one campaign: a Thompson bandit over them, or fixed weights.

Each author first does some warm-up runs.  Then its share of good runs is drawn from Beta(1 + sum s, 1 + sum (1 - s)) over its last runs, and the largest
draw does the next run; s is a run's best elite score on the running scale from the smallest to the largest so far (1/2 while these are
equal), and 0 for a run without an accepted program.  Thompson, 1933, Biometrika 25.

Every choice follows from the campaign's seed, the run's index and what earlier generations closed, so that a resumed campaign chooses alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from kernaut.authors.author import Author, Traits, traits_of
from kernaut.errors import InputError
from kernaut.seeds import generator


@dataclass(frozen=True)
class BanditOptions:
    """How a bandit chooses.

    Args:
        enabled: whether it chooses at all; without it the members' weights do.
        warmup_runs: runs of each member before anything is learned from them.
        window: how many of a member's last runs count.

    Raises:
        InputError: for a number out of range.
    """

    enabled: bool = True
    warmup_runs: int = 2
    window: int = 20

    def __post_init__(self) -> None:
        if not 0 <= self.warmup_runs <= 1000 or not 1 <= self.window <= 10_000:
            raise InputError(
                f"Expected warmup_runs from 0 to 1000 and a window from 1 to 10000. Got {self.warmup_runs!r} and {self.window!r}."
            )


@dataclass(frozen=True)
class Played:
    """A run that a member did, and its best elite score; None when nothing was accepted, or when it is not closed yet."""

    member: str
    elite_score: float | None


@dataclass(frozen=True)
class Ensemble:
    """Authors that share a campaign's runs.

    Args:
        members: with distinct names.
        weights: of the members, above 0; their shares of the runs where the bandit is off.
        bandit: how the next one is chosen.
        runs_at_once: how many runs may be under way together.

    Raises:
        InputError: for no members, two of one name, or a weight that is not above 0.
    """

    members: tuple[Author, ...]
    weights: tuple[float, ...]
    bandit: BanditOptions = field(default_factory=BanditOptions)
    runs_at_once: int = 1
    name = "ensemble"

    def __post_init__(self) -> None:
        names = [member.name for member in self.members]
        if not names or len(set(names)) != len(names) or len(self.weights) != len(names):
            raise InputError(
                f"Expected members of different names, with a weight each. Got {', '.join(names) or 'none'}."
            )
        if not all(0.0 < weight < 1e6 for weight in self.weights):
            raise InputError(f"Expected weights above 0. Got {', '.join(str(weight) for weight in self.weights)}.")

    @property
    def traits(self) -> Traits:
        """Its members and how it chooses, as they stand with a campaign."""
        members: list[dict[str, Any]] = [
            {"name": member.name, "weight": weight, **traits_of(member).options}
            for member, weight in zip(self.members, self.weights, strict=True)
        ]
        return Traits(options={"members": members, "bandit": asdict(self.bandit)})

    def choose(self, played: Sequence[Played], seed: int, index: int) -> Author:
        """The author of a run.

        Args:
            played: earlier runs in order, those of the same generation without a score included.
            seed: the campaign's.
            index: the run's.
        """
        rng = generator("bandit", seed, index)
        if not self.bandit.enabled:
            total = sum(self.weights)
            return self.members[int(rng.choice(len(self.members), p=[weight / total for weight in self.weights]))]
        counts = Counter(run.member for run in played)
        fresh = min(self.members, key=lambda member: counts[member.name])  # the first of those, on a tie
        if counts[fresh.name] < self.bandit.warmup_runs:
            return fresh
        rewards = running_rewards(played)
        draws = []
        for member in self.members:
            own = [s for run, s in zip(played, rewards, strict=True) if run.member == member.name][
                -self.bandit.window :
            ]
            draws.append(float(rng.beta(1.0 + sum(own), 1.0 + len(own) - sum(own))))
        return self.members[draws.index(max(draws))]


def running_rewards(played: Sequence[Played]) -> list[float]:
    """Each run's place between the smallest and the largest elite score up to it, in [0, 1]."""
    rewards = []
    low = high = None
    for run in played:
        score = run.elite_score
        if score is None:
            rewards.append(0.0)
            continue
        low = score if low is None else min(low, score)
        high = score if high is None else max(high, score)
        rewards.append(0.5 if high == low else (score - low) / (high - low))
    return rewards
