from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernaut.program.program import KernelProgram
from kernaut.program.templates import template
from widgets.episode_explorer import EpisodeExplorer

Make = Callable[[int], tuple[str, list[str]]]


@pytest.fixture(scope="module")
def explorer() -> Iterator[EpisodeExplorer]:
    made = EpisodeExplorer([template("input_transform")])
    yield made
    made.close()


@pytest.fixture(autouse=True)
def reset(explorer: EpisodeExplorer) -> None:
    explorer.benchmark, explorer.split, explorer.view = "bbo", "train", "posterior"
    explorer.kernels = ["my_input_transform", "matern52-lengthscale-0.5"]
    explorer.episode, explorer.coordinate, explorer.through = 0, 0, 0


def test_programs_stand_side_by_side(explorer: EpisodeExplorer) -> None:
    assert explorer.message == ""
    assert [fit.name for fit in explorer.fits] == ["my_input_transform", "matern52-lengthscale-0.5"]
    assert explorer.scores is not None and len(explorer.scores.rows) == 2
    assert "Posterior mean" in explorer.picture.value


def test_the_line_follows_its_sliders(explorer: EpisodeExplorer) -> None:
    before = explorer.picture.value
    explorer.pick_through.value = 7
    moved = explorer.picture.value
    explorer.pick_coordinate.value = 1
    assert len({before, moved, explorer.picture.value}) == 3


@pytest.mark.parametrize("view", ["residuals", "likelihood", "parts", "regret"])
def test_every_view_has_a_picture(explorer: EpisodeExplorer, view: str) -> None:
    explorer.pick_view.value = view
    assert explorer.message == "" and explorer.drawings


def test_families_follow_the_split_and_held_out_splits_are_marked(explorer: EpisodeExplorer) -> None:
    explorer.pick_split.value = "test"
    assert explorer.family in explorer.pick_family.options
    assert explorer.fits and "no longer judged" in explorer.warning.value
    explorer.pick_split.value = "train"
    assert explorer.warning.value == ""


def test_a_kernel_that_fails_leaves_the_others(explorer: EpisodeExplorer) -> None:
    source = "import torch\n\n\ndef transform_point(x, parameters):\n    return x / 0.0\n"
    broken = EpisodeExplorer(
        [KernelProgram("broken", "input_transform", source, {})], kernels=["broken", "rbf-lengthscale-0.5"]
    )
    assert [fit.name for fit in broken.fits] == ["rbf-lengthscale-0.5"]
    assert broken.message.startswith("1 of 2 kernels gave no fit. broken:")
    broken.close()


def test_candidates_of_an_archive_can_be_chosen(make_archive: Make) -> None:
    path, ids = make_archive(2)
    explorer = EpisodeExplorer(archive=path)
    assert any(ids[0] in name for name in explorer.pick_kernels.options)
    explorer.kernels = [name for name in explorer.subjects if ids[1] in name]
    assert explorer.message == "" and explorer.fits
    Path(path).unlink()
    explorer.split = "validation"
    assert explorer.message != ""
    explorer.close()
