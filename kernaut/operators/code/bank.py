"""A bank of candidates made by mutating reference solutions, labelled by the hidden tests in the sandbox, and kept in a cache.

For each task: correct candidates (the reference and mutants that no test tells from it, in several styles) and faulty ones, first those that survive the visible checks.
Such a bank is synthetic, and every report that uses one says so.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from kernaut.digest import content_id
from kernaut.errors import InputError
from kernaut.operators.cache import cache_folder, write_cache
from kernaut.operators.code.labels import Labeller
from kernaut.operators.code.mutation import FIRST_KINDS, SECOND_KINDS, mutants, one_mutant, restyled
from kernaut.operators.code.tasks import CodeTask, read_records
from kernaut.seeds import stable_seed

BANK_VERSION = 2
MOST_TRIED = 60
KINDS = {"first": FIRST_KINDS, "second": SECOND_KINDS}


@dataclass(frozen=True)
class Sample:
    """One candidate of a bank.

    Args:
        task: its task's identifier.
        source: the whole source.
        visible: whether it passes the visible checks.
        correct: whether it passes the hidden tests, too.
        made_by: mutation kind, ``reference``, or where it comes from.
    """

    task: str
    source: str
    visible: bool
    correct: bool
    made_by: str


def synthetic_bank(
    tasks: Sequence[CodeTask],
    *,
    pool: str = "first",
    size: int = 24,
    seed: int = 0,
    cache: Path | None = None,
    done: Callable[[int, int], None] | None = None,
) -> list[Sample]:
    """Candidates of all tasks, from the cache where they are in it.

    Args:
        tasks: tasks.
        pool: ``first`` or ``second``, disjoint sets of mutation kinds.
        size: candidates a task, as far as its code allows.
        seed: of the choice among mutants.
        cache: folder; :func:`cache_folder` if absent.
        done: called with tasks done and their number.

    Returns:
        Samples grouped by task.
    """
    parameters = {"version": BANK_VERSION, "pool": pool, "size": size, "seed": seed, "tried": MOST_TRIED}
    place = (cache or cache_folder()) / f"bank-{content_id([parameters, [asdict(task) for task in tasks]])}.json"
    if place.is_file():
        return [Sample(**record) for record in json.loads(place.read_text(encoding="utf-8"))]
    found: list[Sample] = []
    with Labeller(shared=True) as labeller:
        for number, task in enumerate(tasks, 1):
            found += _of_task(
                labeller, task, KINDS[pool], size, random.Random(stable_seed("bank", pool, seed, task.id))
            )
            if done is not None:
                done(number, len(tasks))
    write_cache(place, [asdict(sample) for sample in found])
    return found


def sample_bank(
    tasks: Sequence[CodeTask],
    path: Path,
    *,
    cache: Path | None = None,
    done: Callable[[int, int], None] | None = None,
) -> list[Sample]:
    """Candidates of a JSONL file (``task_id``, and ``completion`` or ``solution``), labelled by visible checks and hidden tests, from the cache where they are in it.

    Each candidate is run in a process of its own.  Tasks whose reference fails in the sandbox are left out.

    Raises:
        InputError: when the file holds no candidate of the tasks, or a line holds no source.
    """
    by_task: dict[str, list[str]] = {task.id: [] for task in tasks}
    entries = {task.id: task for task in tasks}
    for number, record in enumerate(read_records(path), 1):
        name = str(record.get("task_id", ""))
        source = record.get("solution", record.get("completion"))
        if not isinstance(source, str) or not name:
            absent = "neither" if name else "no task_id"
            raise InputError(
                f"Expected task_id, and solution or completion, in record {number} of {path}. Got {absent}."
            )
        if name in by_task:
            whole = f"def {entries[name].entry}" in source
            by_task[name].append(source if whole else entries[name].prompt + source)
    if not any(by_task.values()):
        raise InputError(f"Expected candidates of the loaded tasks in {path}. Got none.")
    key = content_id([BANK_VERSION, path.name, [asdict(task) for task in tasks], by_task])
    place = (cache or cache_folder()) / f"samples-{key}.json"
    if place.is_file():
        return [Sample(**record) for record in json.loads(place.read_text(encoding="utf-8"))]
    found: list[Sample] = []
    with Labeller() as labeller:
        for number, task in enumerate(tasks, 1):
            found += _labelled(labeller, task, by_task[task.id], path.name)
            if done is not None:
                done(number, len(tasks))
    write_cache(place, [asdict(sample) for sample in found])
    return found


def _labelled(labeller: Labeller, task: CodeTask, sources: Sequence[str], made_by: str) -> list[Sample]:
    distinct = list(dict.fromkeys([task.reference, *sources]))
    suites = [task.visible, task.hidden]
    labels = dict(
        zip(distinct, labeller.failures(task.entry, task.reference, distinct, suites), strict=True) if sources else ()
    )
    if not sources or any(labels[task.reference]):
        return []
    return [Sample(task.id, s, not labels[s][0], not any(labels[s]), made_by) for s in sources]


def _of_task(labeller: Labeller, task: CodeTask, kinds: tuple[str, ...], size: int, rng: random.Random) -> list[Sample]:
    def failures(sources: Sequence[str]) -> list[list[str]]:
        return labeller.failures(task.entry, task.reference, sources, [task.visible, task.hidden])

    (reference,) = failures([task.reference])
    if any(reference):
        return []  # tests that the reference fails in the sandbox label nothing
    tried = mutants(task.reference, kinds)
    rng.shuffle(tried)
    tried = tried[:MOST_TRIED]
    for _ in range(2 * (MOST_TRIED - len(tried)) if tried else 0):
        if len(tried) >= MOST_TRIED:
            break
        kind, source = rng.choice(tried[:40])
        further = one_mutant(source, kinds, rng)
        if further is not None and all(further[1] != other for _, other in tried):
            tried.append((f"{kind}+{further[0]}", further[1]))
    results = failures([source for _, source in tried])
    equal = [mutant for mutant, failures in zip(tried, results, strict=True) if not any(failures)]
    subtle = [m for m, failures in zip(tried, results, strict=True) if not failures[0] and any(failures)]
    plain = [m for m, failures in zip(tried, results, strict=True) if failures[0]]
    correct = rng.randint(size // 6, size // 2)
    faulty = subtle[: size - correct - 2]
    faulty += plain[: size - correct - len(faulty)]
    rights = [("reference", task.reference), *equal[: correct // 2]]
    chosen = [rights[number % len(rights)] for number in range(correct)] + faulty
    styled = [(kind, restyled(source, rng)) for kind, source in chosen]
    rng.shuffle(styled)
    labels = failures([source for _, source in styled])
    return [
        Sample(task.id, source, not failures[0], not any(failures), kind)
        for (kind, source), failures in zip(styled, labels, strict=True)
    ]
