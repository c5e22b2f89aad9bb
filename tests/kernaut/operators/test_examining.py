"""Asking one operator task by task: children that die, operators that kill every child, verdicts that move."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import pytest

from kernaut.errors import SandboxFailure
from kernaut.operators.examining import able, examined, moves, one_by_one, verdicts_of
from kernaut.operators.records import ABSTAIN, FLAG, PASS
from kernaut.operators.trusted import Bench
from tests.kernaut.operators.conftest import electorate_of

ELECTORATE = electorate_of([[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 0, 0]])


class Fake:
    """Flags the numbers of a request that are in ``flags``, and dies on those in ``deadly``."""

    def __init__(self, *, flags: tuple[int, ...] = (), deadly: tuple[int, ...] = ()) -> None:
        self.flags, self.deadly = flags, deadly
        self.asked: list[tuple[int, ...]] = []

    def ask(self, request: Mapping[str, Any]) -> list[list[list[str]]]:
        self.asked.append(tuple(request["wanted"]))
        if any(number in self.deadly for number in request["wanted"]):
            raise SandboxFailure("crashed", "It is gone.")
        return [[["flag" if number in self.flags else "pass", ""]] for number in request["wanted"]]


def request(task: int) -> dict[str, Any]:
    return {"wanted": list(range(len(able(ELECTORATE, task))))}


def bench(fake: Fake) -> Bench:
    return cast(Bench, fake)


def test_candidates_that_a_child_does_not_die_on_get_their_verdicts() -> None:
    fake = Fake(flags=(3,), deadly=(1,))
    rows = one_by_one(bench(fake), {"wanted": [0, 1, 2, 3]})
    assert rows == [["pass", ""], ["abstain", "crashed: It is gone."], ["pass", ""], ["flag", ""]]
    assert fake.asked == [(0, 1, 2, 3), (0,), (1,), (2,), (3,)]


def test_a_child_that_dies_on_three_is_asked_about_no_fourth() -> None:
    fake = Fake(deadly=(0, 1, 2))
    assert one_by_one(bench(fake), {"wanted": [0, 1, 2, 3]}) == [["abstain", "crashed: It is gone."]] * 4
    assert fake.asked[1:] == [(0,), (1,), (2,)]
    assert one_by_one(bench(Fake(deadly=(0,))), {"wanted": []}) == []


def test_an_operator_that_ends_its_process_on_two_tasks_is_asked_no_further() -> None:
    fake = Fake(deadly=(0, 1, 2, 3))
    found = examined(bench(fake), ELECTORATE, request)
    assert (found.codes == ABSTAIN).all()
    assert [found.reasons[place] for place in (0, 7, 8)] == [
        "crashed: It is gone.",
        "crashed: It is gone.",
        "the operator ended its process on two tasks",
    ]
    assert fake.asked.count((0, 1, 2, 3)) == 2
    whole = examined(bench(Fake(flags=(1, 2))), ELECTORATE, request)
    assert whole.codes.tolist() == [PASS, FLAG, FLAG, PASS] * 3
    assert whole.reasons == {}


@pytest.mark.parametrize(
    ("flags", "share", "moved"),
    [((1, 2), 0.0, False), ((1, 2, 3), 0.0, True), ((1, 2, 3), 0.5, False), ((2,), 0.5, False), ((0, 3), 0.5, True)],
)
def test_verdicts_move_at_all_or_by_a_share_of_the_flags(flags: tuple[int, ...], share: float, moved: bool) -> None:
    before = examined(bench(Fake(flags=(1, 2))), ELECTORATE, request)
    assert moves(bench(Fake(flags=flags)), ELECTORATE, before, [0, 2], request, share) is moved


def test_who_was_not_asked_abstains_without_a_reason() -> None:
    found = verdicts_of(ELECTORATE, [(2, ["abstain", "too long"]), (5, ["flag", ""])])
    assert np.flatnonzero(found.flags).tolist() == [5]
    assert found.reasons == {2: "too long"}
