from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from kernaut.errors import InputError
from kernaut.kernels.interpreter import interpret
from kernaut.kernels.library import leaf
from kernaut.program.program import KernelProgram
from kernaut.program.templates import template
from kernaut.report.kernel_pictures import VIEWS, Look, view_picture

INDEFINITE = KernelProgram(
    "minus", "unverified", "def kernel_matrix(x, parameters):\n    return -(x @ x.T)\n".replace("x @ x.T", "0 * x.sum() - 1 + 0 * x[:, :1] @ x[:, :1].T + 2"), {}
)  # fmt: skip


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_every_view_is_an_svg_with_words_and_repeats_itself(view: str) -> None:
    kernel = leaf("matern52", lengthscale=0.3)
    first, again = (view_picture(view, kernel, Look(2)) for _ in range(2))
    assert first.svg == again.svg
    assert len(first.alt) > 40
    root = ET.fromstring(first.svg)
    assert root.attrib["aria-label"] == first.alt


@pytest.mark.parametrize("contract", ["state_space", "coregionalized"])
def test_systems_and_tasks_have_every_picture(contract: str) -> None:
    kernel = interpret(template(contract))
    for view in VIEWS:
        if contract == "coregionalized" and view == "spectrum":
            with pytest.raises(InputError, match="stationary kernel"):
                view_picture(view, kernel, Look(2))
        else:
            assert len(view_picture(view, kernel, Look(2)).alt) > 40
    assert len(view_picture("functions it expects", kernel, Look(1)).alt) > 40
    kernel.close()


def test_another_lengthscale_is_another_picture_with_the_same_noise() -> None:
    rough = view_picture("functions it expects", leaf("rbf", lengthscale=0.05), Look(1))
    smooth = view_picture("functions it expects", leaf("rbf", lengthscale=0.8), Look(1))
    assert float(rough.alt.split("turn ")[1].split()[0]) > float(smooth.alt.split("turn ")[1].split()[0]) + 3
    assert rough.svg != view_picture("functions it expects", leaf("rbf", lengthscale=0.05), Look(1, seed=1)).svg


def test_a_matrix_that_is_no_covariance_has_no_functions_and_says_so_in_its_gram_picture() -> None:
    kernel = interpret(INDEFINITE)
    with pytest.raises(InputError, match="eigenvalue -"):
        view_picture("functions it expects", kernel, Look(2))
    assert "NOT positive semidefinite" in view_picture("Gram matrix", kernel, Look(2)).alt
    kernel.close()


def test_an_input_that_does_not_matter_is_named() -> None:
    picture = view_picture("along each input", leaf("ard_rbf", lengthscales=[0.3, 1e9]), Look(2))
    assert "does not change along input 2." in picture.alt


@pytest.mark.parametrize("options", [{"dimension": 0}, {"dimension": 9}, {"anchor": 1.5}, {"draws": 0}])
def test_a_look_from_nowhere_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError):
        Look(**options)  # type: ignore[arg-type]


def test_an_unknown_view_names_the_known_ones() -> None:
    with pytest.raises(InputError, match="Gram matrix"):
        view_picture("nothing", leaf("rbf"), Look())
