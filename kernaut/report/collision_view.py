"""Evaluator evolution in an archive: signature classes by size, the operator pool with its evidence, every attempt.

What an archive holds is looked at without tasks or candidates; labels and sources need the domain, which :func:`labelled_candidates` opens on training alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernaut.archive.store import Archive
from kernaut.digest import thaw
from kernaut.errors import InputError
from kernaut.operators.collisions import signatures
from kernaut.operators.domain import Domain
from kernaut.operators.domains import DomainOptions, open_domain
from kernaut.operators.records import ABSTAIN, WORDS, Electorate, Operator, Verdicts
from kernaut.operators.store import StoredRun, members_of, stored_runs
from kernaut.report.drawing import Drawing, Panel, drawing
from kernaut.report.page import Note, Part, Source, Table, record_table, table

PREFIX = "cegar-"
MOST_BARS = 14


@dataclass(frozen=True, eq=False)
class Admitted:
    """An operator of the pool.

    Args:
        operator: the operator.
        verdicts: over the training electorate.
        evidence: the gate's consultation when it was admitted.
        where: the authoring call, or by hand.
    """

    operator: Operator
    verdicts: Verdicts
    evidence: Mapping[str, Any]
    where: str


@dataclass(frozen=True, eq=False)
class EvaluatorView:
    """One run of evaluator evolution.

    Args:
        campaign: the campaign's name.
        domain: the domain's name.
        options: what campaign and domain were made with.
        digest: of the training electorate.
        members: task and identifier of each candidate, in the electorate's order.
        runs: closed runs of the campaign.
        run: this one.
        pool: its operators in order of admission.
    """

    campaign: str
    domain: str
    options: Mapping[str, Any]
    digest: str
    members: tuple[tuple[str, str], ...]
    runs: int
    run: StoredRun
    pool: tuple[Admitted, ...]


@dataclass(frozen=True, eq=False)
class Labelled:
    """The domain with its training electorate."""

    domain: Domain
    electorate: Electorate


@dataclass(frozen=True)
class SignatureClass:
    """Candidates that the pool judges alike.

    Args:
        signature: a letter an operator: flag, pass, abstain.
        members: positions.
        correct: those labelled correct; None before labels are loaded.
        incorrect: those labelled incorrect; likewise.
    """

    signature: str
    members: tuple[int, ...]
    correct: tuple[int, ...] | None = None
    incorrect: tuple[int, ...] | None = None

    @property
    def collides(self) -> bool:
        """Whether it holds both labels."""
        return bool(self.correct and self.incorrect)


def evaluator_campaigns(archive: Archive) -> list[str]:
    """Names of the archive's campaigns of evaluator evolution, oldest first."""
    return [campaign.id for campaign in archive.campaigns() if campaign.benchmark.startswith(PREFIX)]


def evaluator_view(archive: Archive, campaign: str = "", index: int = 0) -> EvaluatorView:
    """Look at one run.

    Args:
        archive: opened, read-only is enough.
        campaign: its name; the last one of evaluator evolution if empty.
        index: which of its closed runs, from 0.

    Raises:
        InputError: when the archive holds no such campaign, or no closed run of it.
        ArchiveError: for an unknown name.
    """
    names = evaluator_campaigns(archive)
    if not campaign and not names:
        raise InputError(
            "Expected an archive with a campaign of evaluator evolution. Got one without.",
            hint="Begin one with kernaut cegar run.",
        )
    record = archive.campaign(campaign or names[-1])
    if record.id not in names:
        raise InputError(f"Expected a campaign of evaluator evolution. Got {record.id!r}, a search for kernels.")
    runs = stored_runs(archive, record.id)
    run = runs[min(index, len(runs) - 1)]
    calls = [entry for entry in run.ledger if entry["decision"] == "admitted"]
    options = thaw(record.options)
    return EvaluatorView(
        record.id,
        record.benchmark.removeprefix(PREFIX),
        options,
        record.data_digest,
        tuple((task, name) for task, members in options["members"] for name in members),
        len(runs),
        run,
        tuple(
            Admitted(operator, verdicts, entry["gate"], f"call {entry['call']}")
            for operator, verdicts, entry in zip(run.operators, run.verdicts, calls, strict=True)
        ),
    )


def labelled_candidates(
    archive: Archive, view: EvaluatorView, *, domain: Domain | None = None, cache: str | Path | None = None
) -> Labelled:
    """Open the campaign's domain on its training electorate; neither validation nor test is opened.

    Args:
        archive: opened, read-only is enough; holds the programs that are candidates of ``kernels``.
        view: of the campaign.
        domain: the domain, where it is open already.
        cache: folder of banks, symptoms and verdicts; the user's cache if absent.

    Raises:
        InputError: when the candidates are not those that the stored verdicts speak of.
    """
    if domain is None:
        stored = view.options.get("domain") or {}
        place = Path(cache) if cache else None
        domain = open_domain(view.domain, DomainOptions(**stored), archive, cache=place, held_out=False)
    electorate = domain.electorate("train")
    members = tuple((task, name) for task, names in members_of(electorate) for name in names)
    if electorate.digest != view.digest or members != view.members:
        raise InputError(
            f"Expected the training electorate {view.digest} of campaign {view.campaign}. Got {electorate.digest}.",
            hint="Tasks, samples or programs have changed since; kernaut cegar replay --grown says how.",
        )
    return Labelled(domain, electorate)


def signature_classes(
    view: EvaluatorView, pool: Sequence[Admitted], labelled: Labelled | None = None
) -> list[SignatureClass]:
    """Classes of equal signature, the largest first.

    Args:
        view: of the run.
        pool: the operators in use.
        labelled: labels, where they are loaded.
    """
    verdicts = [entry.verdicts for entry in pool]
    written = signatures(verdicts, len(view.members))
    members: dict[str, list[int]] = {}
    for place in _asked(view, labelled):
        members.setdefault(written[place], []).append(place)
    made = []
    for signature, places in members.items():
        right = wrong = None
        if labelled is not None:
            right = tuple(p for p in places if labelled.electorate.candidates[p].correct)
            wrong = tuple(p for p in places if not labelled.electorate.candidates[p].correct)
        made.append(SignatureClass(signature, tuple(places), right, wrong))
    return sorted(made, key=lambda found: (-len(found.members), found.signature))


def run_sentence(view: EvaluatorView) -> str:
    """Which run this is, and what came of it."""
    left = int(view.run.result.get("remaining", 0))
    found = f"{_counted(len(view.pool), 'operator')} admitted in {_counted(len(view.run.ledger), 'authoring call')}"
    where = f"{view.campaign}, domain {view.domain}, run {view.run.index + 1} of {view.runs}"
    stopped = str(view.run.result.get("stopped", ""))
    fate = "given up" if left and stopped.startswith("no collision") else "left"
    return f"{where}: {found}; {stopped}; {_counted(left, 'collision')} {fate}."


def class_drawing(classes: Sequence[SignatureClass]) -> Drawing:
    """The largest classes as bars, incorrect candidates after correct ones."""
    shown = classes[:MOST_BARS]
    panel = Panel("candidates", title="Signature classes", width=560, height=90 + 22 * len(shown), whole=True)
    panel.categories = tuple(short_signature(found.signature) for found in shown)
    right = [len(found.members if found.correct is None else found.correct) for found in shown]
    totals = [len(found.members) for found in shown]
    panel.x_range = (0.0, 1.04 * max(totals, default=1))
    labels = bool(shown) and shown[0].correct is not None
    panel.bars(right, 2 if labels else 0, "correct" if labels else "labels not loaded")
    if labels:
        panel.bars(totals, 1, "incorrect", base=right)
    colliding = sum(found.collides for found in classes)
    words = f"{_counted(len(classes), 'signature class')} of {sum(len(found.members) for found in classes)} candidates; the largest hold {', '.join(map(str, totals[:5]))}"
    return drawing([panel], f"{words}; {colliding} of them collide." if labels else f"{words}.")


def class_table(classes: Sequence[SignatureClass], most: int = 30) -> Table:
    """Signatures, sizes and labels, the largest first."""
    rows = [
        (
            found.signature or "(no operator)",
            len(found.members),
            None if found.correct is None else len(found.correct),
            None if found.incorrect is None else len(found.incorrect),
            None if found.correct is None else found.collides,
        )
        for found in classes[:most]
    ]
    caption = f"{len(rows)} of {len(classes)} signature classes; a letter an operator: f flags, p passes, a abstains"
    return table(("signature", "candidates", "correct", "incorrect", "collision"), rows, caption)


def pool_table(pool: Sequence[Admitted], labelled: Labelled | None = None) -> Table:
    """The pool: what each operator flags, and what the gate found when it was admitted."""
    rows = []
    for number, entry in enumerate(pool, 1):
        flags, gate = entry.verdicts.flags, entry.evidence
        wrongly = None if labelled is None else int((flags & labelled.electorate.correct).sum())
        change = f"{gate['accuracy_before']:.3f} to {gate['accuracy_after']:.3f}"
        operator = entry.operator
        rows.append(
            (
                number, operator.defect, operator.level, operator.origin, int(flags.sum()), wrongly, len(entry.verdicts.reasons),
                gate["helped"], gate["hurt"], change, entry.where,
            )
        )  # fmt: skip
    columns = (
        "", "defect that it flags", "level", "author", "flags", "flags a correct one", "abstains", "tasks helped", "tasks hurt",
        "selection accuracy", "admitted",
    )  # fmt: skip
    return table(columns, rows, f"{_counted(len(rows), 'operator')} in order of admission")


def operator_parts(entry: Admitted) -> list[Part]:
    """One operator in full: identifier, source, and what admitted it."""
    operator = entry.operator
    named = f"{operator.defect}: operator {operator.id}, level {operator.level}, by {operator.origin}, {entry.where}"
    parts: list[Part] = [Note(named), Source(operator.source), gate_table(entry.evidence)]
    if entry.verdicts.reasons:
        parts.append(abstention_table(entry.verdicts))
    return parts


def gate_table(found: Mapping[str, Any]) -> Table:
    """A consultation of the gate, field by field."""
    return record_table({key.replace("_", " "): value for key, value in found.items()}, "What the gate found")


def abstention_table(verdicts: Verdicts, most: int = 5) -> Table:
    """The most frequent reasons for abstaining."""
    reasons = list(verdicts.reasons.values())
    counted = sorted(((reasons.count(reason), reason) for reason in set(reasons)), reverse=True)[:most]
    return table(("why it abstained", "candidates"), [(reason, count) for count, reason in counted])


def ledger_table(view: EvaluatorView) -> Table:
    """Every authoring call of the run and what came of it."""
    rows = [
        (
            entry["call"], entry["level"], entry["kind"], entry["target_size"],
            (entry["operator"] or {}).get("defect"), entry["decision"], entry["reason"],
        )
        for entry in view.run.ledger
    ]  # fmt: skip
    columns = ("call", "level", "asked for", "collision size", "defect it flags", "decision", "why not")
    stopped = view.run.result.get("stopped", "")
    return table(columns, rows, f"{_counted(len(rows), 'authoring call')}; {stopped}")


def short_signature(signature: str, longest: int = 18) -> str:
    """A signature that fits beside a bar."""
    if not signature:
        return "(no operator)"
    return signature if len(signature) <= longest else f"{signature[: longest - 1]}…"


def word_of(verdicts: Verdicts, place: int) -> str:
    """An operator's verdict on a candidate, as a word."""
    return WORDS[int(verdicts.codes[place])]


def _counted(count: int, word: str) -> str:
    plural = f"{word}es" if word.endswith("s") else f"{word}s"
    return f"{count} {word if count == 1 else plural}"


def _asked(view: EvaluatorView, labelled: Labelled | None) -> list[int]:
    """Positions in V; without labels those that the run's operators were asked about, all where it has none."""
    if labelled is not None:
        return [int(place) for place in np.flatnonzero(labelled.electorate.visible)]
    if not view.pool:
        return list(range(len(view.members)))
    found = np.zeros(len(view.members), dtype=bool)
    for entry in view.pool:
        found |= entry.verdicts.codes != ABSTAIN
        found[list(entry.verdicts.reasons)] = True
    return [int(place) for place in np.flatnonzero(found)]
