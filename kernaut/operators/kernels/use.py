"""What a rule is worth on episodes: the kernel chosen, and the mixture formed, among those it keeps, against doing without.

Choice is by marginal likelihood among the kept kernels; the mixture weighs them by likelihood, or by likelihood times a prior of their training scores.  "Over coordinates"
both range over each kept kernel on all coordinates and with one or two left out (:mod:`kernaut.operators.kernels.coordinates`).  Query targets score only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.evaluation.statistics import bootstrap_interval
from kernaut.evaluation.subject import Subject
from kernaut.operators.kernels.coordinates import CoordinateFits
from kernaut.operators.kernels.fits import FAILED_CRPS, EpisodeFits, crps_of
from kernaut.operators.kernels.mixture import likelihood_weights, mixture_crps
from kernaut.operators.records import Flags

Array = NDArray[np.float64]

_NAMES = ("choice by likelihood", "uniform choice", "mixture by likelihood", "mixture by likelihood and prior")
_OVER = ("choice by likelihood over coordinates", "mixture by likelihood over coordinates")


@dataclass(frozen=True, eq=False)
class Candidates:
    """The kernels of a kernel domain.

    Args:
        subjects: programs of the archive first, then references.
        reference: which subject is the train-selected reference.
        validated: which program has the lowest validation CRPS; None where validation stays closed.
        training: ``S`` mean CRPS on meta-training episodes.
    """

    subjects: tuple[Subject, ...]
    reference: int
    validated: int | None
    training: Array


class Uses:
    """Mean CRPS of choices and mixtures on an electorate's episodes, for one rule after the other; what no rule changes is measured once.

    Args:
        fits: ``E`` episodes of ``S`` kernels.
        candidates: the kernels.
        coordinates: ``E`` records of the same kernels on fewer coordinates; None where inputs have roles.
        sharpness: of the prior ``exp(-sharpness * training CRPS)``.
    """

    def __init__(
        self,
        fits: Sequence[EpisodeFits],
        candidates: Candidates,
        coordinates: Sequence[CoordinateFits] | None = None,
        sharpness: float = 20.0,
    ) -> None:
        self._fits = fits
        self._candidates = candidates
        self._fewer = [None] * len(fits) if coordinates is None else list(coordinates)
        self._scores = [crps_of(record) for record in fits]
        self._prior = np.exp(-sharpness * (candidates.training - candidates.training.min()))

    def __call__(self, flags: Flags) -> dict[str, Any]:
        """The mean CRPS of every use, with its bootstrap interval.

        Args:
            flags: ``E * S`` flags of the rule, episode by episode.
        """
        columns = self._without | self._measured(~flags.reshape(len(self._fits), -1), " among kept")
        return {
            name: {"mean_crps": float(np.mean(values)), "interval": list(bootstrap_interval(values))}
            for name, values in columns.items()
        }

    @cached_property
    def _without(self) -> dict[str, list[float]]:
        chosen, count = self._candidates, len(self._candidates.subjects)
        fixed = {"validation-selected program": chosen.validated, "train-selected reference": chosen.reference}
        columns = {
            name: [float(scores[place]) for scores in self._scores]
            for name, place in fixed.items()
            if place is not None
        }
        columns["best in hindsight"] = [float(scores.min()) for scores in self._scores]
        references = np.array([subject.origin == "reference" for subject in chosen.subjects])
        everyone = np.ones((len(self._fits), count), dtype=bool)
        return columns | self._measured(everyone & references, ", references") | self._measured(everyone, "")

    def _measured(self, chosen: Flags, words: str) -> dict[str, list[float]]:
        """``E`` scores of each use of the kernels chosen on each episode (all that could be fitted, where none of them was)."""
        columns: dict[str, list[float]] = {}
        for record, scores, subsets, wanted in zip(self._fits, self._scores, self._fewer, chosen, strict=True):
            kept = wanted & record.alive
            kept = kept if kept.any() else record.alive
            if not kept.any():  # nothing can be fitted here, which scores the penalty whatever the rule
                for name in _NAMES if subsets is None else (*_NAMES, *_OVER):
                    columns.setdefault(f"{name}{words}", []).append(FAILED_CRPS)
                continue
            likelihood, targets = record.best_log_likelihood, record.episode.query_targets
            row = [scores[np.where(kept, likelihood, -np.inf).argmax()], scores[kept].mean()]
            for prior in (None, self._prior):
                weights = likelihood_weights(likelihood, kept, prior)
                row.append(mixture_crps(weights, record.mean, record.sd, targets).mean())
            found = dict(zip(_NAMES, row, strict=True))
            if subsets is not None:
                found |= over_coordinates(subsets, kept, targets)
            for name, value in found.items():
                columns.setdefault(f"{name}{words}", []).append(float(value))
        return columns


def over_coordinates(subsets: CoordinateFits, kept: Flags, targets: Array) -> dict[str, float]:
    """CRPS of the likeliest kernel and subset of coordinates, and of the mixture of all.

    Args:
        subsets: the kernels on subsets of an episode's coordinates.
        kept: ``S`` flags of the kernels that may be used.
        targets: ``q`` query targets.
    """
    weights = subsets.weights(kept)
    used = weights > 0
    likeliest = np.where(weights == weights.max(), 1.0, 0.0)
    likeliest /= likeliest.sum()
    return {
        name: float(mixture_crps(w[used], subsets.mean[used], subsets.sd[used], targets).mean())
        for name, w in zip(_OVER, (likeliest, weights), strict=True)
    }
