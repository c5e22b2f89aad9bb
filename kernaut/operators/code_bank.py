"""A bank of candidates made by mutating reference solutions, labelled by the hidden tests in the sandbox, and kept in a cache.

For each task: correct candidates (the reference and mutants that no test tells from it, in several styles) and faulty ones, first those that survive the visible checks.
Such a bank is synthetic, and every report that uses one says so.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kernaut.digest import content_id
from kernaut.operators.code_labels import Bench, code_program, run_suites
from kernaut.operators.code_tasks import CodeTask
from kernaut.operators.mutation import FIRST_KINDS, SECOND_KINDS, mutants, one_mutant, restyled
from kernaut.seeds import stable_seed

BANK_VERSION = 1
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


def cache_folder() -> Path:
    """Where banks are kept: ``$KERNAUT_CACHE``, else ``$XDG_CACHE_HOME/kernaut``, else ``~/.cache/kernaut``."""
    given = os.environ.get("KERNAUT_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kernaut"


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
    with Bench(code_program()) as bench:
        for number, task in enumerate(tasks, 1):
            found += _of_task(bench, task, KINDS[pool], size, random.Random(stable_seed("bank", pool, seed, task.id)))
            if done is not None:
                done(number, len(tasks))
    write_cache(place, [asdict(sample) for sample in found])
    return found


def write_cache(place: Path, records: Any) -> None:
    """Write JSON so that nobody meets half of it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = place.with_suffix(f".{os.getpid()}.part")
    beside.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
    beside.replace(place)


def _of_task(bench: Bench, task: CodeTask, kinds: tuple[str, ...], size: int, rng: random.Random) -> list[Sample]:
    suites = [task.visible, task.hidden]
    (reference,) = run_suites(bench, task.entry, [task.reference], suites)
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
    results = run_suites(bench, task.entry, [source for _, source in tried], suites)
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
    labels = run_suites(bench, task.entry, [source for _, source in styled], suites)
    return [
        Sample(task.id, source, not failures[0], not any(failures), kind)
        for (kind, source), failures in zip(styled, labels, strict=True)
    ]
