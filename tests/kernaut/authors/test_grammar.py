"""Every program the grammar writes is valid, readable back, and the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from kernaut.authors.author import Brief, Elite
from kernaut.authors.blocks import BLOCKS
from kernaut.authors.genome import COMPOSED, RESIDUAL_BASES, TRANSFORM_BASES, Genome, genome_of
from kernaut.authors.grammar import fresh, propose, write_program
from kernaut.program.formulation import NICHES
from kernaut.program.program import program_from_json
from kernaut.seeds import generator
from kernaut.verification.verify import verify


def _brief(niche: str = "open_ended", parent: Elite | None = None, inspirations: tuple[Elite, ...] = ()) -> Brief:
    return Brief(0, 5, niche, parent, inspirations, (2, 3), 10, 100)


@pytest.mark.parametrize("name", sorted(BLOCKS))
def test_every_block_is_certified_alone_from_one_dimension_up(name: str) -> None:
    genome = Genome("input_transform", (name,), base=TRANSFORM_BASES[1])
    evidence = verify(write_program(genome, _brief()), (1, 2, 5), 3)
    assert evidence.accepted, evidence.reason


@pytest.mark.parametrize(
    "contract", ["feature_map", "residual_feature_map", "residual_input_transform", "spectral", "additive_feature_map"]
)
def test_every_contract_is_certified(contract: str) -> None:
    blocks = () if contract == "spectral" else ("cosine_bank", "coordinate_bowl", "bump_ladder")
    base = RESIDUAL_BASES[0] if contract.startswith("residual") else None
    inner = TRANSFORM_BASES[2] if contract == "residual_input_transform" else None
    evidence = verify(write_program(Genome(contract, blocks, base, inner), _brief()), (1, 2, 8), 3)
    assert evidence.accepted, evidence.reason


def test_blocks_have_about_unit_norm_on_the_unit_cube() -> None:
    import torch

    rng = np.random.default_rng(0)
    for block in BLOCKS.values():
        for dimension in (2, 8):
            space: dict[str, object] = {}
            exec("import math\nimport torch\n" + block.source, space)
            points = torch.from_numpy(rng.uniform(size=(400, dimension)))
            settings = [1.0 if slot.name == "weight" else slot.initial for slot in block.slots]
            values = [torch.tensor(value, dtype=torch.float64) for value in settings]
            function = space[block.name]
            features = torch.stack([function(point, *values) for point in points])  # type: ignore[operator]
            norm = float((features - features.mean(0)).square().sum(-1).mean())
            assert 0.03 < norm < 4.0, (block.name, dimension, norm)


def test_genomes_are_read_back_from_source_and_files() -> None:
    rng = generator("test", 1)
    for niche in NICHES:
        for _ in range(6):
            genome = fresh(niche, rng)
            program = write_program(genome, _brief(niche))
            assert genome_of(program) == genome
            again = program_from_json(program.to_json())
            assert again == program
            assert again.id == program.id
            assert len(program.space) <= 12
            assert program.formulation is not None
            assert program.formulation.construction_niche == niche


def test_a_program_outside_the_grammar_has_no_genome() -> None:
    source = "def feature_point(x, parameters):\n    return [x[0]]\n"
    program = write_program(Genome("feature_map", ("centred_line",)), _brief())
    from dataclasses import replace

    assert genome_of(replace(program, source=source, space=(), parameters={})) is None
    assert genome_of(replace(program, source="def (", space=(), parameters={})) is None


def test_proposals_differ_from_the_parent_and_among_themselves_and_repeat_with_the_seed() -> None:
    rng = generator("test", 2)
    elites = [
        Elite(write_program(fresh(niche, rng), _brief(niche)), niche, -0.5, 0.1 * place)
        for place, niche in enumerate(NICHES)
    ]
    for niche in NICHES:
        brief = _brief(niche, elites[3], (elites[1], elites[5]))
        found = []
        for _ in range(2):
            own, seen = generator("grammar", 9), set()
            for place in range(4):
                seen.add(propose(brief, own, first=place == 0, seen=seen))
            found.append(seen)
        assert found[0] == found[1]
        assert len(found[0]) == 4
        assert genome_of(elites[3].program) not in found[0]


def test_children_inherit_tuned_values_and_name_those_they_took_blocks_from() -> None:
    mother = write_program(Genome("input_transform", ("cosine_bank",), TRANSFORM_BASES[0]), _brief())
    mother = mother.with_parameters({"bank_weight": 2.5})
    donor = write_program(Genome("input_transform", ("radial_bowl",), TRANSFORM_BASES[0]), _brief())
    donor = donor.with_parameters({"radial_centre": 0.61, "radial_weight": 0.2})
    stranger = write_program(Genome("input_transform", ("bump_ladder",), TRANSFORM_BASES[0]), _brief())
    brief = _brief(
        parent=Elite(mother, "open_ended", -1, 0),
        inspirations=(Elite(stranger, "open_ended", -1, 0), Elite(donor, "open_ended", -1, 0)),
    )
    child = write_program(Genome("input_transform", ("cosine_bank", "radial_bowl"), TRANSFORM_BASES[0]), brief)
    assert child.parents == (mother.id, donor.id)
    assert child.parameters["bank_weight"] == 2.5
    assert child.parameters["radial_centre"] == 0.61


def test_the_grammar_covers_every_niche() -> None:
    for niche in NICHES:
        assert niche == "open_ended" or any(niche in block.niches for block in BLOCKS.values())
    assert set(COMPOSED) <= {fresh("open_ended", generator("x", i)).contract for i in range(80)}
