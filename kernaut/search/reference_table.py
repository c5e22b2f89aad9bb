"""All references of a benchmark in one report: winners of the fixed grid, reference programs, and a benchmark's own forecasters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from kernaut.archive.records import EvidenceRecord
from kernaut.archive.store import Archive
from kernaut.digest import FrozenMapping
from kernaut.episodes.benchmark import Benchmark
from kernaut.episodes.episode import require_per_family
from kernaut.episodes.registry import benchmark_named
from kernaut.errors import ArchiveError, InputError
from kernaut.evaluation.evaluate import Evaluation
from kernaut.evaluation.references import MIN_PER_FAMILY, references_of, scored_references, winners_of
from kernaut.evaluation.report import package_versions, predictive_section, source_digest
from kernaut.program.program import KernelProgram
from kernaut.search.benchmarking import BenchmarkOptions, benchmark_report
from kernaut.search.glucose_references import FORECASTERS, forecaster_outcomes, glucose_recipes
from kernaut.search.reference_programs import STEPS, reference_recipes, tuning_groups
from kernaut.search.selection import VALIDATION_EPISODES
from kernaut.verification.verify import verify


def reference_report(
    benchmark: str,
    options: Mapping[str, Any],
    split: str,
    *,
    per_family: int | None = None,
    archive: str | None = None,
    workers: int = 1,
    told: Callable[[str], None] | None = None,
    done: Callable[[str, int, int], None] | None = None,
) -> dict[str, Any]:
    """Tune references on meta-training and score them on one split.

    Args:
        benchmark: a registered benchmark's name.
        options: what it is made with.
        split: ``train``, ``validation`` or ``test``.
        per_family: episodes a family; 10, or as many as there are, if absent.
        archive: where each reference program is kept as soon as it is tuned, and taken from when it is there already; looks are counted in it.
        workers: processes.
        told: called with a line for each finished part.
        done: called with a part's name, how much of it is finished, and of how much.

    Returns:
        A benchmark report; ``forecasters`` lists references that are no kernels.

    Raises:
        InputError: for an unknown benchmark, option or split, or an episode count out of range.
        ArchiveError: when a program is to be kept in an archive that is frozen.
    """
    made = benchmark_named(benchmark, **options)
    count = min(VALIDATION_EPISODES, made.most_per_family) if per_family is None else per_family
    if split == "test" and made.sealed_test is not None:
        raise InputError(
            f"Expected validation for {made.name}, whose test stays hidden. Got test.",
            hint=f"Adults: {made.sealed_test}",
        )
    require_per_family(count, made.most_per_family)
    measured = BenchmarkOptions(
        benchmark=benchmark,
        splits=(split,),
        per_family=count,
        bo_steps=8 if made.has_rollouts else 0,
        benchmark_options=FrozenMapping(options),
    )
    for setting in measured.settings():
        setting.episodes()
    opened = Archive.open_or_create(archive) if archive is not None else None
    try:
        subjects = references_of(made)
        at = partial(_at, done, "grid", len(subjects))
        references = scored_references(subjects, measured.training(), workers=workers, done=at)
        programs = _programs(made, options, references, opened, told)
        report = benchmark_report(
            measured,
            archive=opened,
            files=programs,
            workers=workers,
            references=references,
            done=lambda finished, total: _at(done, "evaluations", total, finished),
        )
    finally:
        if opened is not None:
            opened.close()
    if benchmark == "glucose":
        report["forecasters"] = []
        for name in FORECASTERS:
            section = predictive_section(_outcomes(name, split, count, options))
            report["forecasters"].append({"name": name, "splits": {split: {"predictive": section}}})
            _tell(told, name)
    return report


def _programs(
    made: Benchmark,
    options: Mapping[str, Any],
    references: Sequence[Evaluation],
    archive: Archive | None,
    told: Callable[[str], None] | None,
) -> list[KernelProgram]:
    """Every reference program: from the archive where an earlier command of this version left it there, otherwise made now.

    The winners that the compositional search combines are those of the first two episodes a family, however many the report has.
    """
    origin = f"reference {made.name} {made.digest()[:8]} of source {source_digest()}"
    kept = {} if archive is None else {r.program.name: r.program for r in archive.candidates() if r.origin == origin}
    winners = winners_of(references, MIN_PER_FAMILY)
    _tell(told, f"{len(winners)} winners of the fixed grid")
    recipes = reference_recipes(made, options, [winner.subject for winner in winners])
    if made.name == "glucose":
        recipes += glucose_recipes(tuning_groups(made, options), STEPS)
    if archive is not None and archive.frozen() is not None and not {r.name for r in recipes} <= set(kept):
        raise ArchiveError(
            f"Expected an archive that takes reference programs. Got {archive.location}, which is frozen.",
            hint="Keep them in an archive of their own.",
        )
    for recipe in recipes:
        if recipe.name in kept:
            _tell(told, f"{recipe.name}, tuned before")
            continue
        kept[recipe.name] = recipe.make()
        if archive is not None:
            _keep(archive, kept[recipe.name], made.dimensions, origin)
        _tell(told, recipe.name)
    return [kept[recipe.name] for recipe in recipes]


def table_lines(report: Mapping[str, Any], split: str) -> list[str]:
    """The report's means as aligned text, best CRPS first; lower is better."""
    entries = [*report["candidates"], *report.get("forecasters", [])]
    rows = []
    for entry in entries:
        section = entry["splits"][split]["predictive"]
        extra = [section["nmse"]] if "nmse" in section else []
        rollouts = entry["splits"][split].get("bo")
        extra += [rollouts["regret_auc"]] if rollouts else []
        rows.append((section["mean_crps"], entry["name"], section["mean_nlpd"], section["mean_rmse"], *extra))
    last = "nmse" if any("nmse" in e["splits"][split]["predictive"] for e in entries) else "auc"
    width = max(len(row[1]) for row in rows)
    heads = ["crps", "nlpd", "rmse", *([last] if len(rows[0]) > 4 else [])]
    lines = [f"{'reference (' + split + ')':<{width}}" + "".join(f"{head:>10}" for head in heads)]
    for crps, name, *others in sorted(rows, key=lambda row: (row[0], row[1])):
        lines.append(f"{name:<{width}}" + "".join(f"{value:>10.4f}" for value in (crps, *others)))
    return lines


def _outcomes(name: str, split: str, count: int, options: Mapping[str, Any]) -> list[Any]:
    return forecaster_outcomes(FORECASTERS[name], split, count, options.get("data"))


def _keep(archive: Archive, program: KernelProgram, dimensions: tuple[int, ...], origin: str) -> None:
    """Store a reference program with its evidence."""
    evidence = verify(program, dimensions, 0)
    versions = {name: version for name, version in package_versions().items() if version is not None}
    record = EvidenceRecord(program.id, evidence.accepted, evidence.tier, dimensions, 0, evidence.to_json(), versions)
    archive.import_candidate(program, record, origin)


def _tell(told: Callable[[str], None] | None, line: str) -> None:
    if told is not None:
        told(line)


def _at(done: Callable[[str, int, int], None] | None, part: str, total: int, finished: int) -> None:
    if done is not None:
        done(part, finished, total)
