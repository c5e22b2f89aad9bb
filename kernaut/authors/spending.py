"""What calls of language models cost: tokens and money, reported by the server where it does, estimated where it does not."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernaut.authors.chat import ModelSettings, Reply, Usage

CHARACTERS_PER_TOKEN = 4.0
"""A rule of thumb for English and code; used where a server reports no tokens, and before anything is sent."""


@dataclass(frozen=True)
class Spending:
    """Sums over answers.

    Args:
        calls: answers.
        prompt_tokens: tokens sent.
        completion_tokens: tokens answered.
        cost: of the calls whose cost is known [US dollars].
        unpriced: calls whose cost is not known.
        estimated: calls whose tokens are estimates.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0
    estimated: int = 0

    @property
    def tokens(self) -> int:
        """Tokens sent and answered."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Spending) -> Spending:
        """Both together."""
        return Spending(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cost + other.cost,
            self.unpriced + other.unpriced,
            self.estimated + other.estimated,
        )

    def to_json(self) -> dict[str, Any]:
        """All sums by name."""
        return dict(self.__dict__)


def spending_of(usages: Iterable[Mapping[str, Any]]) -> Spending:
    """The sum of usage records; entries without tokens count nothing.

    Args:
        usages: as :func:`charge` makes them, or sums as :meth:`Spending.to_json` does.
    """
    total = Spending()
    for usage in usages:
        if "calls" in usage:
            total += Spending(**usage)
        elif "prompt_tokens" in usage:
            cost = usage.get("cost")
            total += Spending(
                1,
                usage["prompt_tokens"],
                usage["completion_tokens"],
                cost or 0.0,
                int(cost is None),
                int(usage["estimated"]),
            )
    return total


def charge(reply: Reply, settings: ModelSettings, sent: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The usage record of one answer.

    Args:
        reply: the answer.
        settings: of the model, with its prices.
        sent: what was sent, for an estimate where the answer reports no tokens.
    """
    usage = reply.usage
    if usage is None:
        written = len(reply.text) + len(reply.reasoning) + sum(len(r.name) + len(r.arguments) for r in reply.requests)
        usage = Usage(estimated_tokens(sent), math.ceil(written / CHARACTERS_PER_TOKEN), estimated=True)
    cost = usage.cost if usage.cost is not None else price(settings, usage.prompt_tokens, usage.completion_tokens)
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "estimated": usage.estimated,
        "cost": cost,
    }


def price(settings: ModelSettings, prompt_tokens: float, completion_tokens: float) -> float | None:
    """What so many tokens cost [US dollars]; None where the configuration names no prices."""
    if settings.input_price is None or settings.output_price is None:
        return None
    return (prompt_tokens * settings.input_price + completion_tokens * settings.output_price) / 1e6


def estimated_tokens(value: Any) -> int:
    """About how many tokens a JSON value takes."""
    return math.ceil(len(json.dumps(value, ensure_ascii=False)) / CHARACTERS_PER_TOKEN)
