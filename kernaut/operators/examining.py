"""Ask a child about one operator, task by task: verdicts over an electorate, and whether they move when candidates are rewritten.

A request names the ``wanted`` candidates of its task, those in V; the child answers ``[verdict, reason]`` for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kernaut.errors import SandboxFailure
from kernaut.operators.domain import unasked
from kernaut.operators.records import CODES, FLAG, Electorate, Verdicts
from kernaut.operators.trusted import Bench

DEAD_TASKS = 2
"""An operator that ends its process on so many whole tasks is asked no further."""

RequestOf = Callable[[int], Mapping[str, Any]]
"""The request for a task, by its number."""


def able(electorate: Electorate, task: int) -> list[int]:
    """Positions of a task's candidates in V."""
    return [place for place in electorate.members[task] if electorate.visible[place]]


def verdicts_of(electorate: Electorate, answers: Iterable[tuple[int, Sequence[str]]]) -> Verdicts:
    """Verdicts from ``[verdict, reason]`` by position; the other candidates were not asked."""
    codes, reasons = unasked(electorate).codes, {}
    for place, (verdict, reason) in answers:
        codes[place] = CODES[verdict]
        if verdict == "abstain":
            reasons[place] = reason
    return Verdicts(codes, reasons)


def examined(bench: Bench, electorate: Electorate, request: RequestOf) -> Verdicts:
    """One operator's verdicts on the candidates in V."""
    answers: list[tuple[int, Sequence[str]]] = []
    dead = 0
    for task in range(len(electorate.tasks)):
        places = able(electorate, task)
        if dead < DEAD_TASKS:
            rows = one_by_one(bench, request(task))
            dead += bool(rows) and all(row[1].startswith(("crashed", "timed out", "refused")) for row in rows)
        else:
            rows = [["abstain", "the operator ended its process on two tasks"]] * len(places)
        answers += zip(places, rows, strict=True)
    return verdicts_of(electorate, answers)


def moves(
    bench: Bench, electorate: Electorate, verdicts: Verdicts, tasks: Iterable[int], request: RequestOf, share: float
) -> bool:
    """Whether verdicts move on the rewritten candidates of some tasks: at all, or with a share, whether more than that part of the flags is lost."""
    before: list[int] = []
    after: list[int] = []
    for task in tasks:
        before += [int(verdicts.codes[place]) for place in able(electorate, task)]
        after += [CODES[row[0]] for row in one_by_one(bench, request(task))]
    if share == 0.0:
        return before != after
    flagged = [place for place, code in enumerate(before) if code == FLAG]
    return sum(after[place] != FLAG for place in flagged) > share * len(flagged)


def one_by_one(bench: Bench, request: Mapping[str, Any]) -> list[list[str]]:
    """The answers for the wanted candidates; when the child dies, candidate by candidate, and not beyond three that it dies on."""
    wanted = request["wanted"]
    try:
        return [row[0] for row in bench.ask(request)]
    except SandboxFailure as failure:
        if len(wanted) < 2:
            return [["abstain", f"{failure.state}: {failure.message}"]] * len(wanted)
    rows = [one_by_one(bench, {**request, "wanted": [number]})[0] for number in wanted[:3]]
    if all(row[0] == "abstain" for row in rows):
        return [*rows, *([rows[-1]] * (len(wanted) - len(rows)))]
    return [*rows, *(one_by_one(bench, {**request, "wanted": [number]})[0] for number in wanted[3:])]
