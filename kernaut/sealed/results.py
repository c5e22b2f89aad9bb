"""What an evaluation answers and how an episode can end; used by both sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

Outcome = Literal["returned", "malformed", "timeout", "crash", "no_final"]

OUTCOMES: tuple[str, ...] = get_args(Outcome)
ORACLE = "oracle"
"""The policy that answers J_star; only the ledger's owner may run it."""


@dataclass(frozen=True)
class EpisodeResult:
    """The answer to one query, and all of it.

    Args:
        returns: raw J; None when the output repeats an earlier query.
        steps_used: queries used, this one included.
        diagnostics: ``J`` and ``difference`` from the previous query that had a J (None for the first), nothing else.
    """

    returns: float | None
    steps_used: int
    diagnostics: Mapping[str, float | None]

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {"returns": self.returns, "steps_used": self.steps_used, "diagnostics": dict(self.diagnostics)}
