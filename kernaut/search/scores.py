"""Search score and elite score of a program on meta-training episodes.

``score`` is minus the mean CRPS minus the novelty penalty.  The elite score, which steers elites and scheduler, weighs relative improvements over the best
tuned reference; rollouts enter it, and never the score.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kernaut.evaluation.evaluate import Evaluation
from kernaut.evaluation.outcome import (
    PREDICTIVE_PENALTY,
    Outcome,
    family_means,
    loss_name,
    mean_loss,
    mean_score,
    penalized,
)

EliteMode = Literal["paper", "score"]
WEIGHTS = {"crps": 0.55, "regret_auc": 0.30, "final_regret": 0.10, "worst_family": 0.05}
SMALLEST_REFERENCE = 1e-8


@dataclass(frozen=True)
class Yardstick:
    """The best tuned reference on each measure, on the campaign's meta-training episodes.

    Args:
        name: the reference of smallest mean CRPS.
        loss: its CRPS on each episode, in order, or minus its log marginal likelihood a row where episodes are scored by that.
        family_loss: the mean of these by family.
        regret_auc: the smallest mean regret AUC of any reference; None without rollouts.
        final_regret: the smallest mean final regret of any reference; None without rollouts.
    """

    name: str
    loss: tuple[float, ...]
    family_loss: tuple[tuple[str, float], ...]
    regret_auc: float | None
    final_regret: float | None


@dataclass(frozen=True)
class Scores:
    """What a program is worth to the search.

    Args:
        score: minus mean CRPS minus the novelty penalty.
        elite_score: see the module.
        mean_crps: the raw metric; None where episodes are scored by their likelihood.
        improvement: dC, the mean over episodes of the relative improvement in CRPS, or of the gain in log marginal likelihood a row.
        stability: ``0.01 max(0, log10 cond - 4)``.
        novelty_penalty: what a lack of novelty costs.
        regret_auc: of the search-time rollouts; None without.
        final_regret: likewise.
        mean_nlml: minus the log marginal likelihood a row; None where episodes are scored by CRPS.
    """

    score: float
    elite_score: float
    mean_crps: float | None
    improvement: float
    stability: float
    novelty_penalty: float
    regret_auc: float | None
    final_regret: float | None
    mean_nlml: float | None = None

    def to_json(self) -> dict[str, float | None]:
        """All numbers by name; the likelihood's only where it is the metric."""
        return {name: value for name, value in self.__dict__.items() if name != "mean_nlml" or value is not None}


def yardstick(winners: Sequence[Evaluation]) -> Yardstick:
    """Take the best reference on each measure.

    Args:
        winners: evaluations of the tuned references on the campaign's meta-training setting.

    Raises:
        ValueError: for no winners.
    """
    best = min(winners, key=lambda evaluation: mean_loss(evaluation.predictive))
    regrets = [_regrets(evaluation) for evaluation in winners if evaluation.rollouts]
    return Yardstick(
        name=best.subject.name,
        loss=tuple(penalized(best.predictive, loss_name(best.predictive), PREDICTIVE_PENALTY)),
        family_loss=tuple(family_means(best.predictive, loss_name(best.predictive), PREDICTIVE_PENALTY).items()),
        regret_auc=min((auc for auc, _ in regrets), default=None),
        final_regret=min((final for _, final in regrets), default=None),
    )


def search_scores(
    evaluation: Evaluation,
    measure: Yardstick,
    novelty_distance: float,
    *,
    threshold: float,
    mode: EliteMode,
    worst_weight: float = 0.0,
) -> Scores:
    """Score a program.

    Args:
        evaluation: the program on the campaign's meta-training setting.
        measure: the best references on the same setting.
        novelty_distance: smallest fingerprint distance to a reference or accepted program.
        threshold: below it the novelty penalty grows; 0 turns it off.
        mode: ``paper`` for the weighted elite score, ``score`` to use the search score.
        worst_weight: how much of the worst family's mean CRPS the score subtracts besides the mean.
    """
    metric = loss_name(evaluation.predictive)
    losses = penalized(evaluation.predictive, metric, PREDICTIVE_PENALTY)
    gain = _difference if metric == "nlml" else _relative
    improvement = _mean([gain(r, c) for r, c in zip(measure.loss, losses, strict=True)])
    stability = 0.01 * max(0.0, _log_condition(evaluation.predictive) - 4.0)
    shortfall = max(0.0, (threshold - novelty_distance) / threshold) if threshold > 0 else 0.0
    novelty = 0.1 * shortfall * (1.0 - min(5.0 * max(improvement, 0.0), 1.0))
    score = -_mean(losses) - novelty
    if worst_weight:
        score -= worst_weight * max(family_means(evaluation.predictive, metric, PREDICTIVE_PENALTY).values())
    auc, final = _regrets(evaluation) if evaluation.rollouts else (None, None)
    elite = improvement - stability - novelty
    if auc is not None and final is not None and measure.regret_auc is not None and measure.final_regret is not None:
        elite = (
            WEIGHTS["crps"] * improvement
            + WEIGHTS["regret_auc"] * _relative(measure.regret_auc, auc)
            + WEIGHTS["final_regret"] * _relative(measure.final_regret, final)
            + WEIGHTS["worst_family"] * _worst_family(evaluation.predictive, dict(measure.family_loss))
            - stability
            - novelty
        )
    return Scores(
        score=score,
        elite_score=elite if mode == "paper" else score,
        mean_crps=_mean(losses) if metric == "crps" else None,
        improvement=improvement,
        stability=stability,
        novelty_penalty=novelty,
        regret_auc=auc,
        final_regret=final,
        mean_nlml=_mean(losses) if metric == "nlml" else None,
    )


def _worst_family(outcomes: Sequence[Outcome], reference: dict[str, float]) -> float:
    """Relative improvement on the family where the candidate's mean CRPS is largest (first on a tie)."""
    means = family_means(outcomes, "crps", PREDICTIVE_PENALTY)
    worst = max(means, key=lambda family: means[family])
    return _relative(reference[worst], means[worst])


def _regrets(evaluation: Evaluation) -> tuple[float, float]:
    penalty = evaluation.setting.bo_steps + 1.0
    auc = mean_score(evaluation.rollouts, "regret_auc", penalty)
    final = mean_score(evaluation.rollouts, "final_regret", penalty)
    assert auc is not None and final is not None
    return auc, final


def _log_condition(outcomes: Sequence[Outcome]) -> float:
    """log10 of the condition number, averaged over the scored episodes; 0 when there are none."""
    values = [outcome.fit["condition"] for outcome in outcomes if outcome.fit]
    return math.log10(_mean(values)) if values else 0.0


def _relative(reference: float, candidate: float) -> float:
    return (reference - candidate) / max(abs(reference), SMALLEST_REFERENCE)


def _difference(reference: float, candidate: float) -> float:
    """Log likelihoods have no zero to be relative to."""
    return reference - candidate


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
