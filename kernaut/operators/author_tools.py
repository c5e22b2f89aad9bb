"""The tools of a language model that writes operators: look at labelled training candidates, try a draft on all of them, submit one.

Everything that comes back is of the training electorate: names, contents and labels of its candidates, counts of flags, and what gate and screens say.  Hidden tests, query targets and
the labels of other electorates are in nothing that a tool returns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from kernaut.authors.toolbox import Tool, tool_of
from kernaut.errors import InputError
from kernaut.operators.authoring import Desk, Request
from kernaut.operators.prompting import shown
from kernaut.operators.records import ABSTAIN, Electorate, Operator, Verdicts
from kernaut.operators.source_rules import require_operator_source

MOST_LISTED = 60
MOST_NAMED = 6


@dataclass
class Session:
    """One authoring call.

    Args:
        request: what is asked for.
        electorate: the training electorate.
        show: a candidate with its task, by position.
        desk: tries drafts.
        tries: drafts that may be tried.
        origin: who writes.
    """

    request: Request
    electorate: Electorate
    show: Callable[[int], Mapping[str, Any]]
    desk: Desk
    tries: int
    origin: str
    submitted: Operator | None = None
    given_up: str = ""
    _places: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        seen = np.flatnonzero(self.electorate.visible)
        self._places = {self.name_of(int(place)): int(place) for place in seen}

    @property
    def ended(self) -> bool:
        """Whether the call needs no further answer."""
        return self.submitted is not None or bool(self.given_up)

    def name_of(self, place: int) -> str:
        """What a model calls a candidate."""
        candidate = self.electorate.candidates[place]
        return f"{candidate.task} {candidate.id}"

    def place_of(self, name: str) -> int:
        """The position of a named candidate.

        Raises:
            InputError: for a name that no training candidate has.
        """
        if name not in self._places:
            raise InputError(
                f"Expected a training candidate such as {next(iter(self._places), '(none)')!r}. Got {name[:80]!r}.",
                hint="list_candidates names them.",
            )
        return self._places[name]

    def drafted(self, source: str, defect: str) -> Operator:
        """A draft as an operator of the level that is asked for.

        Raises:
            InputError: when the call has ended, or the source is too long or breaks a rule.
        """
        if self.ended:
            raise InputError("Expected nothing after the end of the call. Got another draft.")
        operator = Operator(source, self.request.level, " ".join(defect.split())[:200], self.origin)
        require_operator_source(operator)
        return operator


Label = Annotated[
    Literal["faulty", "correct", "other"],
    Field(description="faulty: of the kind that is asked for and flagged by nobody so far; other: further wrong ones."),
]
Name = Annotated[str, Field(description="As list_candidates writes it.")]
Source = Annotated[str, Field(description="The whole Python source, which defines op.")]
Defect = Annotated[str, Field(description="The defect that it flags, in a few words that a person understands.")]


def list_candidates(
    session: Session,
    label: Label = "faulty",
    task: Annotated[str | None, Field(description="Only of this task.")] = None,
    offset: Annotated[int, Field(ge=0, description="Leave out the first ones.")] = 0,
) -> Mapping[str, Any]:
    """Names of labelled training candidates, task by task."""
    faulty, correct = set(session.request.faulty), set(session.request.correct)
    wanted = {"faulty": faulty, "correct": correct}.get(label)
    candidates = session.electorate.candidates
    found = [
        place
        for place in map(int, np.flatnonzero(session.electorate.visible))
        if (place not in faulty | correct if wanted is None else place in wanted)
        and (task is None or candidates[place].task == task)
    ]
    chosen = found[offset : offset + MOST_LISTED]
    return {"candidates": [session.name_of(place) for place in chosen], "from": offset, "of": len(found)}


def inspect_candidate(session: Session, candidate: Name) -> Mapping[str, Any]:
    """One training candidate with its task, and its label."""
    place = session.place_of(candidate)
    kind = session.electorate.candidates[place].kind
    return {
        "candidate": candidate,
        "label": f"wrong: {kind}" if kind else "correct",
        "shown": shown(session.show(place)),
    }


def try_operator(session: Session, source: Source, defect: Defect = "a draft") -> Mapping[str, Any]:
    """Run a draft on all training candidates: what it flags, and what gate and screens would say. Nothing is admitted."""
    operator = session.drafted(source, defect)
    if session.tries <= 0:
        raise InputError(
            "Expected no further trial in this call. Got one more.", hint="Submit your best draft, or give up."
        )
    session.tries -= 1
    found = session.desk.trial(operator)
    said = {key: value for key, value in found.to_json().items() if key != "verdicts"}
    flagged = {} if found.verdicts is None else _flagged(session, found.verdicts)
    return {**flagged, **said, "trials_left": session.tries}


def submit_operator(session: Session, source: Source, defect: Defect) -> Mapping[str, Any]:
    """Hand in an operator, which ends the call: gate and screens decide."""
    session.submitted = session.drafted(source, defect)
    return {"submitted": session.submitted.id}


def give_up(
    session: Session, reason: Annotated[str, Field(description="Why no operator helps here.")]
) -> Mapping[str, Any]:
    """End the call without an operator."""
    session.given_up = " ".join(reason.split())[:300] or "no reason"
    return {"ended": True}


FUNCTIONS = (list_candidates, inspect_candidate, try_operator, submit_operator, give_up)
"""The tools, in the order that a model is shown them."""


@lru_cache(maxsize=1)
def author_tools() -> dict[str, Tool]:
    """The five tools by name."""
    return {function.__name__: tool_of(function) for function in FUNCTIONS}


def _flagged(session: Session, verdicts: Verdicts) -> dict[str, Any]:
    """Counts of flags, and a few names of what a draft misses and of what it flags wrongly."""
    electorate, flags = session.electorate, verdicts.flags
    faulty, correct = list(session.request.faulty), list(session.request.correct)
    known = {*faulty, *correct}
    other = [int(place) for place in np.flatnonzero(electorate.visible) if int(place) not in known]
    reasons = Counter(
        verdicts.reasons.get(int(place), "")
        for place in np.flatnonzero(electorate.visible & (verdicts.codes == ABSTAIN))
    )
    return {
        "flagged": {name: f"{int(flags[places].sum())} of {len(places)}" for name, places in
                    (("faulty", faulty), ("correct", correct), ("other wrong ones", other))},
        "missed": _names(session, [place for place in faulty if not flags[place]]),
        "false_alarms": _names(session, [place for place in correct if flags[place]]),
        "abstained": [{"reason": reason, "candidates": count} for reason, count in reasons.most_common(3)],
    }  # fmt: skip


def _names(session: Session, places: Sequence[int]) -> list[str]:
    return [session.name_of(place) for place in places[:MOST_NAMED]]
