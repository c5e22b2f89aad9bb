"""The formulation an author states before any source: fourteen published fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from kernaut.errors import InputError

NICHES = (
    "input_geometry",
    "spectral_periodic",
    "feature_projection",
    "additive_interaction",
    "multiresolution_local",
    "residual_composite",
    "open_ended",
)
FEATURE_GROWTHS = ("constant", "linear", "quadratic", "exponential", "unknown")


@dataclass(frozen=True)
class Formulation:
    """What the kernel is, why it is valid, what is new in it and how it could be shown wrong.

    Raises:
        InputError: for an empty field, an unknown niche or an unknown feature growth.
    """

    mathematical_form: str
    psd_argument: str
    novelty_claim: str
    closest_known_kernel: str
    expected_bo_behavior: str
    construction_niche: str
    equivalence_analysis: str
    optimized_parameters: str
    domain_scale_analysis: str
    irrelevant_coordinate_mechanism: str
    cross_coordinate_mechanism: str
    falsification_test: str
    feature_growth: str
    expected_conditioning: str

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, str) or not value.strip():
                raise InputError(f"Expected a sentence for the formulation's {field.name}. Got {value!r}.")
        if self.construction_niche not in NICHES:
            raise InputError(f"Expected construction_niche of {', '.join(NICHES)}. Got {self.construction_niche!r}.")
        if self.feature_growth not in FEATURE_GROWTHS:
            raise InputError(f"Expected feature_growth of {', '.join(FEATURE_GROWTHS)}. Got {self.feature_growth!r}.")

    def to_json(self) -> dict[str, str]:
        """The fourteen fields, in published order."""
        return asdict(self)


FORMULATION_FIELDS: tuple[str, ...] = tuple(field.name for field in fields(Formulation))


def formulation_from_json(values: Mapping[str, Any]) -> Formulation:
    """Read a formulation, naming what is missing and what is unknown.

    Raises:
        InputError: when a field is missing, unknown, empty or out of its list.
    """
    missing = [name for name in FORMULATION_FIELDS if name not in values]
    unknown = sorted(set(values) - set(FORMULATION_FIELDS))
    if missing or unknown:
        raise InputError(
            f"Expected the formulation fields {', '.join(FORMULATION_FIELDS)}. "
            f"Got none of: {', '.join(missing) or '-'}; unknown: {', '.join(unknown) or '-'}."
        )
    return Formulation(**values)
