"""What a campaign with language models will take: calls, tokens and money to expect, before anything is spent.

A conversation is sent whole with each answer, so that its tokens grow with the square of its length.  How much an answer and a tool's result
add is a rule of thumb; prompts, schemas, runs and answers are those of the campaign.
"""

from __future__ import annotations

from typing import Any

from kernaut.archive.records import RunRecord
from kernaut.authors.author import Author, Brief
from kernaut.authors.conversation import ModelAuthor
from kernaut.authors.prompting import prompt, run_prompt
from kernaut.authors.spending import estimated_tokens, price
from kernaut.authors.toolbox import all_tools
from kernaut.search.allowance import spent_in
from kernaut.search.bandit import Ensemble
from kernaut.search.campaign import CampaignOptions

ANSWER_TOKENS = 1_000
"""Tokens of an answer: a source of 40 lines, or fourteen fields; reasoning not included."""

RESULT_TOKENS = 300
"""Tokens of the tool results after it."""

PARENT_TOKENS = 2_500
"""Tokens of a parent and three inspirations in the prompt of a run."""


def expected_spending(
    author: Author | Ensemble, options: CampaignOptions, runs: tuple[RunRecord, ...] = ()
) -> dict[str, Any]:
    """What is left of a campaign, in calls, tokens and dollars, as JSON.

    Args:
        author: who writes.
        options: of the campaign.
        runs: those that are closed already.
    """
    left = max(0, options.run_count - len(runs))
    members = author.members if isinstance(author, Ensemble) else (author,)
    weights = author.weights if isinstance(author, Ensemble) else (1.0,)
    rows = []
    for member, weight in zip(members, weights, strict=True):
        row = _run_of(member, options)
        rows.append({"name": member.name, "expected_runs": round(left * weight / sum(weights), 2), **row})
    priced = all(row["cost_per_run"] is not None for row in rows)
    return {
        "runs_left": left,
        "members": rows,
        "expected": {
            "answers": round(_sum(rows, "answers_per_run")),
            "tokens": round(_sum(rows, "tokens_per_run")),
            "cost": round(_sum(rows, "cost_per_run"), 4) if priced else None,
        },
        "at_most": {
            "answers": left * options.rounds if any(row["answers_per_run"] for row in rows) else 0,
            "tool_calls": left * options.tool_calls,
            **{name: limit for name, limit in options.allowance.to_json().items() if limit is not None},
        },
        "spent_before": spent_in(runs).to_json(),
        "assumptions": (
            f"every run uses all its answers; an answer has {ANSWER_TOKENS} tokens and its tool results {RESULT_TOKENS}; reasoning that a "
            "model does not show is not counted; members of an ensemble by weight"
            + ("" if priced else "; cost unknown without input_price and output_price")
        ),
    }


def _run_of(member: Author, options: CampaignOptions) -> dict[str, Any]:
    """Answers, tokens and cost of one run of one member."""
    if not isinstance(member, ModelAuthor):
        return {"answers_per_run": 0, "tokens_per_run": 0, "cost_per_run": 0.0}
    made = options.search.made()
    brief = Brief(0, 0, "open_ended", None, (), made.dimensions, options.rounds, options.tool_calls, made.coordinates)
    texts = [prompt("system"), run_prompt(brief, member.context), [tool.schema() for tool in all_tools().values()]]
    opening = sum(estimated_tokens(text) for text in texts) + (PARENT_TOKENS if options.run_count > 1 else 0)
    rounds = options.rounds
    sent = rounds * opening + (ANSWER_TOKENS + RESULT_TOKENS) * rounds * (rounds - 1) // 2
    answered = rounds * ANSWER_TOKENS
    return {
        "answers_per_run": rounds,
        "tokens_per_run": sent + answered,
        "cost_per_run": price(member.settings, sent, answered),
    }


def _sum(rows: list[dict[str, Any]], name: str) -> float:
    """A quantity of all expected runs."""
    return float(sum(row["expected_runs"] * (row[name] or 0.0) for row in rows))
