"""Two candidates that an evaluator's operators judge alike, side by side: source, fit, label and each operator's verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from kernaut.digest import thaw
from kernaut.operators.kernels.domain import KernelDomain
from kernaut.operators.kernels.fits import EpisodeFits, crps_of
from kernaut.report.collision_view import Admitted, Labelled, SignatureClass, word_of
from kernaut.report.drawing import Drawing, Panel, drawing
from kernaut.report.marks import Z95, padded
from kernaut.report.page import Columns, Note, Part, Source, Table, table
from kernaut.report.subject_view import about
from kernaut.scoring.predictive import coverage

LONGEST = 4000
"""Characters of a candidate of an installed domain that are shown."""


def candidate_name(labelled: Labelled, place: int) -> str:
    """A candidate's task and name, in a word or two."""
    candidate = labelled.electorate.candidates[place]
    domain = labelled.domain
    if isinstance(domain, KernelDomain) and domain.candidates is not None:
        return f"{domain.candidates.subjects[_kernel(labelled, place)].name} on {candidate.task}"
    return f"{candidate.task} {candidate.id}"


def first_pair(labelled: Labelled, found: SignatureClass) -> tuple[int, int]:
    """A correct and an incorrect member of a collision, of one task where there is such a pair."""
    right, wrong = found.correct or (), found.incorrect or ()
    tasks = labelled.electorate.task_places
    pairs = ((one, two) for one in right for two in wrong if tasks[one] == tasks[two])
    return next(pairs, (right[0], wrong[0]))


def pair_parts(labelled: Labelled, left: int, right: int, pool: Sequence[Admitted], used: int) -> list[Part]:
    """Two candidates side by side, and every operator's verdict on both.

    Args:
        labelled: the candidates.
        left: position of one.
        right: position of the other.
        pool: all operators.
        used: how many of them, the first ones, form the signatures.
    """
    columns = [Columns(tuple(candidate_parts(labelled, left)), tuple(candidate_parts(labelled, right)))]
    return [*columns, verdict_table(labelled, left, right, pool, used)]


def candidate_parts(labelled: Labelled, place: int) -> list[Part]:
    """What there is of one candidate: its label, its source or numbers, and for a kernel its fit."""
    candidate = labelled.electorate.candidates[place]
    label = "Correct" if candidate.correct else f"Incorrect ({candidate.kind})"
    parts: list[Part] = [Note(f"{label}: {candidate_name(labelled, place)}")]
    domain = labelled.domain
    if isinstance(domain, KernelDomain):
        fits = next(fits for fits in domain.fits["train"] if fits.episode.name == candidate.task)
        kernel = _kernel(labelled, place)
        parts.append(fit_drawing(fits, kernel, domain.reference))
        if domain.candidates is not None:
            parts += about(domain.candidates.subjects[kernel])
        return parts
    shown = dict(domain.show(labelled.electorate, place))
    if isinstance(shown.get("source"), str):
        return [*parts, Source(shown["source"])]
    return [*parts, Source(json.dumps(thaw(shown), indent=1, ensure_ascii=False)[:LONGEST])]


def fit_drawing(fits: EpisodeFits, kernel: int, reference: int) -> Drawing:
    """Predictions of a kernel at the query inputs with 95 % intervals, against the observed values."""
    observed, mean, sd = fits.episode.query_targets, fits.mean[kernel], fits.sd[kernel]
    low, high = mean - Z95 * sd, mean + Z95 * sd
    ends = [float(min(observed.min(), low.min())), float(max(observed.max(), high.max()))]
    panel = Panel(
        "observed, standardized", "predicted, with 95 % interval", fits.episode.name[:44], width=380, height=300
    )
    panel.x_range = padded(np.array(ends), 0.03)
    panel.line(ends, ends, 7, "as observed")
    for at, bottom, top in zip(observed, low, high, strict=True):
        panel.line([at, at], [bottom, top], colour="#0072B2", width=1.0)
    panel.points(observed, mean, 0, "predicted mean")
    scores = crps_of(fits)
    covered = float(coverage(mean, sd, observed))
    words = f"CRPS {scores[kernel]:.3f}, the reference has {scores[reference]:.3f}; {covered:.0%} of the observations lie in the intervals"
    return drawing([panel], f"Predictions on {fits.episode.name} against observations: {words}.")


def verdict_table(labelled: Labelled, left: int, right: int, pool: Sequence[Admitted], used: int) -> Table:
    """Every operator's verdict on two candidates, and why it abstained."""
    rows = []
    for number, entry in enumerate(pool, 1):
        reasons = [entry.verdicts.reasons[p] for p in (left, right) if p in entry.verdicts.reasons]
        one, two = word_of(entry.verdicts, left), word_of(entry.verdicts, right)
        rows.append(
            (number, entry.operator.defect, one, two, number <= used, "; ".join(dict.fromkeys(reasons)) or None)
        )
    columns = (
        "",
        "defect that it flags",
        candidate_name(labelled, left),
        candidate_name(labelled, right),
        "in use",
        "why it abstained",
    )
    return table(columns, rows, "Verdicts" if rows else "No operator has been admitted")


def _kernel(labelled: Labelled, place: int) -> int:
    """Which kernel a candidate of ``kernels`` is."""
    electorate = labelled.electorate
    return electorate.members[int(electorate.task_places[place])].index(place)
