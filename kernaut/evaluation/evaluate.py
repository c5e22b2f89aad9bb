"""Evaluate subjects on the episodes and optimization tasks of a benchmark, in parallel where asked.

Stacked episodes are kept for each process, so that scoring one more kernel costs its own arithmetic only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from kernaut.digest import FrozenMapping, freeze, thaw
from kernaut.episodes.benchmark import Benchmark
from kernaut.episodes.episode import Episode, RolloutTask
from kernaut.episodes.registry import benchmark_named
from kernaut.errors import KernautError, OracleFailure
from kernaut.evaluation.engine import ordered_map
from kernaut.evaluation.outcome import Outcome, failure
from kernaut.evaluation.scoring import score_predictive, score_rollouts
from kernaut.evaluation.subject import Subject
from kernaut.fitting.prefixes import Group, stack_episodes
from kernaut.fitting.rollout import CANDIDATES, RolloutGroup
from kernaut.program.program import KernelProgram
from kernaut.sandbox.limits import Limits
from kernaut.sandbox.pool import SandboxPool, default_pool


@dataclass(frozen=True)
class Setting:
    """Which episodes, and what is done on them.

    Args:
        benchmark: a registered benchmark's name.
        split: ``train``, ``validation`` or ``test``.
        per_family: episodes a family.
        options: what the benchmark is made with.
        tuning: the cheaper tuning episodes.
        predictive: whether predictions are scored.
        bo_steps: steps of the optimization rollouts; 0 for none.
        candidates: fresh candidates at each step.
    """

    benchmark: str
    split: str
    per_family: int
    options: Mapping[str, Any] = field(default_factory=lambda: FrozenMapping({}))
    tuning: bool = False
    predictive: bool = True
    bo_steps: int = 0
    candidates: int = CANDIDATES

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", freeze(self.options))

    def made(self) -> Benchmark:
        """The benchmark.

        Raises:
            InputError: for an unknown name or option.
        """
        return benchmark_named(self.benchmark, **thaw(self.options))

    def episodes(self) -> tuple[Group, ...]:
        """Stacked predictive episodes; empty unless ``predictive``. Those whose oracle raised are left out, see :meth:`unmeasured`.

        Raises:
            InputError: for an unknown benchmark or split, or an episode count out of range.
            OracleFailure: when no episode at all can be measured.
        """
        return _episodes(self)[0] if self.predictive else ()

    def unmeasured(self) -> Mapping[int, Outcome]:
        """The failed outcome, for every kernel, of each episode whose oracle raised, by its place among all episodes."""
        return _episodes(self)[1] if self.predictive else {}

    def rollouts(self) -> tuple[RolloutGroup, ...]:
        """Stacked optimization tasks; empty for 0 steps or a benchmark without any.

        Raises:
            InputError: for an unknown benchmark or split, or an episode count out of range.
        """
        return _rollouts(self) if self.bo_steps else ()


@dataclass(frozen=True)
class Evaluation:
    """One subject under one setting.

    Args:
        subject: the kernel.
        setting: the episodes.
        predictive: an outcome for each predictive episode, in the benchmark's order.
        rollouts: an outcome for each optimization task, in the benchmark's order.
    """

    subject: Subject
    setting: Setting
    predictive: tuple[Outcome, ...]
    rollouts: tuple[Outcome, ...]


def evaluate(
    subject: Subject,
    setting: Setting,
    *,
    pool: SandboxPool | None = None,
    programs: Mapping[str, KernelProgram] | None = None,
) -> Evaluation:
    """Evaluate one subject; nothing it does raises.

    Args:
        subject: the kernel.
        setting: the episodes.
        pool: where a program's child is started; the process's default pool if absent.
        programs: accepted programs by identifier, for closures that refer to them.

    Raises:
        InputError: when the setting is wrong.
    """
    episodes, tasks = setting.episodes(), setting.rollouts()
    try:
        kernel = subject.kernel(pool=pool, resolve=(programs or {}).__getitem__)
    except KernautError as error:
        failed = _with_unmeasured(_all_failed(episodes, error), setting)
        return Evaluation(subject, setting, failed, _all_failed(tasks, error))
    try:
        predictive = _with_unmeasured(score_predictive(kernel, episodes), setting)
        return Evaluation(subject, setting, predictive, tuple(score_rollouts(kernel, tasks)))
    finally:
        kernel.close()


def evaluate_all(
    subjects: Sequence[Subject],
    settings: Sequence[Setting],
    *,
    workers: int = 1,
    programs: Mapping[str, KernelProgram] | None = None,
    limits: Limits | None = None,
    done: Callable[[int], None] | None = None,
) -> list[list[Evaluation]]:
    """Evaluate every subject under every setting.

    Args:
        subjects: the kernels.
        settings: the episodes.
        workers: processes; the numbers do not depend on it.
        programs: accepted programs by identifier, for closures that refer to them.
        limits: of every sandboxed program; the default ones if absent.
        done: called with the number of finished evaluations.

    Returns:
        For each subject, in the order given, one evaluation for each setting.

    Raises:
        InputError: when a setting is wrong, or for fewer than 1 worker.
    """
    work = [(subject, setting) for subject in subjects for setting in settings]
    if workers > 1 and any(isinstance(subject.content, KernelProgram) for subject in subjects):
        default_pool().start()
    results = ordered_map(partial(_evaluate_pair, programs=programs, limits=limits), work, workers=workers, done=done)
    width = len(settings)
    return [results[start : start + width] for start in range(0, len(results), width)] if width else []


def _evaluate_pair(
    pair: tuple[Subject, Setting], programs: Mapping[str, KernelProgram] | None, limits: Limits | None
) -> Evaluation:
    return evaluate(*pair, pool=default_pool(limits), programs=programs)


def _with_unmeasured(outcomes: Sequence[Outcome], setting: Setting) -> tuple[Outcome, ...]:
    """Outcomes of the measured episodes, and the failed ones of the others, in the benchmark's order."""
    failed, measured = setting.unmeasured(), iter(outcomes)
    return tuple(failed[i] if i in failed else next(measured) for i in range(len(outcomes) + len(failed)))


def _all_failed(groups: Sequence[Group] | Sequence[RolloutGroup], error: KernautError) -> tuple[Outcome, ...]:
    """The same failure for every episode or task, in the benchmark's order."""
    places: dict[int, Episode | RolloutTask] = {}
    for group in groups:
        members: Sequence[Episode | RolloutTask] = group.tasks if isinstance(group, RolloutGroup) else group.episodes
        places |= zip(group.indices, members, strict=True)
    return tuple(failure(places[index].name, places[index].family, error) for index in sorted(places))


@lru_cache(maxsize=8)
def _episodes(setting: Setting) -> tuple[tuple[Group, ...], Mapping[int, Outcome]]:
    made = setting.made()
    drawn = made.episodes_or_failures(setting.split, setting.per_family, tuning=setting.tuning)
    failed = {i: failure(one.episode, one.family, one) for i, one in enumerate(drawn) if isinstance(one, OracleFailure)}
    return tuple(stack_episodes([one for one in drawn if isinstance(one, Episode)])), failed


@lru_cache(maxsize=8)
def _rollouts(setting: Setting) -> tuple[RolloutGroup, ...]:
    tasks = setting.made().rollouts(setting.split, setting.per_family)
    return tuple(RolloutGroup.stack(tasks, setting.bo_steps, setting.candidates))
