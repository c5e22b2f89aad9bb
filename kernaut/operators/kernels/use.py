"""What a rule is worth on episodes: the kernel chosen, and the mixture formed, among those it keeps, against doing without.

Choice is by marginal likelihood among the kept kernels; the mixture weighs them by likelihood, or by likelihood times a prior of their training scores.  "Over coordinates"
both range over each kept kernel on all coordinates and with one or two left out (:mod:`kernaut.operators.kernels.coordinates`).  Query targets score only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.evaluation.statistics import bootstrap_interval
from kernaut.evaluation.subject import Subject
from kernaut.operators.kernels.coordinates import CoordinateFits
from kernaut.operators.kernels.fits import EpisodeFits, crps_of
from kernaut.operators.kernels.mixture import likelihood_weights, mixture_crps
from kernaut.operators.records import Flags

Array = NDArray[np.float64]


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


def uses(
    fits: Sequence[EpisodeFits],
    flags: Flags,
    candidates: Candidates,
    coordinates: Sequence[CoordinateFits] | None = None,
    sharpness: float = 20.0,
) -> dict[str, Any]:
    """Mean CRPS of choice and mixture with and without a rule.

    Args:
        fits: ``E`` episodes of ``S`` kernels.
        flags: ``E * S`` flags of the rule, episode by episode.
        candidates: the kernels.
        coordinates: ``E`` records of the same kernels on fewer coordinates; None where inputs have roles.
        sharpness: of the prior ``exp(-sharpness * training CRPS)``.
    """
    table = flags.reshape(len(fits), -1)
    prior = np.exp(-sharpness * (candidates.training - candidates.training.min()))
    columns: dict[str, list[float]] = {}
    fewer = [None] * len(fits) if coordinates is None else coordinates
    for record, flagged, subsets in zip(fits, table, fewer, strict=True):
        scores, likelihood, everyone = crps_of(record), record.best_log_likelihood, np.ones(len(flagged), dtype=bool)
        kept = ~flagged & record.alive
        kept = kept if kept.any() else record.alive
        plain = np.array([subject.origin == "reference" for subject in candidates.subjects]) & record.alive
        row = {} if candidates.validated is None else {"validation-selected program": scores[candidates.validated]}
        row |= {
            "train-selected reference": scores[candidates.reference],
            "best in hindsight": scores.min(),
            "choice by likelihood, references": scores[np.where(plain, likelihood, -np.inf).argmax()],
            "choice by likelihood": scores[likelihood.argmax()],
            "choice by likelihood among kept": scores[np.where(kept, likelihood, -np.inf).argmax()],
            "uniform choice": scores[record.alive].mean(),
            "uniform choice among kept": scores[kept].mean(),
        }
        for name, chosen, weight in (
            ("mixture by likelihood, references", plain, None),
            ("mixture by likelihood", everyone, None),
            ("mixture by likelihood among kept", kept, None),
            ("mixture by likelihood and prior", everyone, prior),
            ("mixture by likelihood and prior among kept", kept, prior),
        ):
            weights = likelihood_weights(likelihood, chosen, weight)
            row[name] = mixture_crps(weights, record.mean, record.sd, record.episode.query_targets).mean()
        if subsets is not None:
            for words, chosen in ((", references", plain), ("", everyone), (" among kept", kept)):
                row |= over_coordinates(subsets, chosen, record.episode.query_targets, words)
        for name, value in row.items():
            columns.setdefault(name, []).append(float(value))
    return {
        name: {"mean_crps": float(np.mean(values)), "interval": list(bootstrap_interval(values))}
        for name, values in columns.items()
    }


def over_coordinates(subsets: CoordinateFits, chosen: Flags, targets: Array, words: str) -> dict[str, float]:
    """CRPS of the likeliest kernel and subset of coordinates, and of the mixture of all.

    Args:
        subsets: the kernels on subsets of an episode's coordinates.
        chosen: ``S`` flags of the kernels that may be used.
        targets: ``q`` query targets.
        words: end of the rows' names.
    """
    weights = subsets.weights(chosen)
    used = weights > 0
    likeliest = np.where(weights == weights.max(), 1.0, 0.0)
    likeliest /= likeliest.sum()
    return {
        f"{kind} by likelihood over coordinates{words}": float(
            mixture_crps(w[used], subsets.mean[used], subsets.sd[used], targets).mean()
        )
        for kind, w in (("choice", likeliest), ("mixture", weights))
    }
