"""What became of an operator: the record that rules, gate and screens leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernaut.operators.admission import Consultation
from kernaut.operators.records import Verdicts


@dataclass(frozen=True, eq=False)
class Judgement:
    """What became of an operator.

    Args:
        decision: ``refused``, ``not admitted``, ``screened out`` or ``admitted``.
        reason: why it was not admitted.
        verdicts: over the electorate; None when its source was refused.
        gate: the gate's consultation; None when its source was refused.
        screens: what the screens found.
    """

    decision: str
    reason: str
    verdicts: Verdicts | None = None
    gate: Consultation | None = None
    screens: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Its part of a ledger entry."""
        return {
            "verdicts": None if self.verdicts is None else self.verdicts.to_json(),
            "screens": list(self.screens),
            "gate": None if self.gate is None else self.gate.to_json(),
            "decision": self.decision,
            "reason": self.reason,
        }
