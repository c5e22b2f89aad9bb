"""An archive with one campaign, and small records to put into it; all values differ, so that a swapped column shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernaut.archive.records import (
    AcceptedRecord,
    CampaignRecord,
    Entries,
    EvaluationRecord,
    EvidenceRecord,
)
from kernaut.archive.store import Archive
from kernaut.program.formulation import FORMULATION_FIELDS, Formulation
from kernaut.program.parameters import ParameterSpec
from kernaut.program.program import KernelProgram

SOURCE = "def feature_point(x, parameters):\n    return parameters['gain'] * x\n"
CAMPAIGN = CampaignRecord(
    "c", "bbo", "evolutionary", 2**64 - 1, 4, {"pool": 64, "rate": 0.1}, "digest", {"torch": "2.13.0"}
)

MakeProgram = Callable[..., KernelProgram]


@pytest.fixture
def make_program() -> MakeProgram:
    def make(number: int = 0, **changes: object) -> KernelProgram:
        stated = dict.fromkeys(FORMULATION_FIELDS, "A sentence.")
        stated |= {"construction_niche": "input_geometry", "feature_growth": "linear"}
        content = {
            "name": f"warp{number}",
            "contract": "feature_map",
            "source": SOURCE,
            "parameters": {"zeta": 2, "gain": 0.1 + 0.2 * number, "alpha": [1.5, None, "a"]},
            "parents": ("0123456789abcdef",),
            "rationale": f"Number {number}.",
            "formulation": Formulation(**stated),
            "space": (
                ParameterSpec("zeta", "int", "linear", 1, 9),
                ParameterSpec("gain", "float", "log", 1e-3, 1e3),
            ),
        }
        return KernelProgram(**{**content, **changes})  # type: ignore[arg-type]

    return make


@pytest.fixture
def make_entries() -> Callable[[KernelProgram, int, int], Entries]:
    def make(program: KernelProgram, run_index: int = 0, position: int = 0) -> Entries:
        evidence = EvidenceRecord(
            program.id, True, "T2", (2, 5), 7, {"accepted": True, "error": 1e-9}, {"torch": "2.13.0"}, 0.25
        )
        evaluation = EvaluationRecord(
            program_id=program.id,
            benchmark="bbo",
            split="train",
            purpose="search",
            seed=2**63 + 1,
            options={"episodes_per_family": 2},
            data_digest="digest",
            versions={"torch": "2.13.0"},
            scores={"mean_crps": 0.1 + 0.2},
            outcomes=({"episode": "branin:seed-0", "crps": 1 / 3},),
            seconds=1.5,
        )
        accepted = AcceptedRecord(
            campaign_id="c",
            run_index=run_index,
            position=position,
            program_id=program.id,
            niche="input_geometry",
            feature_growth="linear",
            novelty_band="distinct",
            score=-0.6,
            elite_score=0.25,
            evidence_id=evidence.id,
            evaluation_id=evaluation.id,
            details={"fingerprint": [0.1, 2 / 3, -0.0]},
        )
        return Entries(programs=(program,), evidence=(evidence,), evaluations=(evaluation,), accepted=(accepted,))

    return make


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive.create(tmp_path / "search.sqlite") as made:
        made.begin_campaign(CAMPAIGN)
        yield made
