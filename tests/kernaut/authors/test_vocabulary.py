"""Vocabularies of described inputs: what they write is certified, readable back, and tuned by gradient."""

from __future__ import annotations

import numpy as np
import pytest

from kernaut.authors.author import Brief
from kernaut.authors.genome import Genome, genome_of
from kernaut.authors.grammar import first_program, fresh, write_program
from kernaut.authors.vocabulary import CUBE, KNOWN_BLOCKS, VOCABULARIES, vocabulary_for, vocabulary_of
from kernaut.episodes.registry import benchmark_named
from kernaut.fitting.prefixes import stack_episodes
from kernaut.kernels.interpreter import interpret
from kernaut.program.formulation import NICHES
from kernaut.program.screening import screen
from kernaut.search.novelty import fingerprint
from kernaut.search.tuning import refine
from kernaut.verification.verify import verify

DESCRIBED = ("greenhouse", "enzymes", "glucose")


def test_the_vocabulary_follows_the_coordinates() -> None:
    names = [vocabulary_for(benchmark_named(name).coordinates).name for name in ("bbo", *DESCRIBED)]
    assert names == ["cube", "series", "enzymes", "glucose"]


def test_block_names_and_short_names_are_unique() -> None:
    assert len(KNOWN_BLOCKS) == sum(len(v.blocks) for v in VOCABULARIES.values())
    shorts = [block.short for block in KNOWN_BLOCKS.values()]
    assert len(set(shorts)) == len(shorts)
    assert vocabulary_of(()) is CUBE


@pytest.mark.parametrize("name", DESCRIBED)
def test_every_block_is_certified_in_all_dimensions_and_has_a_fingerprint(name: str) -> None:
    made = benchmark_named(name)
    words = vocabulary_for(made.coordinates)
    brief = Brief(0, 0, "open_ended", None, (), made.dimensions, 1, 1, made.coordinates)
    blocks = list(words.blocks)
    for start in range(0, len(blocks), 4):
        genome = Genome("closure", tuple(blocks[start : start + 4]))
        program = write_program(genome, brief)
        evidence = verify(program, made.dimensions, 0)
        assert evidence.accepted, evidence.reason
        assert genome_of(program) == genome
        assert screen(program.source, program.rules).backend == "torch"
        kernel = interpret(program)
        assert np.isfinite(fingerprint(kernel)).all()
        kernel.close()


@pytest.mark.parametrize("name", DESCRIBED)
def test_new_programs_fit_for_every_niche(name: str) -> None:
    words = vocabulary_for(benchmark_named(name).coordinates)
    for niche in NICHES:
        for seed in range(5):
            genome = fresh(niche, np.random.default_rng(seed), words)
            assert genome.fits()
            assert set(words.core) <= set(genome.blocks)


def test_gradient_steps_improve_a_closure() -> None:
    made = benchmark_named("enzymes")
    program = first_program(made)
    groups = stack_episodes(made.episodes("train", 2))
    kernel = interpret(program)
    _, before = refine(kernel, program.space, groups, 0)
    values, after = refine(kernel, program.space, groups, 6)
    kernel.close()
    assert after < before
    assert values.keys() == {spec.name for spec in program.space}
