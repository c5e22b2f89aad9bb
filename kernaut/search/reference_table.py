"""All references of a benchmark in one report: winners of the fixed grid, reference programs, and a benchmark's own forecasters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kernaut.archive.records import EvidenceRecord
from kernaut.archive.store import Archive
from kernaut.digest import FrozenMapping
from kernaut.episodes.registry import benchmark_named
from kernaut.evaluation.evaluate import Setting
from kernaut.evaluation.references import family_winners, references_of
from kernaut.evaluation.report import package_versions, predictive_section
from kernaut.program.program import KernelProgram
from kernaut.search.benchmarking import BenchmarkOptions, benchmark_report
from kernaut.search.glucose_references import FORECASTERS, forecaster_outcomes, glucose_programs
from kernaut.search.reference_programs import reference_programs
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
) -> dict[str, Any]:
    """Tune references on meta-training and score them on one split.

    Args:
        benchmark: a registered benchmark's name.
        options: what it is made with.
        split: ``train``, ``validation`` or ``test``.
        per_family: episodes a family; 10, or as many as there are, if absent.
        archive: where reference programs are kept, and looks are counted.
        workers: processes.
        told: called with a line for each finished part.

    Returns:
        A benchmark report; ``forecasters`` lists references that are no kernels.

    Raises:
        InputError: for an unknown benchmark or option.
    """
    made = benchmark_named(benchmark, **options)
    count = min(VALIDATION_EPISODES, made.most_per_family) if per_family is None else per_family
    training = Setting(benchmark, "train", 2, FrozenMapping(options))
    winners = [winner.subject for winner in family_winners(references_of(made), training, workers=workers)]
    _tell(told, f"{len(winners)} winners of the fixed grid")
    programs = reference_programs(made, options, winners, told)
    if benchmark == "glucose":
        refinement = Setting(benchmark, "train", made.most_per_family, FrozenMapping(options), tuning=True)
        programs += glucose_programs(refinement.episodes())
        _tell(told, "glucose programs")
    opened = Archive.open_or_create(archive) if archive is not None else None
    try:
        if opened is not None:
            for program in programs:
                _keep(opened, program, made.dimensions)
        report = benchmark_report(
            BenchmarkOptions(
                benchmark=benchmark,
                splits=(split,),
                per_family=count,
                bo_steps=8 if made.has_rollouts else 0,
                benchmark_options=FrozenMapping(options),
            ),
            archive=opened,
            files=programs,
            workers=workers,
        )
    finally:
        if opened is not None:
            opened.close()
    if benchmark == "glucose":
        report["forecasters"] = [
            {
                "name": name,
                "splits": {split: {"predictive": predictive_section(_outcomes(name, split, count, options))}},
            }
            for name in FORECASTERS
        ]
    return report


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


def _keep(archive: Archive, program: KernelProgram, dimensions: tuple[int, ...]) -> None:
    """Store a reference program with its evidence."""
    evidence = verify(program, dimensions, 0)
    versions = {name: version for name, version in package_versions().items() if version is not None}
    record = EvidenceRecord(program.id, evidence.accepted, evidence.tier, dimensions, 0, evidence.to_json(), versions)
    archive.import_candidate(program, record, "reference")


def _tell(told: Callable[[str], None] | None, line: str) -> None:
    if told is not None:
        told(line)
