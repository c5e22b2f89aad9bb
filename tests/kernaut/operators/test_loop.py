"""The loop's rules with authors that follow a script: attempts, levels, gates, resuming, unresolved collisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from kernaut.errors import InputError
from kernaut.operators.authoring import Desk, Request
from kernaut.operators.domain import Domain
from kernaut.operators.journal import MemoryJournal
from kernaut.operators.loop import LoopOptions, evolve
from kernaut.operators.records import Electorate, Operator
from tests.kernaut.operators.conftest import SmallDomain, flagging


@dataclass
class Scripted:
    """Offers operators in order, then nothing."""

    offers: Sequence[Operator | None]
    requests: list[Request] = field(default_factory=list)
    name: str = "scripted"

    def write(self, request: Request, domain: Domain, electorate: Electorate, desk: Desk) -> Operator | None:
        self.requests.append(request)
        return self.offers[len(self.requests) - 1] if len(self.requests) <= len(self.offers) else None


# the small electorate: tasks [1,0,0], [1,1,0], [1,0] twice: incorrect are 1, 2, 5, 7, 9, 10, 13, 15
INCORRECT = [1, 2, 5, 7, 9, 10, 13, 15]


def test_a_perfect_operator_is_admitted_and_ends_the_run(small_domain: SmallDomain) -> None:
    author = Scripted([flagging(INCORRECT)])
    outcome = evolve(small_domain, small_domain.electorate("train"), author, LoopOptions(seed=3))
    assert [operator.id for operator in outcome.operators] == [flagging(INCORRECT).id]
    assert (outcome.remaining, outcome.stopped, len(outcome.ledger)) == (0, "no collision is left to target", 1)
    request = author.requests[0]
    assert request.faulty == tuple(INCORRECT)
    assert len(request.correct) == 8
    assert request.pair == (0, 1)
    assert request.kind == "hidden tests only"


def test_three_attempts_at_each_level_then_the_collision_is_unresolved(small_domain: SmallDomain) -> None:
    useless = [flagging([0, place]) for place in (3, 4, 6)]
    author = Scripted([*useless])
    outcome = evolve(small_domain, small_domain.electorate("train"), author, LoopOptions())
    assert [request.level for request in author.requests] == [1, 1, 1, 2, 2, 2]
    assert [len(request.attempts) for request in author.requests] == [0, 1, 2, 3, 4, 5]
    assert author.requests[3].tried == {operator.id for operator in useless}
    assert len(outcome.unresolved) == outcome.remaining == 1
    assert not outcome.operators


def test_the_gate_wants_three_helped_tasks_and_says_so(small_domain: SmallDomain) -> None:
    two = flagging([1, 5])
    outcome = evolve(small_domain, small_domain.electorate("train"), Scripted([two]), LoopOptions(most_calls=1))
    entry = outcome.ledger[0]
    assert (entry["decision"], entry["gate"]["helped"], entry["gate"]["admitted_with_two"]) == ("not admitted", 2, True)
    relaxed = evolve(
        small_domain, small_domain.electorate("train"), Scripted([two]), LoopOptions(most_calls=1, min_helped=2)
    )
    assert len(relaxed.operators) == 1


def test_harm_is_weighed_against_help(small_domain: SmallDomain) -> None:
    mixed = flagging([1, 5, 7, 3, 4, 8, 11, 12, 14])  # helps task 0, and flags correct ones in tasks 1 and 3 to 5
    outcome = evolve(small_domain, small_domain.electorate("train"), Scripted([mixed]), LoopOptions(most_calls=1))
    assert outcome.ledger[0]["decision"] == "not admitted"
    assert outcome.ledger[0]["gate"]["hurt"] > 0


def test_a_screened_operator_is_not_admitted(small_domain: SmallDomain) -> None:
    cheat = flagging(INCORRECT)
    small_domain.screened.add(cheat.id)
    outcome = evolve(small_domain, small_domain.electorate("train"), Scripted([cheat]), LoopOptions(most_calls=1))
    assert (outcome.ledger[0]["decision"], outcome.operators) == ("screened out", ())


def test_the_call_limit_ends_a_run(small_domain: SmallDomain) -> None:
    outcome = evolve(small_domain, small_domain.electorate("train"), Scripted([]), LoopOptions(most_calls=4))
    assert (len(outcome.ledger), outcome.stopped) == (4, "all authoring calls are used")


def test_arms_differ_in_target_and_gate(small_domain: SmallDomain) -> None:
    train = small_domain.electorate("train")
    direct = Scripted([flagging(INCORRECT)])
    evolve(small_domain, train, direct, LoopOptions(arm="direct"))
    assert direct.requests[0].pair is None
    narrow = Scripted([])
    evolve(small_domain, train, narrow, LoopOptions(arm="narrow"))
    assert [request.level for request in narrow.requests] == [1] * 6
    few = flagging([1, 9])
    gated = evolve(small_domain, train, Scripted([few]), LoopOptions(arm="recall-gated", most_calls=1))
    assert gated.ledger[0]["reason"].startswith("recall 0.25")
    more = flagging([1, 9, 10])
    gated = evolve(small_domain, train, Scripted([more]), LoopOptions(arm="recall-gated", most_calls=1))
    assert gated.ledger[0]["decision"] == "admitted"
    with pytest.raises(InputError, match="Expected an arm of collision"):
        LoopOptions(arm="other")  # type: ignore[arg-type]


def test_a_run_goes_on_from_its_journal_without_author_or_sandbox(small_domain: SmallDomain) -> None:
    offers = [flagging([1, 5]), flagging([1, 2, 5, 7]), flagging([9, 10, 13, 15])]
    journal = MemoryJournal()
    whole = evolve(small_domain, small_domain.electorate("train"), Scripted(offers), LoopOptions(), journal=journal)

    class Interrupted(MemoryJournal):
        def write(self, call: int, entry: Mapping[str, Any]) -> None:
            if call == 2:
                raise KeyboardInterrupt
            super().write(call, entry)

    half = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        evolve(small_domain, small_domain.electorate("train"), Scripted(offers), LoopOptions(), journal=half)
    rest = MemoryJournal()
    rest.entries = half.entries
    again = evolve(small_domain, small_domain.electorate("train"), Scripted(offers[2:]), LoopOptions(), journal=rest)
    assert again.ledger == whole.ledger
    fresh = SmallDomain()
    replayed = evolve(fresh, fresh.electorate("train"), Scripted([]), LoopOptions(), journal=journal)
    assert replayed.ledger == whole.ledger
    assert fresh.examined == []


def test_a_journal_of_another_run_is_refused(small_domain: SmallDomain) -> None:
    journal = MemoryJournal()
    evolve(small_domain, small_domain.electorate("train"), Scripted([]), LoopOptions(arm="narrow"), journal=journal)
    with pytest.raises(InputError, match="Expected stored call"):
        evolve(small_domain, small_domain.electorate("train"), Scripted([]), LoopOptions(), journal=journal)
