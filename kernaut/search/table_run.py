"""A search on a user's own table: which programs it chose, how likely they make the rows, and what they are worth on rows that were held out.

Programs and the eight tuned references are compared by the log marginal likelihood of the rows that were learnt from.  Held-out rows take no part in that: for each
part the references are tuned and the search is made anew on the other rows, and the program it chose predicts the part.  So the held-out scores are those of
the whole procedure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kernaut.archive.records import AcceptedRecord, EvidenceRecord
from kernaut.archive.store import Archive
from kernaut.digest import thaw
from kernaut.episodes.table_benchmark import TableRegression
from kernaut.errors import KernautError
from kernaut.evaluation.baselines import TunedBaseline
from kernaut.evaluation.report import package_versions
from kernaut.evaluation.statistics import bootstrap_interval, paired_difference
from kernaut.evaluation.subject import Subject, program_subject
from kernaut.fitting.regression import fit
from kernaut.kernels.interpreter import interpret
from kernaut.program.program import KernelProgram
from kernaut.program.screening import screen
from kernaut.scoring.predictive import coverage, crps_gaussian, nlpd_gaussian
from kernaut.search.tuning import rounded
from kernaut.verification.verify import verify

Array = NDArray[np.float64]

MANY_ROWS = 2000
"""Above so many rows a search is slow enough to say so beforehand."""

PROBE_ROWS = 400
FITS_A_RUN = 3
"""Fits on all rows that a run of a search makes, about: its submissions, tuned on fewer rows before."""

FITS_A_REFERENCE = 80
"""Likelihoods on all rows that tuning one reference takes, in fits."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """What one search on a table chose.

    Args:
        label: which rows it learnt from.
        campaign: its name.
        benchmark: the table, and what is held out of it.
        selected: the accepted program of largest likelihood; None when none was accepted.
        likelihood: its log marginal likelihood [nats].
        references: the eight, tuned on the same rows.
    """

    label: str
    campaign: str
    benchmark: TableRegression
    selected: Subject | None
    likelihood: float | None
    references: tuple[TunedBaseline, ...]


def chosen_of(
    archive: Archive, campaign: str, benchmark: TableRegression, references: Sequence[TunedBaseline], label: str
) -> Chosen:
    """Choose the accepted program of a campaign that makes the rows likeliest (on a tie the smaller identifier), and tune it on all of them.

    The search tunes on few rows; where tuning on all of them gains, the tuned program is verified and added to the archive as a candidate.

    Raises:
        ArchiveError: when the archive is frozen.
    """
    scored = [record for record in archive.accepted(campaign) if _row_loss(record) is not None]
    best = min(scored, key=lambda record: (_row_loss(record), record.program_id), default=None)
    if best is None:
        return Chosen(label, campaign, benchmark, None, None, tuple(references))
    likelihood = -float(_row_loss(best) or 0.0) * len(benchmark.training)
    program = archive.program(best.program_id)
    tuned = _tuned(archive, program, benchmark, likelihood)
    if tuned is not None:
        program, likelihood = tuned
        archive.import_candidate(program, _evidence(archive, program, benchmark), f"tuned on all rows after {campaign}")
    return Chosen(label, campaign, benchmark, program_subject(program), likelihood, tuple(references))


def _tuned(
    archive: Archive, program: KernelProgram, benchmark: TableRegression, likelihood: float
) -> tuple[KernelProgram, float] | None:
    """The program tuned on all rows with its likelihood; None where nothing is gained, or it cannot be tuned or verified."""
    floats = [spec for spec in program.space if spec.type == "float"]
    if not floats or screen(program.source, program.rules).backend != "torch":
        return None
    rows = benchmark.training
    try:
        kernel = interpret(program, resolve=archive.program)
        values = fit(kernel, rows.inputs, rows.targets, tune=True).parameters()
        kernel.close()
        changed = program.with_parameters({spec.name: rounded(values[spec.name], spec) for spec in floats})
        again = interpret(changed, resolve=archive.program)
        found = fit(again, rows.inputs, rows.targets).fit.log_marginal
        again.close()
    except KernautError:
        return None
    better = found > likelihood and _evidence(archive, changed, benchmark).accepted
    return (changed, found) if better else None


def _evidence(archive: Archive, program: KernelProgram, benchmark: TableRegression) -> EvidenceRecord:
    found = verify(program, benchmark.dimensions, 0, resolve=archive.program)
    versions = {name: version for name, version in package_versions().items() if version is not None}
    return EvidenceRecord(program.id, found.accepted, found.tier, benchmark.dimensions, 0, found.to_json(), versions)


def table_report(
    archive: Archive, whole: Chosen, parts: Sequence[Chosen] = (), stopped: str | None = None
) -> dict[str, Any]:
    """What ``kernaut run`` prints.

    Args:
        archive: where the programs are; looks at held-out rows are counted in it before they happen.
        whole: the search on all rows.
        parts: the searches on the rows that each part leaves.
        stopped: why a search ended early.

    Raises:
        FitError: when a kernel cannot be fitted to the rows it was chosen on.
    """
    table = whole.benchmark.table
    report: dict[str, Any] = {
        "table": {
            "file": Path(str(whole.benchmark.options()["data"])).name,
            "target": table.target,
            "columns": list(table.columns),
            "rows": len(table),
            "digest": table.digest(),
            "cleaning": table.cleaning.to_json(),
        },
        "campaign": whole.campaign,
        "selection": "largest log marginal likelihood of the rows learnt from",
        "selected": _selected(archive, whole),
        "references": [_reference(baseline, len(table)) for baseline in _by_likelihood(whole.references)],
    }
    if stopped is not None:
        report["stopped"] = stopped
    if parts:
        report["held_out"] = _held_out(archive, parts)
    return report


def expected_seconds(rows: int, runs: int, searches: int, workers: int) -> float:
    """About how long a search on a large table takes [s]: a fit of few rows is timed, and its cost grows with the cube.

    Args:
        rows: rows of the table.
        runs: runs of each search.
        searches: searches to make.
        workers: processes.
    """
    matrix = torch.from_numpy(np.cov(np.random.default_rng(0).normal(size=(PROBE_ROWS, 2 * PROBE_ROWS))))
    began = perf_counter()
    torch.linalg.eigh(matrix)
    each = (perf_counter() - began) * (rows / PROBE_ROWS) ** 3
    return searches * each * (runs * FITS_A_RUN + 8 * FITS_A_REFERENCE / 4) / max(1, workers)


def _held_out(archive: Archive, parts: Sequence[Chosen]) -> dict[str, Any]:
    rule = parts[0].benchmark.rule
    assert rule is not None
    details = {"parts": rule.count, "campaigns": [part.campaign for part in parts]}
    archive.record_look("table", "test", "run", details)
    scores: dict[str, list[dict[str, Array]]] = {}
    failures = []
    for part in parts:
        for name, subject in _subjects(part):
            try:
                scores.setdefault(name, []).append(_scored(archive, subject, part.benchmark))
            except KernautError as error:
                failures.append({"part": part.label, "kernel": name, "reason": error.message})
    whole = {name: rows for name, rows in scores.items() if len(rows) == len(parts)}
    kernels = sorted(
        (_summary(name, rows) for name, rows in whole.items()), key=lambda row: (row["mean_crps"], row["kernel"])
    )
    report: dict[str, Any] = {
        "rule": f"{rule.folds} folds" if rule.folds is not None else "the last fifth of the rows",
        "crps_unit": "standard deviations of the targets learnt from",
        "kernels": kernels,
        "parts": [_part(part, scores, place) for place, part in enumerate(parts) if not failures],
        "failures": failures,
        "looks": archive.looks("table"),
    }
    references = [row for row in kernels if row["kernel"] != "selected"]
    if "selected" in whole and references:
        best = str(references[0]["kernel"])
        difference = paired_difference(_joined(whole["selected"], "crps"), _joined(whole[best], "crps"))
        report["selected_minus_best_reference"] = {"reference": best, **difference.to_json()}
    return report


def _subjects(part: Chosen) -> list[tuple[str, Subject]]:
    own = [("selected", part.selected)] if part.selected is not None else []
    return [*own, *((baseline.kind, baseline.subject()) for baseline in part.references)]


def _scored(archive: Archive, subject: Subject, benchmark: TableRegression) -> dict[str, Array]:
    """Scores of each held-out row, in standard deviations of the targets learnt from."""
    kernel = subject.kernel(resolve=archive.program)
    try:
        fitted = fit(kernel, benchmark.training.inputs, benchmark.training.targets)
        inputs, targets = benchmark.testing
        predicted = fitted.predict(inputs)
    finally:
        kernel.close()
    scale = fitted.target_scale
    mean, sd, true = predicted.mean / scale, predicted.sd / scale, targets / scale
    return {
        "crps": crps_gaussian(mean, sd, true),
        "nlpd": nlpd_gaussian(mean, sd, true),
        "squared": (mean - true) ** 2,
        "covered": np.array(
            [float(coverage(m[None], s[None], t[None])) for m, s, t in zip(mean, sd, true, strict=True)]
        ),
    }


def _summary(name: str, rows: Sequence[Mapping[str, Array]]) -> dict[str, Any]:
    crps = _joined(rows, "crps")
    low, high = bootstrap_interval(crps)
    return {
        "kernel": name,
        "mean_crps": float(crps.mean()),
        "interval": [low, high],
        "mean_nlpd": float(_joined(rows, "nlpd").mean()),
        "rmse": float(np.sqrt(_joined(rows, "squared").mean())),
        "coverage95": float(_joined(rows, "covered").mean()),
        "rows": len(crps),
    }


def _part(part: Chosen, scores: Mapping[str, Sequence[Mapping[str, Array]]], place: int) -> dict[str, Any]:
    return {
        "part": part.label,
        "campaign": part.campaign,
        "rows_learnt_from": len(part.benchmark.training),
        "rows_held_out": len(part.benchmark.testing[1]),
        "selected": None
        if part.selected is None
        else {"candidate_id": part.selected.candidate_id, "name": part.selected.name},
        "mean_crps": {name: float(rows[place]["crps"].mean()) for name, rows in scores.items() if place < len(rows)},
    }


def _selected(archive: Archive, chosen: Chosen) -> dict[str, Any] | None:
    if chosen.selected is None or chosen.likelihood is None:
        return None
    program = archive.program(chosen.selected.candidate_id)
    best = max(baseline.log_marginal for baseline in chosen.references)
    return {
        "candidate_id": program.id,
        "name": program.name,
        "contract": program.contract,
        "parameters": thaw(program.parameters),
        "log_marginal_likelihood": chosen.likelihood,
        "log_marginal_likelihood_a_row": chosen.likelihood / len(chosen.benchmark.training),
        "gain_on_best_reference": chosen.likelihood - best,
    }


def _reference(baseline: TunedBaseline, rows: int) -> dict[str, Any]:
    return {
        "kernel": thaw(baseline.node),
        "log_marginal_likelihood": baseline.log_marginal,
        "log_marginal_likelihood_a_row": baseline.log_marginal / rows,
        "amplitude": baseline.amplitude,
        "noise": baseline.noise,
        "on_bound": list(baseline.on_bound),
    }


def _by_likelihood(baselines: Sequence[TunedBaseline]) -> list[TunedBaseline]:
    return sorted(baselines, key=lambda baseline: (-baseline.log_marginal, baseline.kind))


def _joined(rows: Sequence[Mapping[str, Array]], name: str) -> Array:
    return np.concatenate([part[name] for part in rows])


def _row_loss(record: AcceptedRecord) -> float | None:
    value = record.details["scores"].get("mean_nlml")
    return None if value is None else float(value)
