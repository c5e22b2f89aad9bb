"""Freeze, validate, choose; then, and only then, test.

The metric is named beforehand, the candidate set is frozen before validation is opened, every program in it counts, and search scores play no part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernaut.archive.campaigns import LEDGERS
from kernaut.archive.records import EvaluationRecord, SelectionRecord
from kernaut.archive.store import Archive
from kernaut.digest import FrozenMapping, loads_finite, thaw
from kernaut.errors import ArchiveError, InputError
from kernaut.evaluation.evaluate import Evaluation, Setting, evaluate_all
from kernaut.evaluation.outcome import PREDICTIVE_PENALTY, mean_score
from kernaut.evaluation.report import candidate_entry, package_versions
from kernaut.evaluation.subject import program_subject
from kernaut.program.program import KernelProgram

RULE = (
    "smallest {metric} on validation among all accepted programs of the frozen archive; ties to the smaller identifier"
)
VALIDATION_EPISODES = 10


@dataclass(frozen=True)
class Selection:
    """A choice made on validation.

    Args:
        benchmark: the benchmark's name.
        metric: ``predictive.mean_crps`` or ``bo.regret_auc``.
        setting: the validation setting, as JSON.
        freeze_digest: digest of the frozen candidate set.
        values: the metric of every candidate by identifier.
        choice: the selected identifier.
    """

    benchmark: str
    metric: str
    setting: Mapping[str, Any]
    freeze_digest: str
    values: Mapping[str, float]
    choice: str

    def to_json(self) -> dict[str, Any]:
        """The content of ``selection.json``."""
        return {
            "benchmark": self.benchmark,
            "metric": self.metric,
            "rule": RULE.format(metric=self.metric),
            "validation": thaw(self.setting),
            "freeze_digest": self.freeze_digest,
            "count": len(self.values),
            "candidates": [{"candidate_id": key, self.metric: value} for key, value in sorted(self.values.items())],
            "choice": self.choice,
        }


def load_selection(path: str | Path) -> Selection:
    """Read ``selection.json``, as ``kernaut select`` writes it.

    Raises:
        InputError: when it is not a selection, or its choice is not among its candidates.
    """
    where = str(path)
    try:
        record = loads_finite(Path(path).read_bytes(), where)
    except OSError as error:
        raise InputError(f"Expected a selection at {where}. Got: {error.strerror}.") from error
    try:
        values = {entry["candidate_id"]: float(entry[record["metric"]]) for entry in record["candidates"]}
        found = Selection(
            record["benchmark"],
            record["metric"],
            record["validation"],
            record["freeze_digest"],
            values,
            record["choice"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"Expected a selection written by kernaut select in {where}. Got a record without a usable {error}."
        ) from error
    if found.choice not in found.values:
        raise InputError(f"Expected the choice of {where} among its candidates. Got {found.choice!r}.")
    return found


def select(
    archive: Archive,
    benchmark: str,
    metric: str = "predictive.mean_crps",
    *,
    per_family: int = VALIDATION_EPISODES,
    benchmark_options: Mapping[str, Any] | None = None,
    workers: int = 1,
    done: Callable[[int], None] | None = None,
) -> tuple[Selection, list[Evaluation]]:
    """Freeze an archive, evaluate every candidate on validation and choose one.

    Args:
        archive: with at least one accepted program.
        benchmark: the benchmark's name.
        metric: what to minimize, named before validation is opened.
        per_family: validation episodes a family.
        benchmark_options: what the benchmark is made with.
        workers: processes; the choice does not depend on it.
        done: called with the number of candidates evaluated so far.

    Returns:
        The selection, and the validation evaluation of every candidate in the order of identifiers.

    Raises:
        InputError: for an unknown benchmark or metric, or an episode count out of range.
        ArchiveError: when the archive holds no accepted program.
    """
    steps = 8 if metric == "bo.regret_auc" else 0
    setting = Setting(benchmark, "validation", per_family, benchmark_options or {}, bo_steps=steps)
    made = setting.made()
    if metric not in made.metrics:
        raise InputError(f"Expected a metric of {', '.join(made.metrics)}. Got {metric!r}.")
    setting.episodes()
    if not archive.candidates():
        raise ArchiveError(
            f"Expected accepted programs in {archive.location}. Got none.",
            hint="Run a campaign on it, or add candidates.",
        )
    freeze = archive.freeze(f"selection on {benchmark} by {metric}")
    programs = [candidate.program for candidate in archive.candidates()]
    archive.record_look(benchmark, "validation", "selection", {"metric": metric, "candidates": len(programs)})
    evaluations = [row[0] for row in _evaluated(programs, [setting], workers, done)]
    values = {evaluation.subject.candidate_id: _metric(evaluation, metric) for evaluation in evaluations}
    choice = min(values, key=lambda key: (values[key], key))
    described = {"per_family": per_family, "bo_steps": steps, "data_digest": made.digest()}
    selection = Selection(benchmark, metric, FrozenMapping(described), freeze.digest, values, choice)
    with archive.held_out() as store:
        store.record(*(held_out_record(evaluation, "selection") for evaluation in evaluations))
        store.record_selection(
            SelectionRecord(
                benchmark,
                metric,
                RULE.format(metric=metric),
                freeze.digest,
                tuple(sorted(values)),
                choice,
                selection.to_json(),
            )
        )
    return selection, evaluations


def benchmark_of(archive: Archive, name: str | None = None) -> tuple[str, FrozenMapping]:
    """The benchmark that an archive was searched on, and what its last campaign made it with.

    Args:
        archive: the archive.
        name: which benchmark, where campaigns were run on several.

    Raises:
        InputError: when campaigns of several benchmarks leave the choice open.
    """
    campaigns = [campaign for campaign in archive.campaigns() if not campaign.benchmark.startswith(LEDGERS)]
    names = list(dict.fromkeys(campaign.benchmark for campaign in campaigns))
    if name is None and len(names) > 1:
        raise InputError(f"Expected --benchmark of {', '.join(names)}: the archive has campaigns of each. Got none.")
    wanted = name or (names[0] if names else "bbo")
    options = [c.options.get("benchmark_options", {}) for c in campaigns if c.benchmark == wanted]
    return wanted, FrozenMapping(options[-1] if options else {})


def require_selected(archive: Archive, selection: Selection) -> KernelProgram:
    """The selected program, when the archive is still the one that it was selected from.

    Raises:
        ArchiveError: when the archive is not frozen, or holds another candidate set.
    """
    frozen = archive.frozen()
    if frozen is None or frozen.digest != selection.freeze_digest:
        raise ArchiveError(
            f"Expected the archive that was frozen as {selection.freeze_digest}. "
            f"Got {'one that is not frozen' if frozen is None else frozen.digest}.",
            hint="Run kernaut select on this archive again.",
        )
    return archive.program(selection.choice)


def held_out_record(evaluation: Evaluation, purpose: str) -> EvaluationRecord:
    """One validation or test evaluation as the held-out store keeps it."""
    setting = evaluation.setting
    entry = candidate_entry([evaluation])["splits"][setting.split]
    scores = {
        section: {key: value for key, value in body.items() if key not in ("episodes", "failures")}
        for section, body in entry.items()
    }
    return EvaluationRecord(
        program_id=evaluation.subject.candidate_id,
        benchmark=setting.benchmark,
        split=setting.split,
        purpose=purpose,
        seed=0,
        options={
            "per_family": setting.per_family,
            "bo_steps": setting.bo_steps,
            "candidates": setting.candidates,
            "benchmark_options": thaw(setting.options),
        },
        data_digest=setting.made().digest(),
        versions={name: version for name, version in package_versions().items() if version is not None},
        scores=scores,
        outcomes=tuple(outcome.to_json() for outcome in (*evaluation.predictive, *evaluation.rollouts)),
    )


def _evaluated(
    programs: Sequence[KernelProgram],
    settings: Sequence[Setting],
    workers: int,
    done: Callable[[int], None] | None,
) -> list[list[Evaluation]]:
    known = {program.id: program for program in programs}
    subjects = [program_subject(program) for program in programs]
    return evaluate_all(subjects, settings, workers=workers, programs=known, done=done)


def _metric(evaluation: Evaluation, metric: str) -> float:
    if metric == "bo.regret_auc":
        value = mean_score(evaluation.rollouts, "regret_auc", evaluation.setting.bo_steps + 1.0)
    else:
        value = mean_score(evaluation.predictive, "crps", PREDICTIVE_PENALTY)
    assert value is not None
    return value
