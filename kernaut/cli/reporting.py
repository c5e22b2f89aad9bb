"""What every benchmark command shares: its options as typed declarations, and the report behind them. No author and no model is ever called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from kernaut.cli.options import worker_count
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
LimitOption = Annotated[int, typer.Option("--limit", help="Most programs of the archive.")]
CandidateIdOption = Annotated[
    list[str] | None,
    typer.Option("--candidate-id", metavar="ID", help="An accepted program of the archive (repeatable)."),
]
CandidateFileOption = Annotated[
    list[Path] | None,
    typer.Option("--candidate-file", metavar="FILE", help="A candidate JSON file (repeatable); needs no archive."),
]


@dataclass(frozen=True)
class ReportRequest:
    """What a benchmark command was asked for; each field is the option of its name."""

    benchmark: str
    episodes_per_family: int
    splits: tuple[str, ...]
    benchmark_options: Mapping[str, Any] = field(default_factory=dict)
    archive: str | None = None
    config: Path | None = None
    selection: Path | None = None
    bo_steps: int = 0
    candidate_pool_size: int = 128
    limit: int = 100
    candidate_id: list[str] | None = None
    candidate_file: list[Path] | None = None
    worst_domain_weight: float | None = None
    workers: int | None = None
    out: Path | None = None


def splits_of(split: SplitName) -> tuple[str, ...]:
    """The splits that ``--split`` opens, in the order of the report."""
    return ("train", "validation", "test") if split is SplitName.all else (split.value,)


def report(ctx: typer.Context, request: ReportRequest) -> None:
    """Score programs and the reference kernels, and write the report.

    Raises:
        InputError: for options that contradict each other or are out of range.
        ArchiveError: when the archive is not the one that was selected from.
    """
    from kernaut.archive.store import Archive
    from kernaut.cli.config import read_config
    from kernaut.digest import FrozenMapping
    from kernaut.errors import InputError
    from kernaut.evaluation.references import references_of
    from kernaut.evaluation.report import require_weight, with_scores
    from kernaut.sandbox.pool import default_pool
    from kernaut.search.benchmarking import BenchmarkOptions, archive_programs, benchmark_report
    from kernaut.search.candidates import verified_candidate
    from kernaut.search.selection import load_selection

    terminal: Terminal = ctx.obj
    count = worker_count(request.workers)
    require_writable(request.out)
    if request.worst_domain_weight is not None:
        require_weight(request.worst_domain_weight)
    limits = read_config(request.config, for_models=False).execution.limits()
    options = BenchmarkOptions(
        benchmark=request.benchmark,
        splits=request.splits,
        per_family=request.episodes_per_family,
        bo_steps=request.bo_steps,
        candidates=request.candidate_pool_size,
        benchmark_options=FrozenMapping(request.benchmark_options),
        limits=limits,
    )
    made = options.training().made()
    dimensions = made.dimensions
    if made.warning is not None:
        terminal.warn(made.warning)
    if request.selection is not None and (request.candidate_id or request.candidate_file):
        raise InputError("Expected --selection alone, without --candidate-id and --candidate-file. Got both.")
    if request.archive is None and (request.candidate_id or request.selection is not None):
        raise InputError("Expected --archive with --candidate-id or --selection. Got none.")
    chosen = None if request.selection is None else load_selection(request.selection)
    if len(request.splits) > 1 and "test" in request.splits and request.selection is None:
        terminal.warn(
            "test results are included; to choose a program, use kernaut select, which opens validation only."
        )

    opened = Archive.open(request.archive) if request.archive is not None else None
    try:
        programs = []
        if opened is not None and chosen is None and (request.candidate_id or not request.candidate_file):
            programs = archive_programs(opened, request.candidate_id or (), request.limit)
            left = len(opened.candidates()) - len(programs)
            if left and not request.candidate_id:
                terminal.warn(f"{left} programs beyond --limit {request.limit} are left out.")
        pool = default_pool(limits)
        resolve = opened.program if opened is not None else None
        files = [
            verified_candidate(path, dimensions, pool=pool, resolve=resolve)[0] for path in request.candidate_file or ()
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
    if request.worst_domain_weight is not None:
        with_scores(found, request.worst_domain_weight)
    write_json(found, request.out)
