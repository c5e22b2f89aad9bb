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

MOST_MOVED = 8
"""Candidates of a task that are put elsewhere, one at a time."""

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


def places_matter(
    bench: Bench,
    electorate: Electorate,
    verdicts: Verdicts,
    tasks: Iterable[int],
    request: Callable[[int, int], Mapping[str, Any]],
    share: float,
) -> bool:
    """Whether verdicts move when a candidate is put elsewhere among its peers, who keep their order.

    Args:
        bench: asks the operator.
        electorate: the candidates.
        verdicts: the operator's on it.
        tasks: where it is tried, on the flagged candidates first.
        request: for a task, and the number of the candidate in it that is put elsewhere and asked about.
        share: 0 when no verdict may change; else the part of flags that may be lost.
    """
    flagged = lost = 0
    for task in tasks:
        chosen = sorted(able(electorate, task), key=lambda place: verdicts.codes[place] != FLAG)[:MOST_MOVED]
        for place in chosen:
            (row,) = one_by_one(bench, request(task, electorate.members[task].index(place)))
            if share == 0.0 and CODES[row[0]] != verdicts.codes[place]:
                return True
            flagged += verdicts.codes[place] == FLAG
            lost += verdicts.codes[place] == FLAG != CODES[row[0]]
    return bool(lost > share * flagged)


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
