"""Formulations: fourteen fields, all stated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernaut.errors import InputError
from kernaut.program.formulation import FEATURE_GROWTHS, FORMULATION_FIELDS, NICHES, Formulation, formulation_from_json

VALUES = {name: f"About {name}." for name in FORMULATION_FIELDS} | {
    "construction_niche": "spectral_periodic",
    "feature_growth": "quadratic",
}


def test_a_formulation_travels_through_json_in_published_order() -> None:
    formulation = formulation_from_json(VALUES)
    assert list(formulation.to_json()) == [
        "mathematical_form",
        "psd_argument",
        "novelty_claim",
        "closest_known_kernel",
        "expected_bo_behavior",
        "construction_niche",
        "equivalence_analysis",
        "optimized_parameters",
        "domain_scale_analysis",
        "irrelevant_coordinate_mechanism",
        "cross_coordinate_mechanism",
        "falsification_test",
        "feature_growth",
        "expected_conditioning",
    ]
    assert formulation_from_json(formulation.to_json()) == formulation
    assert formulation.mathematical_form == "About mathematical_form."


@pytest.mark.parametrize("name", FORMULATION_FIELDS)
@pytest.mark.parametrize("empty", ["", "  \n", None, 4])
def test_an_empty_field_is_refused_by_name(name: str, empty: object) -> None:
    with pytest.raises(InputError, match=f"the formulation's {name}"):
        formulation_from_json(VALUES | {name: empty})


def test_missing_and_unknown_fields_are_named() -> None:
    values = {name: value for name, value in VALUES.items() if name != "psd_argument"} | {"mood": "good"}
    with pytest.raises(InputError, match="Got none of: psd_argument; unknown: mood"):
        formulation_from_json(values)


@pytest.mark.parametrize(("name", "legal"), [("construction_niche", NICHES), ("feature_growth", FEATURE_GROWTHS)])
def test_niche_and_growth_come_from_their_lists(name: str, legal: tuple[str, ...]) -> None:
    good = Formulation(**VALUES)
    for value in legal:
        assert getattr(replace(good, **{name: value}), name) == value
    with pytest.raises(InputError, match=f"Expected {name} of {', '.join(legal)}. Got 'other'"):
        replace(good, **{name: "other"})
