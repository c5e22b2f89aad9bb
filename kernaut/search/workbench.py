"""What every run of a campaign measures programs with: options, episodes, references.

The options are small and travel to worker processes; episodes are stacked once in each process and kept there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from kernaut.digest import FrozenMapping, freeze, thaw
from kernaut.episodes.benchmark import Benchmark
from kernaut.episodes.registry import benchmark_named
from kernaut.errors import InputError
from kernaut.evaluation.evaluate import Evaluation, Setting, evaluate_all
from kernaut.evaluation.references import family_winners, references_of
from kernaut.evaluation.subject import Subject
from kernaut.fitting.prefixes import Group, stack_episodes
from kernaut.sandbox.limits import Limits
from kernaut.sandbox.pool import SandboxPool, default_pool
from kernaut.search.novelty import Fingerprint, fingerprint
from kernaut.search.scores import EliteMode, Yardstick, yardstick

SEARCH_STEPS = 3
SEARCH_CANDIDATES = 64


@dataclass(frozen=True)
class SearchOptions:
    """What steers the measurements of a campaign.

    Args:
        benchmark: a registered benchmark's name.
        seed: the campaign's seed; verification uses it too, the partitions never.
        episodes_per_family: meta-training episodes that submissions are scored on.
        novelty_threshold: fingerprint distance below which novelty is penalized; 0 turns it off.
        elite_score: ``paper`` or ``score``.
        benchmark_options: what the benchmark is made with.
        limits: of every sandboxed program.
        worst_family_weight: how much of the worst family's mean CRPS the score subtracts besides the mean.
        baselines: extensions whose kernels are among the references; None for all that are installed.

    Raises:
        InputError: for a value out of range.
    """

    benchmark: str = "bbo"
    seed: int = 0
    episodes_per_family: int = 2
    novelty_threshold: float = 0.08
    elite_score: EliteMode = "paper"
    benchmark_options: Mapping[str, Any] = field(default_factory=lambda: FrozenMapping({}))
    limits: Limits = field(default_factory=Limits)
    worst_family_weight: float = 0.0
    baselines: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "benchmark_options", freeze(self.benchmark_options))
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise InputError(f"Expected a seed that is a whole number of at least 0. Got {self.seed!r}.")
        if not 0.0 <= self.novelty_threshold <= 2.0:
            raise InputError(f"Expected a novelty threshold from 0 (off) to 2. Got {self.novelty_threshold!r}.")
        if self.elite_score not in ("paper", "score"):
            raise InputError(f"Expected an elite score of paper, score. Got {self.elite_score!r}.")
        if not 0.0 <= self.worst_family_weight <= 1e6:
            raise InputError(f"Expected a weight of the worst family of at least 0. Got {self.worst_family_weight!r}.")
        made = self.training().made()
        made.episodes("train", self.episodes_per_family)

    def training(self) -> Setting:
        """Meta-training episodes and short rollouts that submissions are scored on."""
        return Setting(
            self.benchmark,
            "train",
            self.episodes_per_family,
            self.benchmark_options,
            bo_steps=SEARCH_STEPS,
            candidates=SEARCH_CANDIDATES,
        )

    def trials(self) -> Setting:
        """One tuning episode a family: what tuning trials are scored on."""
        return Setting(self.benchmark, "train", 1, self.benchmark_options, tuning=True)

    def refinement(self) -> Setting:
        """More tuning episodes: what gradient steps use, and what drafts are compared on."""
        made = self.made()
        count = min(made.refinement_episodes, made.most_per_family)
        return Setting(self.benchmark, "train", count, self.benchmark_options, tuning=True)

    def practice(self) -> tuple[Group, ...]:
        """The refinement episodes, and with them those that the benchmark makes up: what gradient steps lower and drafts are compared by."""
        return (*stacked(self.refinement()), *_rehearsals(self.benchmark, self.benchmark_options))

    def pool(self) -> SandboxPool:
        """This process's pool with the search's limits."""
        return default_pool(self.limits)

    def made(self) -> Benchmark:
        """The benchmark."""
        return self.training().made()

    def to_json(self) -> dict[str, Any]:
        """Everything but the seed, as stored with a campaign."""
        return {
            "episodes_per_family": self.episodes_per_family,
            "novelty_threshold": self.novelty_threshold,
            "elite_score": self.elite_score,
            "benchmark_options": thaw(self.benchmark_options),
            "refinement_episodes": self.refinement().per_family,
            **({"rehearsals": made_up} if (made_up := len(self.made().rehearsals())) else {}),
            "search_steps": SEARCH_STEPS,
            "search_candidates": SEARCH_CANDIDATES,
            "limits": asdict(self.limits),
            **({"worst_family_weight": self.worst_family_weight} if self.worst_family_weight else {}),
            **({"baselines": sorted(self.baselines)} if self.baselines is not None else {}),
        }


@dataclass(frozen=True, eq=False)
class Workbench:
    """Options with what was measured once for the whole campaign; picklable.

    Args:
        options: the search's options.
        measure: the best references on each measure.
        known: fingerprints of all references by name.
        winners: the winner of each reference family on the campaign's meta-training setting.
    """

    options: SearchOptions
    measure: Yardstick
    known: tuple[tuple[str, Fingerprint], ...]
    winners: tuple[Evaluation, ...]


def prepare(options: SearchOptions, *, workers: int = 1, done: Callable[[int], None] | None = None) -> Workbench:
    """Measure the references; kept in this process, since a campaign that is resumed needs the same again.

    Args:
        options: the search's options.
        workers: processes.
        done: called with the number of references evaluated so far.
    """
    if options not in _PREPARED:
        references = references_of(options.made(), options.baselines)
        winners = family_winners(references, options.training(), workers=workers, done=done)
        measured = evaluate_all([winner.subject for winner in winners], [options.training()])
        first = tuple(row[0] for row in measured)
        _PREPARED[options] = Workbench(options, yardstick(first), tuple(_fingerprints(references)), first)
    return _PREPARED[options]


_PREPARED: dict[SearchOptions, Workbench] = {}


def _fingerprints(references: list[Subject]) -> list[tuple[str, np.ndarray]]:
    found = []
    for subject in references:
        kernel = subject.kernel()
        found.append((subject.name, fingerprint(kernel)))
        kernel.close()
    return found


@lru_cache(maxsize=4)
def stacked(setting: Setting) -> tuple[Group, ...]:
    """The stacked episodes of a setting, kept in this process."""
    return setting.episodes()


@lru_cache(maxsize=4)
def _rehearsals(benchmark: str, options: Mapping[str, Any]) -> tuple[Group, ...]:
    return tuple(stack_episodes(benchmark_named(benchmark, **thaw(options)).rehearsals()))
