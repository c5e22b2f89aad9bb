"""What every benchmark command shares: its options as typed declarations, and the report behind them. No author and no model is ever called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from kernaut.cli import ranges
from kernaut.cli.options import OutOption, WorkersOption, worker_count
from kernaut.cli.terminal import Terminal, require_writable, write_json


class SplitName(StrEnum):
    """Which splits are opened."""

    all = "all"
    train = "train"
    validation = "validation"
    test = "test"


ArchiveToReadOption = Annotated[
    str | None,
    typer.Option("--archive", metavar="PATH", help="The archive whose accepted programs are evaluated."),
]
LimitsOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="TOML; only its [execution] limits are used.")
]
SplitOption = Annotated[SplitName, typer.Option("--split", help="Which splits to open.")]
SelectionOption = Annotated[
    Path | None,
    typer.Option("--selection", metavar="FILE", help="A selection.json: report its choice, and no other program."),
]
LimitOption = Annotated[int, typer.Option("--limit", help="Most programs of the archive.", callback=ranges.count)]
CandidateIdOption = Annotated[
    list[str] | None,
    typer.Option("--candidate-id", metavar="ID", help="An accepted program of the archive (repeatable)."),
]
CandidateFileOption = Annotated[
    list[Path] | None,
    typer.Option("--candidate-file", metavar="FILE", help="A candidate JSON file (repeatable); needs no archive."),
]


@dataclass(frozen=True)
class ReportGiven:
    """What every benchmark command can be given; each field is the option of its name."""

    archive: ArchiveToReadOption = None
    config: LimitsOption = None
    selection: SelectionOption = None
    limit: LimitOption = 100
    candidate_id: CandidateIdOption = None
    candidate_file: CandidateFileOption = None
    workers: WorkersOption = None
    out: OutOption = None


REPORT = ReportGiven()


def splits_of(split: SplitName) -> tuple[str, ...]:
    """The splits that ``--split`` opens, in the order of the report."""
    return ("train", "validation", "test") if split is SplitName.all else (split.value,)


def report(
    ctx: typer.Context,
    benchmark: str,
    given: ReportGiven,
    *,
    splits: tuple[str, ...],
    episodes_per_family: int,
    benchmark_options: Mapping[str, Any] | None = None,
    bo_steps: int = 0,
    candidate_pool_size: int = 128,
    worst_domain_weight: float | None = None,
) -> None:
    """Score programs and the reference kernels, and write the report.

    Args:
        ctx: of the command.
        benchmark: its name.
        given: the options that benchmark commands share.
        splits: those to open, in the order of the report.
        episodes_per_family: episodes of each family.
        benchmark_options: what the benchmark is made with.
        bo_steps: steps of the optimization rollouts; 0 for none.
        candidate_pool_size: fresh candidates at each step.
        worst_domain_weight: adds a score with this weight of the worst family's mean CRPS.

    Raises:
        InputError: for options that contradict each other or are out of range.
        ArchiveError: when the archive is not the one that was selected from.
    """
    from kernaut.cli.config import read_config
    from kernaut.digest import FrozenMapping
    from kernaut.episodes.registry import benchmark_named
    from kernaut.errors import InputError
    from kernaut.program.program import load_candidate

    terminal: Terminal = ctx.obj
    count = worker_count(given.workers)
    require_writable(given.out)
    limits = read_config(given.config, for_models=False).execution.limits()
    if given.selection is not None and (given.candidate_id or given.candidate_file):
        raise InputError("Expected --selection alone, without --candidate-id and --candidate-file. Got both.")
    if given.archive is None and (given.candidate_id or given.selection is not None):
        raise InputError("Expected --archive with --candidate-id or --selection. Got none.")
    for path in given.candidate_file or ():
        load_candidate(path)
    benchmark_named(benchmark, **(benchmark_options or {})).episodes_or_failures("train", 1)

    from kernaut.archive.store import Archive
    from kernaut.evaluation.references import references_of
    from kernaut.evaluation.report import with_scores
    from kernaut.sandbox.pool import default_pool
    from kernaut.search.benchmarking import BenchmarkOptions, archive_programs, benchmark_report
    from kernaut.search.candidates import verified_candidate
    from kernaut.search.selection import load_selection

    options = BenchmarkOptions(
        benchmark=benchmark,
        splits=splits,
        per_family=episodes_per_family,
        bo_steps=bo_steps,
        candidates=candidate_pool_size,
        benchmark_options=FrozenMapping(benchmark_options or {}),
        limits=limits,
    )
    made = options.training().made()
    dimensions = made.dimensions
    if made.warning is not None:
        terminal.warn(made.warning)
    chosen = None if given.selection is None else load_selection(given.selection)
    if len(splits) > 1 and "test" in splits and given.selection is None:
        terminal.warn(
            "test results are included; to choose a program, use kernaut select, which opens validation only."
        )

    opened = Archive.open(given.archive) if given.archive is not None else None
    try:
        programs = []
        if opened is not None and chosen is None and (given.candidate_id or not given.candidate_file):
            programs = archive_programs(opened, given.candidate_id or (), given.limit)
            left = len(opened.candidates()) - len(programs)
            if left and not given.candidate_id:
                terminal.warn(f"{left} programs beyond --limit {given.limit} are left out.")
        pool = default_pool(limits)
        resolve = opened.program if opened is not None else None
        files = [
            verified_candidate(path, dimensions, pool=pool, resolve=resolve)[0] for path in given.candidate_file or ()
        ]
        references = len(references_of(made))
        with terminal.progress() as progress:
            found = benchmark_report(
                options,
                archive=opened,
                programs=programs,
                files=files,
                selection=chosen,
                workers=count,
                on_reference=lambda done: progress.at("references", done, references),
                done=lambda done, total: progress.at("evaluations", done, total),
            )
    finally:
        if opened is not None:
            opened.close()
    if worst_domain_weight is not None:
        with_scores(found, worst_domain_weight)
    write_json(found, given.out)
