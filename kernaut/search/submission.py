"""A verified program becomes an accepted one: its search scores, its fingerprint, and the entries that the archive keeps of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

from kernaut.archive.records import (
    AcceptedRecord,
    Entries,
    EvaluationRecord,
    EvidenceRecord,
    LineageKind,
    LineageRecord,
)
from kernaut.errors import KernautError, ProgramRefused
from kernaut.evaluation.evaluate import Evaluation, evaluate
from kernaut.evaluation.report import package_versions
from kernaut.evaluation.subject import program_subject
from kernaut.kernels.interpreter import interpret
from kernaut.program.program import KernelProgram
from kernaut.program.screening import normalized_source
from kernaut.search.novelty import Fingerprint, band, fingerprint, nearest
from kernaut.search.scores import Scores, search_scores
from kernaut.search.workbench import SearchOptions, Workbench
from kernaut.verification.evidence import Evidence


@dataclass(frozen=True)
class Place:
    """Where a program was accepted: campaign, run, and its place among the run's accepted programs."""

    campaign_id: str
    run_index: int
    position: int


@dataclass(frozen=True, eq=False)
class Measured:
    """What a submission was measured to be.

    Args:
        evaluation: on the campaign's meta-training setting.
        scores: search and elite score with their parts.
        fingerprint: of its behaviour.
        distance: smallest fingerprint distance to a reference or accepted program.
        nearest: the name of that reference, or the identifier of that program.
        seconds: wall time of the evaluation [s].
    """

    evaluation: Evaluation
    scores: Scores
    fingerprint: Fingerprint
    distance: float
    nearest: str
    seconds: float


def require_discovery(program: KernelProgram, accepted: Mapping[str, KernelProgram]) -> None:
    """Check that a program is a new structure, not library kernels put together nor an accepted source with other parameters.

    Args:
        program: to be staged or submitted where novelty is asked for.
        accepted: programs accepted so far, by identifier.

    Raises:
        ProgramRefused: for a closure tree, or a source that equals an accepted one in all but comments and docstrings.
    """
    if program.contract == "closure":
        raise ProgramRefused(
            "Expected a discovery: a program that says something new itself. Got a closure tree of kernels that are known.",
            hint="Write a feature_map, an input_transform, a spectral program or a residual one; closures count where novelty is turned off.",
        )
    own = normalized_source(program.source)
    for key, other in accepted.items():
        if other.contract == program.contract and normalized_source(other.source) == own:
            raise ProgramRefused(
                f"Expected a source that differs from every accepted one in more than comments. Got that of {key} ({other.name}).",
                hint="Change the structure; parameters alone are tuned with optimize_parameters before a program is submitted.",
            )


def measure(
    program: KernelProgram,
    bench: Workbench,
    others: Sequence[tuple[str, Fingerprint]],
    relatives: Mapping[str, KernelProgram],
) -> Measured | str:
    """Score a verified program on meta-training episodes; a reason when it cannot be scored at all.

    Args:
        program: verified before.
        bench: options and references.
        others: fingerprints of references and accepted programs.
        relatives: programs that closures may refer to.
    """
    options = bench.options
    began = perf_counter()
    evaluation = evaluate(program_subject(program), options.training(), pool=options.pool(), programs=relatives)
    seconds = perf_counter() - began
    failed = [outcome for outcome in evaluation.predictive if not outcome.scored]
    if len(failed) == len(evaluation.predictive):
        return f"every episode failed: {failed[0].reason}"
    try:
        kernel = interpret(program, pool=options.pool(), resolve=relatives.__getitem__)
        try:
            found = fingerprint(kernel)
        finally:
            kernel.close()
    except KernautError as error:
        return f"no fingerprint: {error.message}"
    distance, name = nearest(found, others)
    scores = search_scores(
        evaluation,
        bench.measure,
        distance,
        threshold=options.novelty_threshold,
        mode=options.elite_score,
        worst_weight=options.worst_family_weight,
    )
    return Measured(evaluation, scores, found, distance, name, seconds)


def acceptance(
    program: KernelProgram,
    evidence: Evidence,
    measured: Measured,
    place: Place,
    options: SearchOptions,
    relatives: Mapping[str, KernelProgram],
) -> Entries:
    """Everything the archive keeps of an accepted program, for one transaction."""
    formulation = program.formulation
    assert formulation is not None
    versions = {name: version for name, version in package_versions().items() if version is not None}
    dimensions = options.made().dimensions
    proof = EvidenceRecord(
        program.id, evidence.accepted, evidence.tier, dimensions, options.seed, evidence.to_json(), versions
    )
    setting, scores = measured.evaluation.setting, measured.scores
    evaluation = EvaluationRecord(
        program_id=program.id,
        benchmark=setting.benchmark,
        split=setting.split,
        purpose="search",
        seed=options.seed,
        options=options.to_json(),
        data_digest=setting.made().digest(),
        versions=versions,
        scores=scores.to_json(),
        outcomes=tuple(
            outcome.to_json() for outcome in (*measured.evaluation.predictive, *measured.evaluation.rollouts)
        ),
        seconds=measured.seconds,
    )
    accepted = AcceptedRecord(
        place.campaign_id,
        place.run_index,
        place.position,
        program.id,
        niche=formulation.construction_niche,
        feature_growth=formulation.feature_growth,
        novelty_band=band(measured.distance),
        score=scores.score,
        elite_score=scores.elite_score,
        evidence_id=proof.id,
        evaluation_id=evaluation.id,
        details={
            "fingerprint": measured.fingerprint.tolist(),
            "nearest": measured.nearest,
            "novelty_distance": measured.distance,
            "scores": scores.to_json(),
        },
    )
    return Entries(
        programs=(program,),
        lineage=tuple(_edges(program, relatives)),
        evidence=(proof,),
        evaluations=(evaluation,),
        accepted=(accepted,),
    )


def _edges(program: KernelProgram, relatives: Mapping[str, KernelProgram]) -> list[LineageRecord]:
    """Edges to the parents: a revision or recombination, counted only where the parsed source differs."""
    kind: LineageKind = "revision" if len(program.parents) == 1 else "recombination"
    own = normalized_source(program.source)
    return [
        LineageRecord(program.id, parent, kind, counts=normalized_source(relatives[parent].source) != own)
        for parent in dict.fromkeys(program.parents)
    ]
