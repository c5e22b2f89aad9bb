"""Archives to look at: an empty one, and one with scored programs, without a search."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from kernaut.archive.records import (
    AcceptedRecord,
    CampaignRecord,
    DraftRecord,
    Entries,
    EvaluationRecord,
    LineageRecord,
    TranscriptRecord,
    TrialRecord,
)
from kernaut.archive.store import Archive
from kernaut.program.formulation import NICHES
from kernaut.program.program import KernelProgram
from kernaut.program.templates import template

CONTRACTS = ("input_transform", "feature_map", "spectral", "residual_feature_map")


def made_program(number: int, parents: tuple[str, ...] = ()) -> KernelProgram:
    base = template(CONTRACTS[number % len(CONTRACTS)])
    (spec,) = base.space
    values = {**base.parameters, spec.name: spec.decode((0.5 + number * 0.618) % 1.0)}
    return KernelProgram(f"made_{number}", base.contract, base.source, values, parents, space=base.space)


def fill(archive: Archive, count: int, first: int = 0) -> list[str]:
    """One campaign with ``count`` accepted programs in as many runs, the last run still open; identifiers in order. From another ``first`` run on, more of them."""
    if first == 0:
        archive.begin_campaign(
            CampaignRecord("made", "bbo", "evolutionary", 3, count + 1, {}, "digest", {"torch": "2.13.0"})
        )
    found: list[str] = []
    for number in range(first, first + count):
        program = made_program(number, tuple(found[-1:]) if number % 2 else ())
        crps = 0.7 - 0.01 * ((number * 7) % 11)
        scores = {"mean_crps": crps, "score": -crps, "regret_auc": 0.5}
        evaluation = EvaluationRecord(
            program.id, "bbo", "train", "search", 0, {"number": number}, "digest", {}, {"mean_crps": crps},
            ({"episode": "a", "family": "f", "crps": crps - 0.1}, {"episode": "b", "family": "f", "crps": crps + 0.1}),
            seconds=0.1 * (1 + number % 5),
        )  # fmt: skip
        accepted = AcceptedRecord(
            "made", number, 0, program.id, NICHES[number % len(NICHES)], "linear", "distinct", -crps, -crps,
            evaluation_id=evaluation.id,
            details={"scores": scores, "fingerprint": [0.1], "novelty_distance": 0.1, "nearest": "rbf"},
        )  # fmt: skip
        archive.open_run("made", number, generation=number)
        lineage = tuple(LineageRecord(program.id, parent, "revision") for parent in program.parents)
        drafts = (
            DraftRecord("made", number, 0, {"name": "x"}, "accepted", program.id),
            DraftRecord("made", number, 1, {"name": "y"}, "refused", reason="Expected finite values. Got none."),
            DraftRecord("made", number, 2, {"name": f"made_draft_{number}", "contract": "spectral"}, "tuned"),
        )
        trials = (
            TrialRecord("made", number, 0, 0, "halton", {"bend": 1.0}, -crps),
            TrialRecord("made", number, 0, 1, "halton", {"bend": 2.0}, None, reason="no fit"),
        )
        words = (TranscriptRecord("made", number, 0, "assistant", "I propose <b>waves</b>."),)
        entries = Entries((program,), lineage, (), (evaluation,), drafts, trials, (accepted,), words)
        archive.close_run("made", number, result={"niche": "n"}, entries=entries, seconds=1.0)
        found.append(program.id)
    return found


@contextmanager
def held(path: str) -> Iterator[None]:
    """An archive while another connection holds it locked against everybody."""
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("PRAGMA locking_mode=EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        holder.execute("UPDATE identity SET value = value")
        yield
        holder.execute("ROLLBACK")


def delete_program(path: str, program_id: str) -> None:
    """Take a program away under whoever has listed it."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute("DELETE FROM programs WHERE id = ?", (program_id,))


@pytest.fixture
def empty(tmp_path: Path) -> str:
    Archive.create(tmp_path / "empty.sqlite").close()
    return str(tmp_path / "empty.sqlite")


@pytest.fixture
def make_archive(tmp_path: Path) -> Callable[[int], tuple[str, list[str]]]:
    def make(count: int) -> tuple[str, list[str]]:
        with Archive.create(tmp_path / f"with-{count}.sqlite") as archive:
            return str(tmp_path / f"with-{count}.sqlite"), fill(archive, count)

    return make
