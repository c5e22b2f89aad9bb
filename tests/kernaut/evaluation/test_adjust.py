from __future__ import annotations

import pytest

from kernaut.errors import InputError
from kernaut.evaluation.adjust import knobs, turned
from kernaut.evaluation.subject import program_subject, reference_subject
from kernaut.program.templates import template


def test_the_knobs_of_a_program_are_its_declared_ranges() -> None:
    subject = program_subject(template("input_transform"))
    ((spec, value),) = knobs(subject)
    assert (spec.name, value, spec.lower, spec.upper) == ("bend", 2.0, 0.1, 6.0)
    other = turned(subject, {"bend": 3.5})
    assert other.content.parameters["bend"] == 3.5  # type: ignore[union-attr]
    assert turned(subject, {}) is subject
    with pytest.raises(InputError, match="range"):
        turned(subject, {"bend": 60.0})


def test_the_knobs_of_a_library_kernel_surround_its_values() -> None:
    subject = reference_subject({"kind": "periodic", "lengthscale": 0.5, "period": 0.25}, "p")
    found = {spec.name: (spec.lower, value, spec.upper) for spec, value in knobs(subject)}
    assert found == {
        "variance": (0.1, 1.0, 10.0),
        "lengthscale": (0.05, 0.5, 5.0),
        "period": (0.025, 0.25, 2.5),
    }
    kernel = turned(subject, {"period": 0.75}).kernel()
    assert dict(zip(kernel.parameter_names, kernel.values.tolist(), strict=True))["period"] == 0.75
    with pytest.raises(InputError, match="nonsense"):
        turned(subject, {"nonsense": 1.0})


def test_ard_lengthscales_given_as_a_number_can_be_turned_and_lists_cannot() -> None:
    assert "lengthscales" in {
        s.name for s, _ in knobs(reference_subject({"kind": "ard_rbf", "lengthscales": 0.25}, "a"))
    }
    ramp = {"kind": "ard_rbf", "lengthscales": {"mode": "geometric_ramp", "min": 0.25, "max": 4.0}}
    assert {s.name for s, _ in knobs(reference_subject(ramp, "a"))} == {"variance"}
