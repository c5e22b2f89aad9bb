"""What one kernel did on one episode: scores, or a reason for having none.

A failure is a state, never a number.  Penalties enter in :func:`mean_score` and :func:`penalized` alone, where means are formed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kernaut.errors import KernautError, ProgramRefused, SandboxFailure

State = Literal["scored", "refused", "failed", "crashed", "timed out"]
PREDICTIVE_PENALTY = 2.0
"""What a failed episode enters means of CRPS, NLPD and RMSE with; coverage and width are means over the scored episodes."""


@dataclass(frozen=True)
class Outcome:
    """One kernel on one episode or optimization task.

    Args:
        episode: the episode's name.
        family: its function family.
        state: ``scored``, or how it failed.
        scores: numbers by name if and only if scored: ``crps``, ``nlpd``, ``rmse``, ``coverage95``, ``width95`` of a predictive episode, ``nlml`` of one without queries (minus its log marginal likelihood a row), ``regret_auc``,
            ``final_regret`` of a rollout.
        fit: ``amplitude``, ``noise``, ``log_marginal`` and ``condition`` of a scored predictive episode; empty for rollouts.
        reason: why there are no scores.
        curve: normalized regret after each step of a scored rollout.

    Raises:
        ValueError: when state, scores and reason contradict each other.
    """

    episode: str
    family: str
    state: State
    scores: Mapping[str, float] | None = None
    fit: Mapping[str, float] | None = None
    reason: str | None = None
    curve: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        scored = self.state == "scored"
        if scored != (self.scores is not None) or scored != (self.reason is None):
            raise ValueError(
                f"Expected scores without reason when scored, reason without scores otherwise. Got state {self.state!r}, "
                f"scores {self.scores!r}, reason {self.reason!r}."
            )

    @property
    def scored(self) -> bool:
        """Whether there are scores."""
        return self.state == "scored"

    def to_json(self) -> dict[str, Any]:
        """One line of a report's ``episodes`` (when scored) or ``failures``."""
        record: dict[str, Any] = {"episode": self.episode, "family": self.family}
        if self.scores is None:
            return {**record, "state": self.state, "reason": self.reason}
        record |= dict(self.scores) | dict(self.fit or {})
        if self.curve:
            record["regret"] = list(self.curve)
        return record


def failure(episode: str, family: str, error: KernautError) -> Outcome:
    """The outcome of an episode that an error ended: a refusal, the sandbox's own state, or ``failed``."""
    state: State = "failed"
    if isinstance(error, SandboxFailure):
        state = error.state
    elif isinstance(error, ProgramRefused):
        state = "refused"
    return Outcome(episode, family, state, reason=error.message)


def penalized(outcomes: Iterable[Outcome], name: str, penalty: float) -> list[float]:
    """One number for each outcome: its score, or the penalty where it has none."""
    return [penalty if outcome.scores is None else float(outcome.scores[name]) for outcome in outcomes]


def mean_score(outcomes: Sequence[Outcome], name: str, penalty: float | None = None) -> float | None:
    """Mean of a score over episodes.

    Args:
        outcomes: of one kernel.
        name: the score.
        penalty: what a failed episode counts as; None leaves it out of the mean.

    Returns:
        The mean; None when nothing enters it.
    """
    if penalty is None:
        outcomes = [outcome for outcome in outcomes if outcome.scored]
    values = penalized(outcomes, name, 0.0 if penalty is None else penalty)
    return sum(values) / len(values) if values else None


def mean_crps(outcomes: Sequence[Outcome]) -> float:
    """The reported metric: mean CRPS over episodes, 2.0 for a failed one.

    Raises:
        ValueError: for no outcomes.
    """
    if not outcomes:
        raise ValueError("Expected at least one outcome. Got none.")
    values = penalized(outcomes, "crps", PREDICTIVE_PENALTY)
    return sum(values) / len(values)


def loss_name(outcomes: Iterable[Outcome]) -> str:
    """The score that a search minimizes: ``nlml`` where episodes are scored by their marginal likelihood, ``crps`` otherwise."""
    return "nlml" if any(outcome.scores is not None and "nlml" in outcome.scores for outcome in outcomes) else "crps"


def mean_loss(outcomes: Sequence[Outcome]) -> float:
    """Mean of :func:`loss_name` over episodes, 2.0 for a failed one.

    Raises:
        ValueError: for no outcomes.
    """
    if not outcomes:
        raise ValueError("Expected at least one outcome. Got none.")
    values = penalized(outcomes, loss_name(outcomes), PREDICTIVE_PENALTY)
    return sum(values) / len(values)


def family_means(outcomes: Sequence[Outcome], name: str, penalty: float) -> dict[str, float]:
    """Mean of a score for each family, in order of first appearance; a failed episode counts as the penalty."""
    values: dict[str, list[float]] = {}
    for outcome, value in zip(outcomes, penalized(outcomes, name, penalty), strict=True):
        values.setdefault(outcome.family, []).append(value)
    return {family: sum(found) / len(found) for family, found in values.items()}
