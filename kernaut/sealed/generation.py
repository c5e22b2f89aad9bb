"""Generate a task set: public manifest and index, sealed ledger, key.  Trusted side.

Public draws come from the instances' public seeds, hidden ones from the sealed key.  Seeds follow the splits of every benchmark here:
``100000 * seed + offset + 1000 * family + number`` with offset 0, 10 000, 20 000, so that test instances have a seed range of their own.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernaut.digest import canonical_json
from kernaut.errors import InputError
from kernaut.sealed.calibration import ROLLOUTS, is_calibrated, random_level, worst
from kernaut.sealed.families.family import Family
from kernaut.sealed.families.registry import family_named, family_names
from kernaut.sealed.ledger import LedgerRow, write_ledger
from kernaut.sealed.manifest import FOLDER_NAME, INDEX_NAME, SPLITS, VERSION, Index, PublicTask, task_id
from kernaut.sealed.probe import LEAST_INSTANCES, ProbeResult, probe
from kernaut.sealed.scan import require_sealed
from kernaut.sealed.sealing import SealedKey, new_key, read_key, write_key
from kernaut.seeds import generator

GENERATOR = "1"
RANDOM_STREAMS = "public: numpy PCG64 of stable seeds; hidden: SHAKE-256 of HMAC-SHA256(key, task_id)"
OFFSETS = {"train": 0, "validation": 10_000, "test": 20_000}
SEED_STEP = 100_000
MOST_A_SPLIT = 999
MOST_FAMILIES = 10
PROBED = 120
MOST_PROBED = 480
_PROBE_FROM, _PROBE_TO, _SECOND_LOOK = 9000, 10_000, 6


@dataclass(frozen=True)
class Generation:
    """What to generate.

    Args:
        counts: tasks by family.
        seed: public seed of the set.
        options: options by family.
        rollouts: random rollouts a task, at least 100.
        probed: fresh instances a family that the extraction probe looks at.

    Raises:
        InputError: for an unknown family, a count or seed out of range.
    """

    counts: Mapping[str, int]
    seed: int = 0
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rollouts: int = ROLLOUTS
    probed: int = PROBED

    def __post_init__(self) -> None:
        known = family_names()
        if not self.counts:
            raise InputError("Expected at least one family to generate. Got none.", hint="--count haar_encode=20")
        for name, count in self.counts.items():
            if name not in known:
                raise InputError(f"Expected a task family of {', '.join(known)}. Got {name!r}.")
            if type(count) is not int or not 1 <= count <= MOST_A_SPLIT:
                raise InputError(f"Expected 1 to {MOST_A_SPLIT} tasks of {name}. Got {count!r}.")
        if len(known) > MOST_FAMILIES:
            raise InputError(f"Expected at most {MOST_FAMILIES} families installed (seed ranges). Got {len(known)}.")
        if type(self.seed) is not int or not 0 <= self.seed < 2**40:
            raise InputError(f"Expected a seed from 0 to {2**40 - 1}. Got {self.seed!r}.")
        if type(self.probed) is not int or not LEAST_INSTANCES <= self.probed <= MOST_PROBED:
            raise InputError(f"Expected {LEAST_INSTANCES} to {MOST_PROBED} instances to probe. Got {self.probed!r}.")
        if unknown := set(self.options) - set(self.counts):
            raise InputError(f"Expected options of generated families. Got some for {', '.join(sorted(unknown))}.")


@dataclass(frozen=True)
class Generated:
    """Where everything went.

    Args:
        out: public folder.
        ledger: ledger folder.
        key_file: the key.
        key_id: its public name.
        tasks: how many tasks.
        calibrated: how many of them are calibrated.
        probes: what the extraction probe found, by family.
    """

    out: Path
    ledger: Path
    key_file: Path
    key_id: str
    tasks: int
    calibrated: int
    probes: tuple[ProbeResult, ...]


def generate(what: Generation, out: Path, ledger: Path, key_file: Path | None = None) -> Generated:
    """Generate and write a task set.

    Args:
        what: families, counts, seed.
        out: public folder, new or empty.
        ledger: ledger folder, new or empty, apart from ``out``.
        key_file: an existing key (the same set comes again) or where to write a new one; a place of its own if absent.

    Raises:
        InputError: for places that overlap or hold files, or when a public task would give its answer away.
        FitError: when an optimum cannot be certified.
    """
    _require_apart(out, ledger, key_file)
    _require_new(out, "manifest")
    _require_new(ledger, "ledger")
    existing = key_file if key_file is not None and key_file.exists() else None
    key = new_key() if existing is None else read_key(existing)
    tasks, rows, splits = _draw_all(what, key)
    probes = tuple(_probe(family_named(name), what, key) for name in what.counts)
    index = Index(splits, _provenance(what))
    where = write_key(key, key_file) if existing is None else existing
    write_ledger(ledger, key, index, rows, {"probes": [result.to_json() for result in probes]})
    _write_public(out, index, tasks)
    calibrated = sum(row.calibrated for row in rows)
    return Generated(out, ledger, where, key.id, len(tasks), calibrated, probes)


def instance(
    family: Family, sequence: int, seed: int, key: SealedKey, options: Mapping[str, Any]
) -> tuple[PublicTask, Mapping[str, Any]]:
    """One public task and its hidden arrays.

    Args:
        family: its family.
        sequence: its number within the family.
        seed: its public seed.
        key: what hidden draws come from.
        options: of the family.
    """
    identifier = task_id(family.name, sequence)
    public = generator("sealed", "public", family.name, family.distribution, seed)
    drawn = family.draw(public, key.stream(identifier, seed, "draw"), options)
    task = PublicTask(
        task_id=identifier,
        family=family.name,
        input=drawn.input,
        p_i=drawn.p_i,
        objective_direction=family.objective_direction,
        horizon_budget=family.horizon_budget,
        compute_budget=family.compute_budget,
        seed=seed,
    )
    return task, drawn.targets


def seal(family: Family, task: PublicTask, targets: Mapping[str, Any], rollouts: int = ROLLOUTS) -> LedgerRow:
    """The ledger row of a task, its public side scanned first.

    Raises:
        InputError: when the public task holds a part of its answer.
        FitError: when the optimum cannot be certified.
    """
    optimum = family.optimum(task, targets)
    level = random_level(family, task, targets, rollouts)
    require_sealed(task, targets, {"J_star": optimum.value, "J_random": level.mean})
    return LedgerRow(
        task_id=task.task_id,
        family=family.name,
        objective_direction=task.objective_direction,
        public_digest=task.digest,
        horizon_budget=task.horizon_budget,
        compute_budget=task.compute_budget,
        targets=targets,
        j_star=optimum.value,
        certificate=optimum.certificate,
        j_random=level,
        j_worst=worst(task.objective_direction, optimum.value, level.mean),
        calibrated=is_calibrated(optimum.value, level.mean),
    )


def split_counts(count: int) -> dict[str, int]:
    """Tasks of one family by split: a fifth (at least one of three or more) each for validation and test."""
    part = max(round(count / 5), 1) if count >= 3 else 0
    return {"train": count - 2 * part, "validation": part, "test": part}


def instance_seed(seed: int, split: str, family: int, number: int) -> int:
    """The public seed of an instance."""
    return SEED_STEP * seed + OFFSETS[split] + 1000 * family + number


def _draw_all(what: Generation, key: SealedKey) -> tuple[list[PublicTask], list[LedgerRow], dict[str, tuple[str, ...]]]:
    tasks: list[PublicTask] = []
    rows: list[LedgerRow] = []
    splits: dict[str, list[str]] = {name: [] for name in SPLITS}
    for name, count in what.counts.items():
        family, place = family_named(name), family_names().index(name)
        sequence = 0
        for split, share in split_counts(count).items():
            for number in range(share):
                seed = instance_seed(what.seed, split, place, number)
                task, targets = instance(family, sequence, seed, key, what.options.get(name, {}))
                rows.append(seal(family, task, targets, what.rollouts))
                tasks.append(task)
                splits[split].append(task.task_id)
                sequence += 1
    return tasks, rows, {name: tuple(ids) for name, ids in splits.items()}


def _probe(family: Family, what: Generation, key: SealedKey) -> ProbeResult:
    """Probe fresh instances; a suspicion, which chance raises in few instances, is looked into with six times as many others."""
    options = what.options.get(family.name, {})

    def look(numbers: range) -> ProbeResult:
        drawn = [instance(family, n, SEED_STEP * what.seed + 90_000 + n, key, options) for n in numbers]
        return probe(family, drawn, seed=what.seed)

    first = _PROBE_FROM + what.probed
    result = look(range(_PROBE_FROM, first))
    if not result.passed:
        result = look(range(first, min(first + _SECOND_LOOK * what.probed, _PROBE_TO)))
    if not result.passed:
        raise InputError(
            f"Expected nothing public to predict the hidden part of {family.name}. Got similarity {result.similarity:.3f}, "
            f"where permuted secrets give {result.permuted:.3f} and a constant {result.constant:.3f}.",
            hint="Something hidden is drawn from the public seed, or written into the public input.",
        )
    return result


def _provenance(what: Generation) -> dict[str, Any]:
    commit, clean = _revision()
    ranges = {
        split: [SEED_STEP * what.seed + offset, SEED_STEP * what.seed + offset + 9_999]
        for split, offset in OFFSETS.items()
    }
    return {
        "generator": GENERATOR,
        "random_streams": RANDOM_STREAMS,
        "parameter_distributions": {name: family_named(name).distribution for name in sorted(what.counts)},
        "commit": commit,
        "clean_tree": clean,
        "seed": what.seed,
        "counts": dict(what.counts),
        "options": {name: dict(options) for name, options in what.options.items()},
        "seed_ranges": ranges,
        "protocol": VERSION,
    }


def _revision() -> tuple[str | None, bool | None]:
    """Commit of the checkout this package lies in and whether its tree is clean; None outside a checkout."""
    here = Path(__file__).resolve().parent
    answers = []
    for arguments in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"]):
        try:
            done = subprocess.run(
                ["git", "-C", str(here), *arguments], capture_output=True, text=True, timeout=20, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None, None
        if done.returncode != 0:
            return None, None
        answers.append(done.stdout.strip())
    return answers[0], answers[1] == ""


def _write_public(out: Path, index: Index, tasks: list[PublicTask]) -> None:
    folder = out / FOLDER_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for task in tasks:
            (folder / f"{task.task_id}.json").write_text(task.text, encoding="utf-8", newline="")
        (out / INDEX_NAME).write_text(canonical_json(index.to_json()), encoding="utf-8", newline="")
    except OSError as error:
        raise InputError(f"Expected to write the manifest to {out}. Got: {error.strerror}.") from error


def _require_new(folder: Path, what: str) -> None:
    try:
        taken = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    except OSError as error:
        raise InputError(f"Expected a new or empty folder for the {what}. Got {folder}: {error.strerror}.") from error
    if taken:
        raise InputError(
            f"Expected a new or empty folder for the {what}. Got {folder}, which holds files.",
            hint="Name another folder; a ledger is never written over.",
        )


def _require_apart(out: Path, ledger: Path, key_file: Path | None) -> None:
    public, sealed = out.resolve(), ledger.resolve()
    if public == sealed or public in sealed.parents or sealed in public.parents:
        raise InputError(f"Expected manifest and ledger in different folders. Got {out} and {ledger}.")
    if key_file is not None:
        key = key_file.resolve()
        if public in key.parents or sealed in key.parents:
            raise InputError(f"Expected the key in a place of its own. Got {key_file}.")
