"""What a campaign will take: grows with runs and answers, shares an ensemble's runs by weight, counts nothing twice."""

from __future__ import annotations

import pytest

from kernaut.archive.records import RunRecord
from kernaut.authors.chat import ModelSettings
from kernaut.authors.conversation import ModelAuthor
from kernaut.authors.grammar import GrammarAuthor
from kernaut.search.allowance import Allowance
from kernaut.search.bandit import Ensemble
from kernaut.search.campaign import CampaignOptions
from kernaut.search.expectation import ANSWER_TOKENS, RESULT_TOKENS, expected_spending
from kernaut.search.workbench import SearchOptions

MODEL = ModelAuthor(ModelSettings("ollama", "m", input_price=1.0, output_price=4.0), "# Task")


def options(runs: int, rounds: int) -> CampaignOptions:
    return CampaignOptions(SearchOptions("greenhouse"), runs=runs, rounds=rounds, allowance=Allowance(cost=2.0))


def test_a_conversation_grows_with_the_square_of_its_length() -> None:
    one, two, four = (expected_spending(MODEL, options(2, rounds))["expected"]["tokens"] // 2 for rounds in (1, 2, 4))
    opening = one - ANSWER_TOKENS
    assert two == 2 * opening + 2 * ANSWER_TOKENS + (ANSWER_TOKENS + RESULT_TOKENS)
    assert four == 4 * opening + 4 * ANSWER_TOKENS + 6 * (ANSWER_TOKENS + RESULT_TOKENS)
    assert 5_000 < opening < 12_000


def test_closed_runs_and_offline_members_cost_nothing_more() -> None:
    whole = expected_spending(MODEL, options(4, 3))
    usage = {"calls": 3, "prompt_tokens": 9, "completion_tokens": 3, "cost": 0.1, "unpriced": 0, "estimated": 0}
    closed = RunRecord("c", 0, 0, "closed", 1, {}, {"usage": usage, "ended": "x"}, 0.0)
    rest = expected_spending(MODEL, options(4, 3), (closed,))
    assert (rest["runs_left"], rest["spent_before"]["prompt_tokens"]) == (3, 9)
    assert rest["expected"]["tokens"] == pytest.approx(whole["expected"]["tokens"] * 0.75)
    assert rest["expected"]["cost"] == pytest.approx(whole["expected"]["cost"] * 0.75, rel=1e-2)
    assert rest["at_most"] == {"answers": 9, "tool_calls": 300, "cost": 2.0}
    mixed = expected_spending(Ensemble((MODEL, GrammarAuthor()), (1.0, 3.0)), options(4, 3))
    assert [row["expected_runs"] for row in mixed["members"]] == [1.0, 3.0]
    assert mixed["expected"]["tokens"] == pytest.approx(whole["expected"]["tokens"] / 4)
    alone = expected_spending(GrammarAuthor(), options(4, 3))
    assert (alone["expected"]["answers"], alone["at_most"]["answers"]) == (0, 0)
