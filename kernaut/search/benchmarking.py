"""The benchmark report: programs of an archive or of candidate files beside the reference kernels, on any splits.

References are always included: the winner of each family of the fixed grid, chosen on meta-training episodes alone.  Every opening of validation or test is
counted in the archive before it happens, and what was seen there goes to the archive's held-out store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernaut.archive.records import HELD_OUT_SPLITS
from kernaut.archive.store import Archive
from kernaut.digest import FrozenMapping, freeze
from kernaut.episodes.episode import require_per_family, require_split
from kernaut.errors import InputError
from kernaut.evaluation.evaluate import Evaluation, Setting, evaluate_all
from kernaut.evaluation.references import MIN_PER_FAMILY, references_of, scored_references, winners_of
from kernaut.evaluation.report import build_report, protocol_block
from kernaut.evaluation.subject import program_subject
from kernaut.program.program import KernelProgram
from kernaut.sandbox.limits import Limits
from kernaut.search.selection import Selection, held_out_record, require_selected

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class BenchmarkOptions:
    """What is measured.

    Args:
        benchmark: a registered benchmark's name.
        splits: splits to open, in the order of the report.
        per_family: episodes, and optimization tasks, of each family.
        bo_steps: steps of the optimization rollouts; 0 for none.
        candidates: fresh candidates at each step.
        benchmark_options: what the benchmark is made with.
        limits: of every sandboxed program.

    Raises:
        InputError: for a value out of range.
    """

    benchmark: str = "bbo"
    splits: tuple[str, ...] = SPLITS
    per_family: int = 1
    bo_steps: int = 8
    candidates: int = 128
    benchmark_options: Mapping[str, Any] = field(default_factory=lambda: FrozenMapping({}))
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        object.__setattr__(self, "benchmark_options", freeze(self.benchmark_options))
        if not self.splits:
            raise InputError(f"Expected at least one split of {', '.join(SPLITS)}. Got none.")
        for split in self.splits:
            require_split(split)
        require_per_family(self.per_family)
        if isinstance(self.bo_steps, bool) or not isinstance(self.bo_steps, int) or self.bo_steps < 0:
            raise InputError(f"Expected a number of optimization steps of at least 0. Got {self.bo_steps!r}.")
        if isinstance(self.candidates, bool) or not isinstance(self.candidates, int) or self.candidates < 1:
            raise InputError(f"Expected a candidate pool of at least 1. Got {self.candidates!r}.")

    def settings(self) -> list[Setting]:
        """One setting for each split."""
        return [self._setting(split) for split in self.splits]

    def training(self) -> Setting:
        """Where reference winners are chosen."""
        return self._setting("train")

    def _setting(self, split: str) -> Setting:
        return Setting(
            self.benchmark,
            split,
            self.per_family,
            self.benchmark_options,
            bo_steps=self.bo_steps,
            candidates=self.candidates,
        )


def benchmark_report(
    options: BenchmarkOptions,
    *,
    archive: Archive | None = None,
    programs: Sequence[KernelProgram] = (),
    files: Sequence[KernelProgram] = (),
    selection: Selection | None = None,
    workers: int = 1,
    references: Sequence[Evaluation] | None = None,
    on_reference: Callable[[int], None] | None = None,
    done: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Evaluate programs and references on the given splits.

    Args:
        options: what is measured.
        archive: where looks are counted and held-out outcomes kept; also looks up programs that closures name.
        programs: of the archive; see :func:`archive_programs`.
        files: verified programs of candidate files.
        selection: a choice made on validation: its program is evaluated, and its rule stands in the report.
        workers: processes; the report does not depend on it.
        references: all of them on meta-training, where they were scored before; from :func:`kernaut.evaluation.references.scored_references`.
        on_reference: called with the number of references tried so far.
        done: called with the number of finished evaluations, and how many there are.

    Returns:
        The report of protocol section 11.

    Raises:
        InputError: for an unknown benchmark, episodes that cannot be drawn, a test that stays hidden, or a selection made for another benchmark or without its archive.
        ArchiveError: when the archive is not the one that was selected from.
    """
    settings = options.settings()
    for setting in settings:
        made = setting.made()
        if setting.split == "test" and made.sealed_test is not None:
            raise InputError(
                f"Expected train or validation of {made.name}, whose test stays hidden. Got test.",
                hint=f"Score one program on it with: {made.sealed_test}",
            )
        require_per_family(setting.per_family, made.most_per_family)
        setting.episodes()
    if selection is not None:
        programs = [_selected(options, archive, selection)]
    if references is None:
        subjects = references_of(options.training().made())
        references = scored_references(subjects, options.training(), workers=workers, done=on_reference)
    winners = [winner.subject for winner in winners_of(references)]
    own = {program.id: program_subject(program) for program in programs}
    own |= {program.id: program_subject(program, "file") for program in files if program.id not in own}
    known = {program.id: program for program in (*(archive.programs() if archive is not None else ()), *files)}
    looks = _count_looks(options, archive, len(own))
    everything = [*own.values(), *winners]
    total = len(everything) * len(settings)
    rows = evaluate_all(
        everything,
        settings,
        workers=workers,
        programs=known,
        limits=options.limits,
        done=(lambda count: done(count, total)) if done is not None else None,
    )
    if archive is not None:
        _keep(archive, rows)
    protocol = protocol_block(
        settings,
        selection=_described(selection),
        reference_budget={
            "settings_tried": dict(Counter(evaluation.subject.family for evaluation in references)),
            "chosen_on": {"split": "train", "episodes_per_family": max(MIN_PER_FAMILY, options.per_family)},
        },
    )
    return build_report(protocol, looks, rows)


def archive_programs(archive: Archive, identifiers: Sequence[str] = (), limit: int = 100) -> list[KernelProgram]:
    """Programs of an archive to evaluate, by identifier.

    Args:
        archive: the archive.
        identifiers: those wanted; all candidates where none is named.
        limit: the most programs to return.

    Raises:
        InputError: for an identifier that is no candidate of the archive, or a limit below 1.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise InputError(f"Expected a limit of at least 1. Got {limit!r}.")
    candidates = {record.program.id: record.program for record in archive.candidates()}
    unknown = [key for key in identifiers if key not in candidates]
    if unknown:
        raise InputError(
            f"Expected identifiers of accepted programs of {archive.location}. Got {', '.join(unknown)}.",
            hint="List them with kernaut inspect.",
        )
    wanted = sorted(set(identifiers)) or sorted(candidates)
    return [candidates[key] for key in wanted][:limit]


def _selected(options: BenchmarkOptions, archive: Archive | None, selection: Selection) -> KernelProgram:
    if archive is None:
        raise InputError("Expected the archive that the selection was made from. Got none.", hint="Give --archive.")
    if selection.benchmark != options.benchmark:
        raise InputError(f"Expected a selection made on {options.benchmark}. Got one made on {selection.benchmark}.")
    return require_selected(archive, selection)


def _count_looks(options: BenchmarkOptions, archive: Archive | None, candidates: int) -> Mapping[str, int]:
    """Count the looks before anything held out is scored; without an archive, those of this report alone."""
    opened = [split for split in options.splits if split in HELD_OUT_SPLITS]
    if archive is None:
        return {split: int(split in opened) for split in HELD_OUT_SPLITS}
    for split in opened:
        details = {"per_family": options.per_family, "candidates": candidates}
        archive.record_look(options.benchmark, split, "benchmark", details)
    return archive.looks(options.benchmark)


def _keep(archive: Archive, rows: Sequence[Sequence[Evaluation]]) -> None:
    held = [evaluation for row in rows for evaluation in row if evaluation.setting.split in HELD_OUT_SPLITS]
    if held:
        with archive.held_out() as store:
            store.record(*(held_out_record(evaluation, "benchmark") for evaluation in held))


def _described(selection: Selection | None) -> dict[str, Any] | None:
    """A selection as it stands in a report's protocol: everything but the candidates' values."""
    if selection is None:
        return None
    record = selection.to_json()
    del record["candidates"]
    return record
