from __future__ import annotations

import pytest

from kernaut.errors import ProgramRefused
from kernaut.program.contracts import CONTRACTS
from kernaut.program.templates import template
from kernaut.verification.verify import verify


@pytest.mark.parametrize("contract", sorted(CONTRACTS))
def test_every_contract_has_a_template_that_verification_accepts(contract: str) -> None:
    program = template(contract)
    assert program.contract == contract
    (spec,) = program.space
    spec.require(program.parameters[spec.name])
    evidence = verify(program, (1, 3), 0)
    assert evidence.accepted == CONTRACTS[contract].acceptable, evidence.reason
    assert evidence.tier == ("T2" if evidence.accepted else "T1")


def test_an_unknown_contract_is_refused() -> None:
    with pytest.raises(ProgramRefused, match="feature_map"):
        template("matrix")
