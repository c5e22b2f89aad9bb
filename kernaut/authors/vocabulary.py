"""What the grammar author writes with, by the kind of inputs a benchmark describes: blocks, contracts and how many blocks a new program has.

Anonymous points of the unit cube have the cube's vocabulary; a single time, enzyme experiments and glucose episodes have their own, recognized by the roles of their
coordinates.  The vocabularies of described inputs write closures: one feature map of several blocks plus library kernels, all of whose numbers are tuned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernaut.authors.blocks import BLOCKS, Block
from kernaut.authors.enzyme_blocks import ENZYME_BLOCKS, ENZYME_CONSTANTS, ENZYME_HELPERS
from kernaut.authors.glucose_blocks import GLUCOSE_BLOCKS, GLUCOSE_HELPERS
from kernaut.authors.series_blocks import SERIES_BLOCKS
from kernaut.episodes.coordinate import Coordinate


@dataclass(frozen=True)
class Vocabulary:
    """One way to write programs.

    Args:
        name: of the kind of inputs.
        blocks: by name, in calling order.
        contracts: by construction niche, the likeliest first.
        own: fewest blocks of the niche in a new program, and one more than the most.
        other: the same of blocks outside the niche.
        core: blocks that every new program starts with.
        trials: settings of each draft that are tried before gradient steps.
        drafts: drafts that a run tunes before it takes the best one further.
        first_steps: gradient steps of each draft.
        last_steps: further gradient steps of the best draft.
        domain: the domain-scale statement of formulations.
    """

    name: str
    blocks: Mapping[str, Block]
    contracts: Mapping[str, tuple[str, ...]]
    own: tuple[int, int] = (1, 4)
    other: tuple[int, int] = (0, 3)
    core: tuple[str, ...] = ()
    trials: int = 16
    drafts: int = 3
    first_steps: int = 20
    last_steps: int = 60
    domain: str = "Inputs in the unit cube; each block has about unit norm at weight 1 in any dimension."


CUBE = Vocabulary(
    "cube",
    BLOCKS,
    {
        "input_geometry": ("input_transform", "residual_input_transform"),
        "spectral_periodic": ("input_transform", "spectral", "residual_input_transform"),
        "feature_projection": ("input_transform", "residual_feature_map", "feature_map"),
        "additive_interaction": ("input_transform", "residual_feature_map", "additive_feature_map"),
        "multiresolution_local": ("input_transform", "residual_input_transform"),
        "residual_composite": ("residual_input_transform", "residual_feature_map"),
        "open_ended": ("input_transform", "residual_input_transform", "feature_map", "residual_feature_map"),
    },
)
"""Contracts by niche, the likeliest first.

Transforms lead: tuned on four of the five meta-training families and scored on the fifth, they lose less than residual feature maps of the same blocks.
"""

_CLOSURES = dict.fromkeys(CUBE.contracts, ("closure",))

SERIES = Vocabulary(
    "series",
    SERIES_BLOCKS,
    _CLOSURES,
    own=(1, 3),
    other=(0, 3),
    core=("level_trend",),
    trials=4,
    drafts=2,
    first_steps=5,
    last_steps=20,
    domain="Time on [0, 1], clamped to [-0.5, 1.5]; trends extrapolate, a year is 0.02 to 0.04 of the record.",
)
ENZYMES = Vocabulary(
    "enzymes",
    ENZYME_BLOCKS,
    _CLOSURES,
    own=(2, 6),
    other=(1, 5),
    core=("loaded_saturation", "baseline", "remainder"),
    trials=4,
    drafts=2,
    first_steps=15,
    last_steps=60,
    domain="Concentrations, loading, temperature and pH decoded from the unit cube, clamped to it; rates in units of the mean loading.",
)
GLUCOSE = Vocabulary(
    "glucose",
    GLUCOSE_BLOCKS,
    _CLOSURES,
    own=(1, 4),
    other=(1, 4),
    core=("meal_rise", "drift"),
    trials=4,
    drafts=2,
    first_steps=10,
    last_steps=40,
    domain="Times in parts of 360 minutes, amounts in parts of 60 g and 1.5 U, clamped to [0, 1.2].",
)

VOCABULARIES = {vocabulary.name: vocabulary for vocabulary in (CUBE, SERIES, ENZYMES, GLUCOSE)}
KNOWN_BLOCKS: dict[str, Block] = {
    name: block for vocabulary in VOCABULARIES.values() for name, block in vocabulary.blocks.items()
}
"""Every block of every vocabulary; names and short names are unique."""
HELPERS: dict[str, str] = {**ENZYME_HELPERS, **GLUCOSE_HELPERS}
"""Helper functions that blocks call, in the order in which they stand in a source."""
CONSTANTS: dict[str, str] = dict(ENZYME_CONSTANTS)
"""Sources of nested programs that several leaf nodes may name."""


def vocabulary_for(coordinates: Sequence[Coordinate]) -> Vocabulary:
    """The vocabulary for described inputs; the cube's where they are anonymous or of no known kind."""
    roles = [coordinate.role for coordinate in coordinates]
    if roles == ["time"]:
        return SERIES
    if "enzyme" in roles:
        return ENZYMES
    if "onset" in roles:
        return GLUCOSE
    return CUBE


def vocabulary_of(names: Sequence[str]) -> Vocabulary:
    """The vocabulary that blocks belong to; the cube's for none."""
    return next((v for v in VOCABULARIES.values() if names and all(name in v.blocks for name in names)), CUBE)
