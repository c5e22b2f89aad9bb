from __future__ import annotations

import json

import pytest

from kernaut.verification.evidence import Check, Evidence, evidence_from_json

CHECKS = (
    Check("source", True, "fine"),
    Check("executable", False, "In dimension 2 it failed: no", {"dimensions": [2]}),
    Check("later", False, "never the reason"),
)


@pytest.mark.parametrize(("tier", "accepted"), [("none", False), ("T0", False), ("T1", False), ("T2", True)])
def test_only_the_highest_tier_is_accepted(tier: str, accepted: bool) -> None:
    assert Evidence("ab", tier, ()).accepted is accepted  # type: ignore[arg-type]


def test_the_reason_is_the_first_failure() -> None:
    assert Evidence("ab", "none", CHECKS).reason == "executable: In dimension 2 it failed: no"
    assert Evidence("ab", "T2", CHECKS[:1]).reason is None


def test_json_holds_everything_and_comes_back() -> None:
    evidence = Evidence("ab", "none", CHECKS, {"seccomp": True, "not_enforced": ["files"]})
    record = json.loads(json.dumps(evidence.to_json()))
    assert list(record) == ["candidate_id", "accepted", "tier", "checks", "protections"]
    assert record["checks"][1] == {
        "name": "executable",
        "passed": False,
        "detail": "In dimension 2 it failed: no",
        "metrics": {"dimensions": [2]},
    }
    assert evidence_from_json(record) == evidence
