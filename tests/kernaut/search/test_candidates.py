from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernaut.errors import InputError
from kernaut.plugins import bundled
from kernaut.search.candidates import verified_candidate


def test_an_accepted_file_comes_with_its_evidence() -> None:
    program, evidence = verified_candidate(bundled("examples", "candidates", "dual_warp_fold.json"), (2, 5), seed=4)
    assert evidence.program_id == program.id
    assert (evidence.accepted, evidence.tier, evidence.dimensions, evidence.seed) == (True, "T2", (2, 5), 4)
    assert evidence.versions["kernaut"]


def test_a_file_whose_program_is_not_accepted_is_named_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "flat.json"
    source = "def kernel_matrix(x, parameters):\n    return [[1.0 for b in x] for a in x]\n"
    path.write_text(json.dumps({"name": "flat", "contract": "unverified", "source": source}), encoding="utf-8")
    with pytest.raises(InputError, match=r"tier T2.*flat\.json.*Got tier T1: contract: .*diagnostics") as caught:
        verified_candidate(path, (2,))
    assert caught.value.hint == f"See all checks with: kernaut verify {path}"
