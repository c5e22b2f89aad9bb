"""Tokens and money: shares of a generation, and a run that an allowance has ended."""

from __future__ import annotations

import pytest

from kernaut.archive.records import RunRecord
from kernaut.authors.chat import ModelSettings, Reply, ToolRequest, Usage
from kernaut.authors.spending import Spending, charge, spending_of
from kernaut.errors import InputError
from kernaut.search.allowance import Allowance, ended_under, spent_in


def closed(index: int, **result: object) -> RunRecord:
    return RunRecord("c", index, index, "closed", 1, {}, result, 0.0)


def test_what_is_left_is_shared_and_nothing_left_is_none() -> None:
    spent = Spending(calls=3, prompt_tokens=500, completion_tokens=100, cost=0.25)
    assert Allowance(1000, 1.0).share(spent, 2) == Allowance(200, 0.375)
    assert Allowance().share(spent, 2) == Allowance()
    assert Allowance(600).share(spent, 1) is None
    assert Allowance(tokens=10_000, cost=0.25).share(spent, 1) is None
    for limits in ({"tokens": 0}, {"tokens": -1}, {"cost": 0.0}, {"cost": float("nan")}, {"tokens": True}):
        with pytest.raises(InputError, match="above 0"):
            Allowance(**limits)  # type: ignore[arg-type]


def test_spending_is_summed_over_answers_and_over_runs() -> None:
    answers = [
        {"prompt_tokens": 10, "completion_tokens": 2, "estimated": False, "cost": 0.5},
        {},
        {"prompt_tokens": 5, "completion_tokens": 1, "estimated": True, "cost": None},
    ]
    total = spending_of(answers)
    assert total == Spending(2, 15, 3, 0.5, 1, 1)
    assert total.tokens == 18
    runs = [closed(0, usage=total.to_json(), ended="finished"), closed(1, ended="finished")]
    assert spent_in(runs) == total
    assert spent_in([*runs, runs[0]]).calls == 4


def test_an_answer_costs_what_the_server_says_else_tokens_times_prices() -> None:
    settings = ModelSettings("compatible", "m", base_url="http://h/v1", input_price=2.0, output_price=10.0)
    told = charge(Reply(usage=Usage(1000, 100, cost=0.5)), settings, [])
    priced = charge(Reply(usage=Usage(1000, 100)), settings, [])
    unknown = charge(Reply(usage=Usage(1000, 100)), ModelSettings("compatible", "m"), [])
    assert (told["cost"], priced["cost"], unknown["cost"]) == (0.5, pytest.approx(0.003), None)
    guessed = charge(Reply("x" * 40, (ToolRequest("tool", "y" * 36),)), settings, [{"content": "z" * 100}])
    assert guessed["estimated"]
    assert (guessed["completion_tokens"], 25 < guessed["prompt_tokens"] < 40) == (20, True)


def test_an_allowance_ends_a_campaign_until_it_is_another() -> None:
    allowance = Allowance(tokens=100)
    runs = [closed(0, ended="finished"), closed(1, ended="allowance spent: x", allowance=allowance.to_json())]
    assert ended_under(runs, allowance)
    assert not ended_under(runs, Allowance(tokens=101))
    assert not ended_under(runs[:1], allowance)
