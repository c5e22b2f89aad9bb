"""The record of a verification: checks in the order they were made, the tier reached, and what the sandbox enforced meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kernaut.digest import FrozenMapping, thaw

Tier = Literal["none", "T0", "T1", "T2"]


@dataclass(frozen=True)
class Check:
    """One check.

    Args:
        name: such as ``source``, ``executable``, ``symmetry``, ``positive_semidefinite``, ``contract``, ``determinism``.
        passed: whether it held.
        detail: one sentence; for a failure, what was found.
        metrics: numbers behind it, finite.
    """

    name: str
    passed: bool
    detail: str
    metrics: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", FrozenMapping(self.metrics))

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return {"name": self.name, "passed": self.passed, "detail": self.detail, "metrics": thaw(self.metrics)}


@dataclass(frozen=True)
class Evidence:
    """What verification found out about a program.

    Args:
        candidate_id: the program's identifier.
        tier: the highest tier established; ``none`` when the program was refused or did not run.
        checks: in the order they were made; a failed one ends the verification.
        protections: what the sandbox enforced, and what this machine could not.
    """

    candidate_id: str
    tier: Tier
    checks: tuple[Check, ...]
    protections: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "protections", FrozenMapping(self.protections))

    @property
    def accepted(self) -> bool:
        """Whether the program is contract certified, the only tier that is accepted."""
        return self.tier == "T2"

    @property
    def reason(self) -> str | None:
        """Why it was not accepted: the first failed check, by name; None when there is none."""
        return next((f"{check.name}: {check.detail}" for check in self.checks if not check.passed), None)

    def to_json(self) -> dict[str, Any]:
        """What ``kernaut verify`` prints."""
        return {
            "candidate_id": self.candidate_id,
            "accepted": self.accepted,
            "tier": self.tier,
            "checks": [check.to_json() for check in self.checks],
            "protections": thaw(self.protections),
        }


def evidence_from_json(record: Mapping[str, Any]) -> Evidence:
    """The inverse of :meth:`Evidence.to_json`."""
    checks = tuple(Check(c["name"], c["passed"], c["detail"], c["metrics"]) for c in record["checks"])
    return Evidence(record["candidate_id"], record["tier"], checks, record["protections"])
