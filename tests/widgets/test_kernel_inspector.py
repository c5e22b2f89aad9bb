"""Traits are set that a browser would set, and the picture, the verdict and the messages are looked at."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernaut.archive.store import Archive
from kernaut.program.program import save_candidate
from kernaut.program.templates import template
from tests.widgets.conftest import delete_program, held
from widgets.kernel_inspector import PAUSE, KernelInspector

Make = Callable[[int], tuple[str, list[str]]]
HANGS = "import torch\n\n\ndef transform_point(x, parameters):\n    while True:\n        pass\n"
NOT_PSD = "import torch\n\n\ndef kernel_matrix(x, parameters):\n    return 0.0 * (x @ x.mT) - 1.0\n"


@pytest.fixture
def inspector() -> Iterator[KernelInspector]:
    made = KernelInspector()
    yield made
    made.close()


def test_it_opens_on_a_library_kernel(inspector: KernelInspector) -> None:
    assert inspector.message == "" and not inspector.busy
    assert inspector.drawn is not None and "functions from the prior" in inspector.drawn.alt
    assert 'alt="4 functions' in inspector.picture.value
    assert [slider.description for slider in inspector.sliders.children] == ["variance", "lengthscale"]


def test_a_slider_changes_the_picture_and_the_values(inspector: KernelInspector) -> None:
    before = inspector.picture.value
    inspector.sliders.children[1].value = 0.05
    assert inspector.values == {"lengthscale": pytest.approx(0.05)}
    assert inspector.picture.value != before
    inspector.choice = "rbf-lengthscale-0.5"
    assert inspector.values == {}


@pytest.mark.parametrize("view", ["functions of two inputs", "Gram matrix", "along each input", "nearest references"])
def test_views_are_chosen_by_the_control(inspector: KernelInspector, view: str) -> None:
    inspector.pick_view.value = view
    assert inspector.view == view
    assert inspector.message == "" and inspector.drawn is not None


def test_a_view_that_does_not_apply_says_why(inspector: KernelInspector) -> None:
    inspector.choice = "linear"
    inspector.view = "spectrum"
    assert "stationary" in inspector.message and inspector.drawn is None
    inspector.dimension, inspector.view = 1, "functions of two inputs"
    assert "2 input dimensions" in inspector.message
    inspector.dimension = 2
    assert inspector.message == ""


def test_typing_starts_from_the_template_and_is_judged(inspector: KernelInspector) -> None:
    inspector.pick_origin.value = "typed"
    assert inspector.source == template("input_transform").source
    assert inspector.tier == "T2" and "Tier T2" in inspector.verdict.value
    inspector.pick_contract.value = "spectral"
    assert inspector.type_source.value == template("spectral").source
    assert inspector.tier == "T2"
    (slider,) = inspector.sliders.children
    assert slider.description == "frequency"


def test_a_syntax_error_is_a_message(inspector: KernelInspector) -> None:
    inspector.origin = "typed"
    inspector.type_source.value = "def transform_point(x, parameters:\n"
    assert "syntax error at line 1" in inspector.message
    assert inspector.drawn is None and inspector.tier == ""
    inspector.type_source.value = template("input_transform").source
    assert inspector.message == "" and inspector.drawn is not None


def test_what_a_front_end_rounds_is_not_taken_for_a_move(inspector: KernelInspector) -> None:
    inspector.origin = "typed"
    inspector.contract = "unverified"
    (slider,) = inspector.sliders.children
    place = (math.log10(slider.value) - slider.min) / slider.step
    assert slider.value == 0.3 and place == pytest.approx(round(place))
    slider.value = 0.3 * 10 ** (0.4 * slider.step)
    assert inspector.values == {} and "diagnostics only" in inspector.message
    slider.value = 0.3 * 10**slider.step
    assert inspector.values == {"scale": slider.value}


def test_what_was_typed_last_is_not_run_after_the_end(inspector: KernelInspector) -> None:
    async def type_and_close() -> None:
        inspector.origin = "typed"
        inspector.type_source.value = template("input_transform").source + "\n"
        inspector.close()
        await asyncio.sleep(PAUSE + 0.2)

    asyncio.run(type_and_close())
    assert inspector._kernel is None


def test_wrong_parameters_are_a_message(inspector: KernelInspector) -> None:
    inspector.origin = "typed"
    inspector.type_parameters.value = '{"bend": '
    assert "JSON" in inspector.message
    inspector.type_parameters.value = "[1]"
    assert "JSON object" in inspector.message


def test_a_program_that_hangs_is_ended_and_is_a_message(inspector: KernelInspector) -> None:
    inspector.origin = "typed"
    inspector.type_source.value = HANGS
    assert "timed out" in inspector.message
    assert inspector.tier == "none" and inspector.drawn is None and not inspector.busy


def test_a_matrix_that_is_no_covariance_is_a_message(inspector: KernelInspector) -> None:
    inspector.origin = "typed"
    inspector.contract = "unverified"
    assert inspector.tier == "T1" and "diagnostics only" in inspector.message
    inspector.type_source.value = NOT_PSD
    assert inspector.tier == "T0"
    assert "no function has these covariances" in inspector.message
    inspector.view = "Gram matrix"
    assert inspector.drawn is not None and "NOT positive semidefinite" in inspector.drawn.alt


def test_programs_of_an_archive_and_of_a_file(inspector: KernelInspector, make_archive: Make, tmp_path: Path) -> None:
    inspector.archive, ids = make_archive(2)
    inspector.origin = "archive"
    assert inspector.message == "" and inspector.choice in ids and inspector.tier == "T2"
    inspector.pick_choice.value = next(key for key in ids if key != inspector.choice)
    assert inspector.subject is not None and inspector.subject.candidate_id == inspector.choice
    save_candidate(template("closure"), tmp_path / "a.json")
    inspector.pick_origin.value = "file"
    assert "Got none" in inspector.message
    inspector.type_file.value = str(tmp_path / "a.json")
    assert inspector.tier == "T2" and inspector.drawn is not None
    inspector.type_file.value = str(tmp_path / "nothing.json")
    assert "readable candidate file" in inspector.message


def test_an_empty_archive_and_a_missing_program_are_messages(inspector: KernelInspector, empty: str) -> None:
    inspector.archive = empty
    inspector.origin = "archive"
    assert inspector.message != "" and inspector.drawn is None
    inspector.choice = "0123456789abcdef"
    assert "0123456789abcdef" in inspector.message
    with Archive.open(empty, read_only=True) as archive:
        assert archive.programs() == ()


def test_an_archive_that_is_locked_and_a_program_deleted_meanwhile_are_messages(
    inspector: KernelInspector, make_archive: Make
) -> None:
    path, ids = make_archive(2)
    with held(path):
        inspector.archive, inspector.origin = path, "archive"
        assert "locked by another process" in inspector.message and inspector.drawn is None
    inspector.archive = ""
    inspector.archive = path
    assert inspector.message == "" and inspector.drawn is not None
    gone = next(key for key in ids if key != inspector.choice)
    delete_program(path, gone)
    inspector.pick_choice.value = gone
    assert gone in inspector.message and inspector.drawn is None and not inspector.busy


def test_the_static_form_holds_picture_source_and_evidence() -> None:
    given = template("feature_map")
    inspector = KernelInspector(given)
    assert inspector.subject is not None and inspector.subject.candidate_id == given.id
    inspector.type_source.value += "\n"
    assert inspector.subject.name == "typed"
    inspector.type_source.value = given.source
    text = repr(inspector.static())
    assert "def feature_point" in text and "positive_semidefinite" in text and "functions from the prior" in text
    assert "data:image/png" in inspector.static().html()
    inspector.close()
