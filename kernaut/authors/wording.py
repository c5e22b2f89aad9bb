"""The grammar author's formulations: fourteen fields said from the genome, so that every statement holds for the source."""

from __future__ import annotations

from kernaut.authors.genome import Genome
from kernaut.authors.vocabulary import vocabulary_of
from kernaut.program.contracts import CONTRACTS
from kernaut.program.formulation import Formulation

_PSD = {
    "feature_map": "An inner product of feature vectors is a Gram matrix, hence positive semidefinite in every dimension.",
    "residual_feature_map": "A positive semidefinite base plus a squared weight times an inner product of feature vectors.",
    "input_transform": "A radial kernel valid in every dimension, evaluated at transformed points, stays positive semidefinite.",
    "residual_input_transform": "Two such kernels are added, the second with a squared weight.",
    "additive_feature_map": "A mean over coordinates of inner products of feature vectors.",
    "closure": "A sum of inner products of features and library kernels with squared weights is positive semidefinite.",
    "spectral": "Bochner: non-negative (squared) weights on cosines of differences.",
}
_NEAREST = {
    "feature_map": "Bayesian linear regression on fixed features",
    "residual_feature_map": "Matern kernel plus a linear model on fixed features",
    "input_transform": "Matern or rational quadratic kernel on warped inputs",
    "residual_input_transform": "sum of a Matern kernel and one on warped inputs",
    "additive_feature_map": "first-order additive kernel",
    "closure": "Bayesian linear regression on fixed features plus library kernels",
    "spectral": "spectral mixture and random Fourier features",
}


def formulate(genome: Genome, niche: str, name: str) -> Formulation:
    """State a genome as a formulation.

    Args:
        genome: the structure.
        niche: the construction niche it is proposed for.
        name: the program's name.

    Returns:
        All fourteen fields.
    """
    contract = CONTRACTS[genome.contract]
    interacting = [block.name for block in genome.parts if block.interacts]
    separate = [block.name for block in genome.parts if block.per_coordinate]
    bases = ", ".join(str(node["kind"]) for node in (genome.base, genome.inner) if node is not None)
    tunable = ", ".join(spec.name for spec, _ in genome.space())
    blocks = ", ".join(genome.blocks) or "oblique lattice, axis harmonics"
    return Formulation(
        mathematical_form=f"{contract.meaning} Component: {genome.formula() or 'oblique waves and axis harmonics'}."
        + (f" Trusted base: {bases}." if bases else ""),
        psd_argument=_PSD[genome.contract],
        novelty_claim=f"{name} combines {blocks} under the contract {genome.contract}.",
        closest_known_kernel=_NEAREST[genome.contract],
        expected_bo_behavior="Extrapolates the trends its features can express, and falls back to the base elsewhere."
        if bases
        else "Commits to the span of its features, hence explores along few directions.",
        construction_niche=niche,
        equivalence_analysis=f"Not a library kernel unless all block weights but one vanish ({blocks}).",
        optimized_parameters=tunable,
        domain_scale_analysis=vocabulary_of(genome.blocks).domain,
        irrelevant_coordinate_mechanism="Each coordinate contributes 1/d of a block's squared norm, so that a nuisance coordinate dilutes "
        "but does not dominate distances.",
        cross_coordinate_mechanism=f"Coordinates meet in {', '.join(interacting)}."
        if interacting
        else "Coordinates meet only through the base kernel."
        if bases
        else "None: coordinates act separately.",
        falsification_test=f"Replace {(separate or interacting or ['the axis harmonics'])[0]} by zero: meta-validation CRPS should get worse.",
        feature_growth=genome.growth,
        expected_conditioning="Full rank through the base kernel; condition number set by the noise floor."
        if bases
        else "Rank at most the number of features; the noise floor bounds the condition number.",
    )
