"""Domains by name: ``code``, ``kernels``, and those of installed packages (entry point group ``kernaut.domains``)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernaut.archive.store import Archive
from kernaut.episodes.episode import require_per_family
from kernaut.episodes.registry import benchmark_named
from kernaut.errors import InputError
from kernaut.evaluation.references import references_of
from kernaut.evaluation.subject import Subject, program_subject
from kernaut.operators.cache import cache_folder, require_cache
from kernaut.operators.code.bank import Sample, sample_bank, synthetic_bank
from kernaut.operators.code.domain import SYNTHETIC, CodeDomain
from kernaut.operators.code.labels import Labeller
from kernaut.operators.code.operators import COMPARATOR
from kernaut.operators.code.tasks import CodeTask, Visible, load_tasks, single_suites, with_examples
from kernaut.operators.domain import Domain
from kernaut.operators.kernels.coordinates import CoordinateFits, fit_coordinates
from kernaut.operators.kernels.domain import KernelDomain
from kernaut.operators.kernels.fits import crps_of, fit_subjects, only
from kernaut.operators.kernels.use import Candidates
from kernaut.operators.rules import Rule
from kernaut.plugins import extensions, load_extension

GROUP = "kernaut.domains"
OWN = ("code", "kernels")
REFERENCES_A_FAMILY = 2


@dataclass(frozen=True)
class DomainOptions:
    """What makes a domain.

    Args:
        tasks: ``code``: a JSONL file of tasks; HumanEval of the installed package if absent.
        samples: ``code``: a JSONL file of candidates (``task_id`` and ``completion`` or ``solution``); a synthetic bank if absent.
        visible: ``code``: where visible checks come from.
        limit: ``code``: most tasks, the first ones; 0 for all.
        size: ``code``: candidates a task of a synthetic bank.
        split_seed: ``code``: of the hash that divides tasks.
        benchmark: ``kernels``: the benchmark.
        train: ``kernels``: training episodes a family.
        validation: ``kernels``: validation episodes a family.
        test: ``kernels``: test episodes a family; 0 leaves the test split closed.
        kernels: ``kernels``: the archive whose programs are candidates; the one that holds the campaign if absent.
        options: keyword arguments of an installed domain, JSON.
        transfer_samples: ``code``: such a file for the second pool; never a part of a campaign.
    """

    tasks: str | None = None
    samples: str | None = None
    visible: Visible = "suite"
    limit: int = 0
    size: int = 24
    split_seed: int = 0
    benchmark: str = "bbo"
    train: int = 12
    validation: int = 10
    test: int = 0
    kernels: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    transfer_samples: str | None = None

    def to_json(self) -> dict[str, Any]:
        """What a campaign records: all but the samples that only a report looks at; keyword arguments of an installed domain only where there are any."""
        kept = {key: value for key, value in asdict(self).items() if key != "transfer_samples"}
        return {key: value for key, value in kept.items() if key != "options" or value}


def open_domain(
    name: str,
    options: DomainOptions,
    archive: Archive | None,
    *,
    cache: Path | None = None,
    second_pool: bool = False,
    fresh: bool = False,
    held_out: bool = True,
    done: Callable[[int, int], None] | None = None,
) -> Domain:
    """Make a domain.

    Args:
        name: ``code``, ``kernels`` or an installed one.
        options: what makes it.
        archive: whose programs are the candidates of ``kernels``, unless the options name another; None where there is none yet.
        cache: ``code`` and ``kernels``: folder of banks, measured symptoms and verdicts; the user's cache if absent.
        second_pool: ``code``: whether the pool of other mutation kinds is made, too.
        fresh: whether verdicts are formed anew, whatever a cache holds.
        held_out: ``kernels``: whether validation, and test where asked for, are opened; training alone counts no look.
        done: called with tasks done and their number; ``kernels``: with kernels fitted to a split, and their number.

    Raises:
        InputError: for an unknown name.
    """
    if options.options and name in OWN:
        raise InputError(f"Expected no further options for the domain {name}. Got {', '.join(options.options)}.")
    if name not in OWN:
        return _installed(name, options)
    folder = require_cache(cache or cache_folder())
    made = _code(options, folder, second_pool, done) if name == "code" else _opened(options, archive, held_out, done)
    made.cache = None if fresh else folder
    return made


def _opened(
    options: DomainOptions, archive: Archive | None, held_out: bool, done: Callable[[int, int], None] | None
) -> KernelDomain:
    """The kernels of the archive that the options name, else of the one given."""
    if options.kernels is not None:
        with Archive.open(options.kernels, read_only=not held_out) as other:
            return _kernels(options, other, held_out, done)
    if archive is None:
        raise InputError(
            "Expected an archive whose programs are the candidates. Got none.", hint="Name one by --kernels."
        )
    return _kernels(options, archive, held_out, done)


def _installed(name: str, options: DomainOptions) -> Domain:
    """A domain of an installed package.

    Raises:
        InputError: when no package offers it, or it is no domain or takes other options.
    """
    known = extensions(GROUP)
    if name not in known:
        raise InputError(f"Expected a domain of {', '.join((*OWN, *known))}. Got {name!r}.")
    make = load_extension(GROUP, name)
    try:
        inspect.signature(make).bind(**options.options)
    except TypeError as error:
        raise InputError(f"Expected options that the domain {name} takes. Got: {error}.") from error
    made: Domain = make(**options.options)
    wanted = [name for name in (*Domain.__annotations__, *vars(Domain)) if not name.startswith("_")]
    absent = [name for name in wanted if not hasattr(made, name)]
    if absent:
        raise InputError(
            f"Expected a domain from the {GROUP} extension {name!r}. Got {type(made).__name__} without {', '.join(absent)}."
        )
    if made.name != name:
        raise InputError(f"Expected the domain that is installed as {name!r} to have that name. Got {made.name!r}.")
    return made


def code_tasks(options: DomainOptions, labeller: Labeller) -> tuple[list[CodeTask], dict[str, str]]:
    """The tasks of the options, prompt examples tried on reference solutions, and why others are left out."""
    tasks, left_out = load_tasks(None if options.tasks is None else Path(options.tasks), options.visible)
    tasks = tasks[: options.limit] if options.limit else tasks
    if options.visible == "suite":
        return tasks, left_out
    kept = []
    for task in tasks:
        (failures,) = labeller.failures(task.entry, task.reference, [task.reference], single_suites(task), every=True)
        try:
            kept.append(with_examples(task, [place for place, failure in enumerate(failures) if not failure]))
        except InputError as error:
            left_out[task.id] = error.message
    return kept, left_out


def baseline_rules(domain: Domain) -> list[Rule]:
    """Nothing, the hand-written operators as one union filter and each alone, the comparator of ``code``."""
    rules = [Rule("nothing", (), 1), Rule("hand-written, union", tuple(domain.hand_written()), 1)]
    rules += [Rule(f"hand-written: {operator.defect}", (operator,), 1) for operator in domain.hand_written()]
    if domain.name == "code":
        rules.append(Rule("plurality comparator", (COMPARATOR,), 1))
    return rules


def _kernels(
    options: DomainOptions, archive: Archive, held_out: bool, done: Callable[[int, int], None] | None
) -> KernelDomain:
    """An archive's programs and the best references of each family, fitted to a benchmark's episodes; what is opened is counted as a look."""
    made = benchmark_named(options.benchmark)
    for count in (options.train, options.validation, options.test or 1):
        require_per_family(count, made.most_per_family)
    if options.test and made.sealed_test is not None:
        raise InputError(
            f"Expected --test 0 for {made.name}, whose test stays hidden. Got {options.test}.",
            hint=f"Score one program on it with: {made.sealed_test}",
        )
    episodes = made.episodes("train", options.train)
    if any(len(episode.context[1]) for episode in episodes):
        raise InputError(
            f"Expected a benchmark whose forecasts rest on fitting observations alone. Got {made.name}, which has context ones."
        )
    programs = [program_subject(candidate.program) for candidate in archive.candidates()]
    references = references_of(made)
    fit = partial(fit_subjects, resolve=archive.program, done=done)
    train = fit([*programs, *references], episodes)
    scores = np.stack([crps_of(f) for f in train]).mean(0)
    first = len(programs)
    chosen = [*range(first), *(first + place for place in _best_of_families(references, scores[first:]))]
    subjects = [[*programs, *references][place] for place in chosen]
    reference = first + int(scores[chosen][first:].argmin())
    if not held_out:
        known = Candidates(tuple(subjects), reference, None, scores[chosen])
        return KernelDomain({"train": only(train, chosen)}, reference, candidates=known)
    archive.record_look(options.benchmark, "validation", "cegar", {"per_family": options.validation})
    validation = fit(subjects, made.episodes("validation", options.validation))
    fits = {"train": only(train, chosen), "validation": validation, "unseen": validation}
    if options.test:
        archive.record_look(options.benchmark, "test", "cegar", {"per_family": options.test})
        fits["unseen"] = fit(subjects, made.episodes("test", options.test))
    on_validation = np.stack([crps_of(f) for f in validation]).mean(0)
    candidates = Candidates(
        tuple(subjects),
        reference=reference,
        validated=int(on_validation[: first or len(subjects)].argmin()),
        training=scores[chosen],
    )
    programs_by_id = {candidate.program.id: candidate.program for candidate in archive.candidates()}

    def fewer(name: str) -> list[CoordinateFits]:
        return fit_coordinates(subjects, [record.episode for record in fits[name]], resolve=programs_by_id.__getitem__)

    return KernelDomain(
        fits, candidates.reference, candidates=candidates, coordinates=None if made.coordinates else fewer
    )


def _best_of_families(references: Sequence[Subject], scores: NDArray[np.float64]) -> list[int]:
    """Places of the best references of each family by training score."""
    chosen: list[int] = []
    for family in dict.fromkeys(subject.family for subject in references):
        members = [place for place, subject in enumerate(references) if subject.family == family]
        chosen += sorted(members, key=lambda place: scores[place])[:REFERENCES_A_FAMILY]
    return sorted(chosen)


def _code(
    options: DomainOptions, cache: Path, second_pool: bool, done: Callable[[int, int], None] | None
) -> CodeDomain:
    with Labeller() as labeller:
        tasks, left_out = code_tasks(options, labeller)
    if not tasks:
        raise InputError(
            f"Expected tasks that can be used. Got none of {len(left_out)}: {next(iter(left_out.values()), 'no records')}"
        )
    pools: dict[str, list[Sample]] = {}
    if options.samples is not None:
        pools["first"] = sample_bank(tasks, Path(options.samples), cache=cache, done=done)
    else:
        pools["first"] = synthetic_bank(tasks, size=options.size, cache=cache, done=done)
    if options.transfer_samples is not None:
        pools["second"] = sample_bank(tasks, Path(options.transfer_samples), cache=cache, done=done)
    elif second_pool:
        pools["second"] = synthetic_bank(tasks, pool="second", size=options.size, cache=cache, done=done)
    labelled = {sample.task for sample in pools["first"]}
    counts = {
        "visible": options.visible,
        "usable": len(tasks),
        "left_out": dict(sorted(left_out.items())),
        "without_labels": sorted(task.id for task in tasks if task.id not in labelled),
    }
    files = {"first": options.samples, "second": options.transfer_samples}
    return CodeDomain(
        tasks,
        pools,
        options.split_seed,
        synthetic=SYNTHETIC if options.samples is None else "",
        foreign=[pool for pool, file in files.items() if file is not None],
        cache=cache,
        counts=counts,
    )
