"""What every benchmark offers: families by split, episodes, and optimization tasks where it has them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from kernaut.digest import content_id
from kernaut.episodes.coordinate import Axis, Coordinate, plain_axis
from kernaut.episodes.episode import MAX_PER_FAMILY, Episode, RolloutTask, require_per_family, require_split
from kernaut.errors import OracleFailure


class Benchmark(ABC):
    """A named source of episodes.

    Subclasses set the class attributes and implement :meth:`families` and :meth:`_episode`; one with optimization tasks implements :meth:`_rollout` too.
    Seeds and counts are checked here, so that no subclass can forget to.

    Attributes:
        name: the name on the command line.
        version: raised whenever a number changes.
        dimensions: input dimensions that programs declare for it, and are verified in.
        metrics: ``predictive.mean_crps`` and, with optimization tasks, ``bo.regret_auc``.
        has_rollouts: whether it has optimization tasks.
        most_per_family: the most episodes that a family has.
        refinement_episodes: tuning episodes a family that a search's gradient steps use.
        reference_grid: which fixed grid of reference kernels it is compared with, see :mod:`kernaut.evaluation.references`.
        sealed_test: the command that scores its test where reports must not open that split; None where they may.
        coordinates: what its inputs are, in order, for authors; empty where they are anonymous points of the unit cube.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    dimensions: tuple[int, ...]
    metrics: tuple[str, ...] = ("predictive.mean_crps",)
    has_rollouts: ClassVar[bool] = False
    most_per_family: ClassVar[int] = MAX_PER_FAMILY
    refinement_episodes: ClassVar[int] = 10
    reference_grid: ClassVar[str] = "cube"
    sealed_test: ClassVar[str | None] = None
    coordinates: tuple[Coordinate, ...] = ()

    @abstractmethod
    def families(self, split: str) -> tuple[str, ...]:
        """The split's families, in the order that their seeds follow.

        Raises:
            InputError: for an unknown split.
        """

    @abstractmethod
    def _episode(self, split: str, family_index: int, episode_index: int, tuning: bool) -> Episode:
        """One episode; arguments are already checked."""

    def rehearsals(self) -> list[Episode]:
        """Made-up episodes that a search tunes on beside those of meta-training, for what its families do not show; they hold data of no split.  None by default."""
        return []

    def _rollout(self, split: str, family_index: int, episode_index: int) -> RolloutTask:
        """One optimization task; arguments are already checked."""
        raise AssertionError(f"{self.name} has no optimization tasks")

    def episodes(self, split: str, per_family: int, *, tuning: bool = False) -> list[Episode]:
        """Predictive episodes, family by family.

        Args:
            split: ``train``, ``validation`` or ``test``.
            per_family: episodes of each family, 1 to 999 (fewer where the benchmark's data has fewer).
            tuning: the cheaper episodes that parameter tuning uses.

        Raises:
            InputError: for an unknown split or an episode count out of range.
            OracleFailure: when an episode cannot be measured.
        """
        found = self.episodes_or_failures(split, per_family, tuning=tuning)
        failed = next((one for one in found if isinstance(one, OracleFailure)), None)
        if failed is not None:
            raise failed
        return [one for one in found if isinstance(one, Episode)]

    def episodes_or_failures(
        self, split: str, per_family: int, *, tuning: bool = False
    ) -> list[Episode | OracleFailure]:
        """As :meth:`episodes`, with the failure in place of an episode whose oracle raised.

        Raises:
            InputError: for an unknown split or an episode count out of range.
            OracleFailure: when no episode at all can be measured.
        """
        count = require_per_family(per_family, self.most_per_family)
        families = self.families(require_split(split))
        found = [self._measured(split, i, j, tuning) for i in range(len(families)) for j in range(count)]
        failed = [one for one in found if isinstance(one, OracleFailure)]
        if failed and len(failed) == len(found):
            raise failed[0]
        return found

    def _measured(self, split: str, family_index: int, episode_index: int, tuning: bool) -> Episode | OracleFailure:
        try:
            return self._episode(split, family_index, episode_index, tuning)
        except OracleFailure as error:
            return error

    @property
    def warning(self) -> str | None:
        """What a reader of numbers must know beforehand; None when there is nothing."""
        return None

    def rollouts(self, split: str, per_family: int) -> list[RolloutTask]:
        """Optimization tasks, family by family; empty where the benchmark has none.

        Raises:
            InputError: for an unknown split or an episode count out of range.
        """
        count = require_per_family(per_family)
        families = self.families(require_split(split))
        if not self.has_rollouts:
            return []
        return [self._rollout(split, i, j) for i in range(len(families)) for j in range(count)]

    def axis(self, episode: Episode, coordinate: int = 0) -> Axis:
        """How figures of an episode show one of its inputs: in the coordinate's unit, or as a plain number where it is anonymous."""
        if coordinate < len(self.coordinates):
            return self.coordinates[coordinate].axis()
        return plain_axis(coordinate, episode.dimension)

    def options(self) -> dict[str, Any]:
        """What the benchmark was made with, as it stands in reports."""
        return {}

    def digest(self) -> str:
        """Identifier of what its episodes are drawn from; reports with different ones are not compared."""
        families = {split: list(self.families(split)) for split in ("train", "validation", "test")}
        return content_id(
            {"benchmark": self.name, "version": self.version, "families": families, "options": self.options()}
        )
