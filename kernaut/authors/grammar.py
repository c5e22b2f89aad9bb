"""The offline author: recombines blocks into kernel programs, tunes several drafts a run and submits the best.

It needs no key and no network, and every choice it makes follows from the brief's seed.  It sees meta-training fitness only.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernaut.authors.author import Brief, Elite, Tools, Tuned
from kernaut.authors.genome import COMPOSED, RESIDUAL_BASES, TRANSFORM_BASES, Genome, genome_of
from kernaut.authors.vocabulary import CUBE, Vocabulary, vocabulary_for, vocabulary_of
from kernaut.authors.wording import formulate
from kernaut.digest import content_id
from kernaut.episodes.benchmark import Benchmark
from kernaut.errors import InputError, SandboxFailure
from kernaut.program.program import KernelProgram
from kernaut.seeds import generator


class GrammarAuthor:
    """Writes programs from the block grammar; see :class:`kernaut.authors.author.Author`."""

    name = "grammar"
    runs_at_once = 4

    def write(self, brief: Brief, tools: Tools) -> None:
        """Stage and tune a few drafts, then submit the one of best fitness.

        Args:
            brief: niche, parent and inspirations of the run.
            tools: the run's tool session.
        """
        rng = generator("grammar", brief.seed, brief.index)
        words = vocabulary_for(brief.coordinates)
        best: Tuned | None = None
        seen: set[Genome] = set()
        drafts = max(1, min(words.drafts, brief.max_rounds - 1))  # the last round goes to the best of them again
        for round_index in range(drafts):
            genome = propose(brief, rng, first=round_index == 0, seen=seen)
            seen.add(genome)
            tuned = self._tune(tools, write_program(genome, brief), words.trials, words.first_steps)
            if _worth(tuned) > _worth(best):
                best = tuned
        if best is not None:
            last = self._tune(tools, best.program, 1, words.last_steps) if brief.max_rounds > drafts else None
            tools.submit_candidate(last.program if last is not None and _worth(last) > _worth(best) else best.program)

    def _tune(self, tools: Tools, program: KernelProgram, trials: int, steps: int) -> Tuned | None:
        """Formulate, stage, verify and tune one draft; None when a step refuses it."""
        try:
            if program.formulation is not None:
                tools.propose_formulation(program.formulation)
            tools.stage_candidate(program)
            if not tools.verify_staged_candidate()["accepted"]:
                return None
            return tools.optimize_parameters(trials, steps)
        except (InputError, SandboxFailure):
            return None


def _worth(tuned: Tuned | None) -> float:
    return float("-inf") if tuned is None or tuned.fitness is None else tuned.fitness


def first_program(benchmark: Benchmark) -> KernelProgram:
    """The draft that a campaign on a benchmark would begin with: seed 0, any niche, starting values, nothing tuned."""
    brief = Brief(0, 0, "open_ended", None, (), benchmark.dimensions, 1, 1, benchmark.coordinates)
    return write_program(propose(brief, generator("grammar", 0, 0), first=True, seen=set()), brief)


def write_program(genome: Genome, brief: Brief) -> KernelProgram:
    """The program of a genome, with inherited parameter values, parents and formulation."""
    parents = tuple(elite.program for elite in _ancestors(genome, brief))
    known = {key: value for parent in reversed(parents) for key, value in parent.parameters.items()}
    stem = "_".join(block.short for block in genome.parts) or "lattice"
    digest = content_id([genome.contract, genome.blocks, genome.base, genome.inner])[:4]
    name = f"{stem[:60]}-{digest}"
    return KernelProgram(
        name=name,
        contract=genome.contract,
        source=genome.source(),
        parameters=genome.parameters(known),
        parents=tuple(parent.id for parent in parents),
        rationale=f"Run {brief.index}, niche {brief.niche}: {genome.formula() or 'oblique waves with axis harmonics'}.",
        formulation=formulate(genome, brief.niche, name),
        space=tuple(spec for spec, _ in genome.space()),
    )


def propose(brief: Brief, rng: np.random.Generator, *, first: bool, seen: set[Genome]) -> Genome:
    """A genome for the brief's niche that the run has not tried yet.

    Args:
        brief: what is asked for.
        rng: the run's generator.
        first: whether this is the run's first draft, which stays closest to the parent.
        seen: genomes tried before; none of them comes back unless fifty attempts give nothing else.
    """
    words = vocabulary_for(brief.coordinates)
    parent = genome_of(brief.parent.program) if brief.parent is not None else None
    donors = [genome for elite in brief.inspirations if (genome := genome_of(elite.program)) is not None]
    genome = fresh(brief.niche, rng, words)
    for _ in range(50):
        if parent is None:
            genome = fresh(brief.niche, rng, words)
            if donors and rng.random() < 0.5:
                genome = _recombine(genome, donors[int(rng.integers(len(donors)))], rng)
        elif donors and (not first or rng.random() < 0.3):
            genome = _recombine(parent, donors[int(rng.integers(len(donors)))], rng)
        else:
            genome = _mutate(parent, brief.niche, rng, words)
        if genome.fits() and genome not in seen and genome != parent:
            break
    return genome if genome.fits() else fresh(brief.niche, rng, words)


def fresh(niche: str, rng: np.random.Generator, words: Vocabulary = CUBE) -> Genome:
    """A new root: a contract of the niche, the vocabulary's core, a few blocks of the niche and a few others, as many as can be tuned."""
    contracts = words.contracts[niche]
    contract = contracts[min(int(rng.geometric(0.55)) - 1, len(contracts) - 1)]
    if contract == "spectral":
        return Genome("spectral", ())
    own = [name for name, block in words.blocks.items() if niche == "open_ended" or niche in block.niches]
    other = [name for name in words.blocks if name not in own]
    if contract == "additive_feature_map":
        own = [name for name in own if words.blocks[name].per_coordinate]
        other = []
    chosen = [str(name) for name in rng.permutation(own)[: int(rng.integers(*words.own))]]
    chosen += [str(name) for name in rng.permutation(other)[: int(rng.integers(*words.other))]]
    if words.core:
        chosen = _tunable(contract, [*words.core, *(name for name in chosen if name not in words.core)])
    return _with_bases(Genome(contract, _ordered(chosen)), rng)


def _tunable(contract: str, names: list[str]) -> list[str]:
    """The first of these blocks whose parameters can all be tuned, leaving out those that would be too many."""
    kept: list[str] = []
    for name in names:
        if Genome(contract, _ordered([*kept, name])).fits():
            kept.append(name)
    return kept


def _mutate(parent: Genome, niche: str, rng: np.random.Generator, words: Vocabulary = CUBE) -> Genome:
    """Add, drop or swap a block, or change the base or the contract."""
    if parent.contract == "spectral":
        return fresh(niche, rng, words)
    blocks = list(parent.blocks)
    absent = [name for name in words.blocks if name not in blocks]
    move = str(rng.choice(["add", "add", "add", "swap", "drop", "base", "contract"]))
    if move in ("swap", "drop") and len(blocks) > 1:
        blocks.pop(int(rng.integers(len(blocks))))
    if move in ("add", "swap"):
        blocks.append(str(rng.choice(absent)))
    genome = replace(parent, blocks=_ordered(blocks))
    if move in ("contract", "base") and parent.contract == "closure":
        return fresh(niche, rng, words)
    if move == "contract":
        choices = [name for name in words.contracts[niche] if name not in (parent.contract, "spectral")]
        return _with_bases(genome.with_contract(str(rng.choice(choices or COMPOSED)), None, None), rng)
    return _with_bases(genome, rng) if move == "base" else genome


def _recombine(one: Genome, other: Genome, rng: np.random.Generator) -> Genome:
    """All of one genome's blocks with at least half of the other's, under the contract and bases of the first."""
    if one.contract == "spectral" or other.contract == "spectral":
        one = other if one.contract == "spectral" else one
        return _mutate(one, "open_ended", rng)
    gift = [name for name in other.blocks if name not in one.blocks]
    taken = [str(name) for name in rng.permutation(gift)[: (len(gift) + 1) // 2]]
    return replace(one, blocks=_ordered([*one.blocks, *taken]))


def _with_bases(genome: Genome, rng: np.random.Generator) -> Genome:
    """Draw the trusted bases that the contract needs."""
    transform = TRANSFORM_BASES[int(rng.integers(len(TRANSFORM_BASES)))]
    residual = RESIDUAL_BASES[int(rng.integers(len(RESIDUAL_BASES)))]
    if genome.contract == "input_transform":
        return replace(genome, base=transform, inner=None)
    if genome.contract == "residual_input_transform":
        return replace(genome, base=residual, inner=transform)
    if genome.contract == "residual_feature_map":
        return replace(genome, base=residual, inner=None)
    return replace(genome, base=None, inner=None)


def _ordered(names: list[str]) -> tuple[str, ...]:
    """Each block once, in the grammar's order, so that equal structures have equal sources."""
    return tuple(name for name in vocabulary_of(names).blocks if name in names)


def _ancestors(genome: Genome, brief: Brief) -> list[Elite]:
    """The parent, and the inspirations that gave the genome a block the parent lacks."""
    ancestors = [brief.parent] if brief.parent is not None else []
    held = set(genome_blocks(brief.parent))
    for elite in brief.inspirations:
        gift = (set(genome_blocks(elite)) & set(genome.blocks)) - held
        if gift:
            ancestors.append(elite)
            held |= gift
    return ancestors


def genome_blocks(elite: Elite | None) -> tuple[str, ...]:
    """Blocks of an elite's program; none when it is absent or not written in the grammar."""
    genome = genome_of(elite.program) if elite is not None else None
    return genome.blocks if genome is not None else ()
