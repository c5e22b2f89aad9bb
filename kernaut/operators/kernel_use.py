"""What a rule is worth on episodes: the kernel chosen, and the mixture formed, among those it keeps, against doing without.

Choice is by marginal likelihood among the kept kernels; the mixture weighs them by likelihood times a prior of their training scores.  Query targets score only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.archive.store import Archive
from kernaut.episodes.registry import benchmark_named
from kernaut.evaluation.references import references_of
from kernaut.evaluation.statistics import bootstrap_interval
from kernaut.evaluation.subject import Subject, program_subject
from kernaut.operators.kernel_domain import KernelDomain, crps_of
from kernaut.operators.kernel_fits import EpisodeFits, fit_subjects
from kernaut.operators.mixture import likelihood_weights, mixture_crps
from kernaut.operators.records import Flags

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Candidates:
    """The kernels of a kernel domain.

    Args:
        subjects: programs of the archive first, then references.
        reference: which subject is the train-selected reference.
        validated: which program has the lowest validation CRPS; the lowest training CRPS without validation.
        training: ``S`` mean CRPS on meta-training episodes.
    """

    subjects: tuple[Subject, ...]
    reference: int
    validated: int
    training: Array


def references_to_fit(subjects: Sequence[Subject], scores: Array, each: int) -> list[int]:
    """The ``each`` best references of every family by training score."""
    chosen = []
    for family in dict.fromkeys(subject.family for subject in subjects):
        members = [place for place, subject in enumerate(subjects) if subject.family == family]
        chosen += sorted(members, key=lambda place: scores[place])[:each]
    return sorted(chosen)


def only(fits: Sequence[EpisodeFits], places: Sequence[int]) -> list[EpisodeFits]:
    """The same fits with some of the kernels."""
    keep = list(places)
    return [
        EpisodeFits(
            f.episode,
            f.alive[keep],
            f.log_likelihood[keep],
            f.amplitude[keep],
            f.noise[keep],
            f.condition[keep],
            f.mean[keep],
            f.sd[keep],
            f.loo_mean[keep],
            f.loo_sd[keep],
            f.gram[keep],
        )
        for f in fits
    ]


def kernel_domain(
    archive: Archive,
    benchmark: str = "bbo",
    *,
    per_family: tuple[int, int, int] = (12, 10, 10),
    each: int = 2,
    test: bool = True,
) -> tuple[KernelDomain, Candidates]:
    """Fit an archive's programs and the benchmark's references to its episodes.

    Args:
        archive: accepted programs become candidates.
        benchmark: the benchmark's name.
        per_family: episodes a family of train, validation and test.
        each: references of each family, chosen on meta-training episodes.
        test: whether test episodes are opened; they are the electorate ``unseen``, else validation is.
    """
    made = benchmark_named(benchmark)
    programs = [program_subject(candidate.program) for candidate in archive.candidates()]
    references = references_of(made)
    everyone = [*programs, *references]
    train = fit_subjects(everyone, made.episodes("train", per_family[0]), resolve=archive.program)
    scores = np.stack([crps_of(f) for f in train]).mean(0)
    first = len(programs)
    chosen = [*range(first), *(first + place for place in references_to_fit(references, scores[first:], each))]
    subjects = tuple(everyone[place] for place in chosen)
    kept = scores[chosen]
    reference = first + int(kept[first:].argmin())
    archive.record_look(benchmark, "validation", "cegar", {"per_family": per_family[1]})
    validation = fit_subjects(subjects, made.episodes("validation", per_family[1]), resolve=archive.program)
    fits = {"train": only(train, chosen), "validation": validation, "unseen": validation}
    if test:
        archive.record_look(benchmark, "test", "cegar", {"per_family": per_family[2]})
        fits["unseen"] = fit_subjects(subjects, made.episodes("test", per_family[2]), resolve=archive.program)
    on_validation = np.stack([crps_of(f) for f in validation]).mean(0)
    best = int(on_validation[: first or len(subjects)].argmin())
    return KernelDomain(fits, reference), Candidates(subjects, reference, best, kept)


def uses(fits: Sequence[EpisodeFits], flags: Flags, candidates: Candidates, sharpness: float = 20.0) -> dict[str, Any]:
    """Mean CRPS of choice and mixture with and without a rule.

    Args:
        fits: ``E`` episodes of ``S`` kernels.
        flags: ``E * S`` flags of the rule, episode by episode.
        candidates: the kernels.
        sharpness: of the prior ``exp(-sharpness * training CRPS)``.
    """
    table = flags.reshape(len(fits), -1)
    prior = np.exp(-sharpness * (candidates.training - candidates.training.min()))
    columns: dict[str, list[float]] = {}
    for record, flagged in zip(fits, table, strict=True):
        scores, likelihood, everyone = crps_of(record), record.best_log_likelihood, np.ones(len(flagged), dtype=bool)
        kept = ~flagged & record.alive
        kept = kept if kept.any() else record.alive
        plain = np.array([subject.origin == "reference" for subject in candidates.subjects]) & record.alive
        row = {
            "validation-selected program": scores[candidates.validated],
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
        for name, value in row.items():
            columns.setdefault(name, []).append(float(value))
    return {
        name: {"mean_crps": float(np.mean(values)), "interval": list(bootstrap_interval(values))}
        for name, values in columns.items()
    }
