"""The next operator by hand: ask for one, propose or type it, and judge it by the rules, the gate and the screens of the campaign."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kernaut.errors import InputError
from kernaut.operators.authoring import Attempt, OfflineAuthor, Request
from kernaut.operators.collisions import Collision, collisions
from kernaut.operators.judgement import Judgement
from kernaut.operators.judging import judge, request_for
from kernaut.operators.lift_author import LiftAuthor
from kernaut.operators.records import FLAG, PASS, Operator
from kernaut.operators.rules import Rule
from kernaut.operators.source_rules import require_operator_source
from kernaut.report.collision_view import Admitted, EvaluatorView, Labelled, abstention_table, gate_table
from kernaut.report.page import Note, Part, table
from kernaut.seeds import stable_seed

TEMPLATES = {
    1: 'def op(task, candidate):\n    """Flags: say which defect."""\n    return "pass"\n',
    2: 'def op(task, candidate, ctx):\n    """Flags: say which defect."""\n    return "pass"\n',
}
"""Where an operator that somebody types begins, by level."""


def require_labels(view: EvaluatorView | None, labelled: Labelled | None) -> tuple[EvaluatorView, Labelled]:
    """A run whose candidates are loaded.

    Raises:
        InputError: when there is none.
    """
    if view is None or labelled is None:
        raise InputError("Expected a run whose candidates are loaded. Got none.", hint="Load them first.")
    return view, labelled


def require_target(labelled: Labelled, pool: Sequence[Admitted], signature: str) -> Collision:
    """The collision of a signature.

    Raises:
        InputError: when that class holds one label alone.
    """
    within = np.flatnonzero(labelled.electorate.visible).tolist()
    found = collisions(labelled.electorate, [entry.verdicts for entry in pool], within)
    for collision in found:
        if collision.signature == signature:
            return collision
    raise InputError(
        f"Expected a class that holds correct and incorrect candidates. Got {signature or 'the empty signature'!r}, which does not.",
        hint="Choose one that collides."
        if found
        else "No collision is left: the operators in use tell all labels apart.",
    )


def typed_operator(source: str, level: int, defect: str) -> Operator:
    """An operator that somebody types, its source checked; nothing runs.

    Raises:
        InputError: for an empty source, or one of more than 80 lines.
        ProgramRefused: naming the line that breaks a rule, and what to write instead.
    """
    operator = Operator(source, level, defect or "a defect without words", "hand")
    require_operator_source(operator)
    return operator


def asked(
    view: EvaluatorView,
    labelled: Labelled,
    pool: Sequence[Admitted],
    target: Collision,
    level: int,
    attempts: Sequence[Attempt],
) -> Request:
    """The request that an author answers: this collision, and what was tried before in the run or by hand."""
    tried = [entry["operator"]["id"] for entry in view.run.ledger if entry["operator"] is not None]
    tried += [attempt.operator.id for attempt in attempts if attempt.operator is not None]
    seed = stable_seed("cegar by hand", view.options["seed"], view.run.index, len(attempts))
    verdicts = [entry.verdicts for entry in pool]
    return request_for(labelled.electorate, verdicts, target, level, seed=seed, attempts=attempts, tried=tried)


def proposed(view: EvaluatorView, labelled: Labelled, request: Request) -> Operator:
    """What an offline author answers: the campaign's own where that is one, else the one that asks for no gate.

    Raises:
        InputError: when it has nothing to offer.
    """
    by_lift = view.options["author"] == LiftAuthor.name
    author = LiftAuthor(view.options["min_helped"], view.options["arm"]) if by_lift else OfflineAuthor()
    operator = author.write(request, labelled.domain, labelled.electorate)
    if operator is None:
        raise InputError(
            "Expected an operator of the offline author. Got none: it has nothing new for this request.",
            hint="Choose another class or level, or type one.",
        )
    return operator


def judged(
    view: EvaluatorView,
    labelled: Labelled,
    operator: Operator,
    pool: Sequence[Admitted],
    target: Collision,
    request: Request,
) -> tuple[Judgement, Attempt]:
    """Rules, gate and screens under the campaign's own arm and least number of helped tasks; and what later requests hear of it."""
    options, verdicts = view.options, [entry.verdicts for entry in pool]
    found = judge(
        labelled.domain, labelled.electorate, operator, verdicts, target, request,
        arm=options["arm"], min_helped=options["min_helped"],
    )  # fmt: skip
    return found, Attempt(operator, found.reason)


def silence(judgement: Judgement, labelled: Labelled) -> str:
    """That an operator gave no verdict on any candidate, and why; empty when it gave one."""
    asked_of = int(labelled.electorate.visible.sum())
    if judgement.verdicts is None or len(judgement.verdicts.reasons) < asked_of or not asked_of:
        return ""
    reasons = list(judgement.verdicts.reasons.values())
    reason = max(sorted(set(reasons)), key=reasons.count)
    return f"The operator gave no verdict on any of {asked_of} candidates: {reason}."


def judgement_parts(judgement: Judgement) -> list[Part]:
    """A judgement in words and tables."""
    reason = f": {judgement.reason}" if judgement.reason else ""
    parts: list[Part] = [Note(f"{judgement.decision.capitalize()}{reason}.".replace("..", "."))]
    if judgement.verdicts is not None and judgement.gate is not None:
        codes = judgement.verdicts.codes
        counts = {"flags": int((codes == FLAG).sum()), "passes": int((codes == PASS).sum())}
        counts["abstains"] = len(judgement.verdicts.reasons)
        parts.append(gate_table({**counts, **judgement.gate.to_json()}))
        if judgement.verdicts.reasons:
            parts.append(abstention_table(judgement.verdicts))
    if judgement.screens:
        parts.append(table(("screen",), [(found,) for found in judgement.screens], "What the screens found"))
    return parts


def export_union(view: EvaluatorView, pool: Sequence[Admitted], folder: str | Path) -> Path:
    """Write the pool as one rule, flagged by any operator, as ``kernaut cegar export --rule`` reads it.

    Raises:
        InputError: for an empty pool, or a folder that cannot be written.
    """
    if not pool:
        raise InputError("Expected a pool with operators. Got an empty one.", hint="Admit one first.")
    path = Path(folder) / f"{view.campaign}-run-{view.run.index}-union.json"
    record = {"domain": view.domain, **Rule("union", tuple(entry.operator for entry in pool), 1).to_json()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"Expected a folder that can be written at {folder}. Got: {error.strerror}.") from error
    return path
