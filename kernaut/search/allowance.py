"""Tokens and money of a campaign: what is left for the runs of a generation, from what earlier generations have used.

A run's share follows from closed runs of earlier generations alone, so that an interrupted campaign goes on with the same shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernaut.archive.records import RunRecord
from kernaut.authors.spending import Spending, spending_of
from kernaut.errors import InputError

ENDED = "allowance spent"
"""How the result of a run begins that a campaign's allowance ended."""


@dataclass(frozen=True)
class Allowance:
    """The most that a campaign may spend on language models; it may be raised when the campaign is resumed.

    Args:
        tokens: sent and answered, over all runs; None without a limit.
        cost: over all runs [US dollars]; None without a limit.

    Raises:
        InputError: for a limit that is not above 0.
    """

    tokens: int | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        for name, limit in (("tokens", self.tokens), ("dollars", self.cost)):
            if limit is not None and (isinstance(limit, bool) or not 0 < limit < 1e15):
                raise InputError(f"Expected a limit of {name} above 0. Got {limit!r}.")

    def to_json(self) -> dict[str, Any]:
        """Both limits."""
        return {"tokens": self.tokens, "cost": self.cost}

    def share(self, spent: Spending, runs: int) -> Allowance | None:
        """What each of the runs of a generation may spend; None when nothing is left.

        Args:
            spent: by earlier generations.
            runs: of the generation, closed ones included.
        """
        tokens = None if self.tokens is None else (self.tokens - spent.tokens) // runs
        cost = None if self.cost is None else (self.cost - spent.cost) / runs
        return (
            None
            if (tokens is not None and tokens <= 0) or (cost is not None and cost <= 0)
            else Allowance(tokens, cost)
        )


def spent_in(runs: Sequence[RunRecord]) -> Spending:
    """What closed runs have spent."""
    return spending_of(run.result["usage"] for run in runs if run.result is not None and "usage" in run.result)


def ended_under(runs: Sequence[RunRecord], allowance: Allowance) -> bool:
    """Whether a closed run was ended by this very allowance, so that another one would be, too."""
    results = [run.result for run in runs if run.result is not None and str(run.result.get("ended")).startswith(ENDED)]
    return any(dict(result["allowance"]) == allowance.to_json() for result in results)
