from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kernaut.archive.store import Archive
from kernaut.program.program import KernelProgram
from kernaut.program.templates import template
from tests.widgets.conftest import held
from widgets.episode_explorer import EpisodeExplorer

Make = Callable[[int], tuple[str, list[str]]]


def looks(path: str) -> dict[str, int]:
    with Archive.open(path, read_only=True) as archive:
        return archive.looks("bbo")


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
    explorer.pick_coordinate.value = 2
    assert explorer.coordinate == 1 and "input 2" in explorer.picture.value
    assert len({before, moved, explorer.picture.value}) == 3


def test_a_slider_step_replaces_the_picture_once(explorer: EpisodeExplorer) -> None:
    shown: list[str] = []
    explorer.picture.observe(lambda change: shown.append(change["new"]), names="value")
    explorer.pick_through.value = 5
    explorer.picture.unobserve_all("value")
    assert len(shown) == 1 and "Posterior mean" in shown[0]


def test_a_family_of_fewer_inputs_is_fitted_once(explorer: EpisodeExplorer) -> None:
    explorer.family = "levy"
    explorer.pick_coordinate.value = explorer.pick_coordinate.max
    explorer.family = "branin"
    assert explorer.coordinate == explorer.pick_coordinate.max - 1 < 4
    assert [fit.name for fit in explorer.fits] == explorer.kernels


@pytest.mark.parametrize("view", ["residuals", "likelihood", "parts", "regret"])
def test_every_view_has_a_picture(explorer: EpisodeExplorer, view: str) -> None:
    explorer.pick_view.value = view
    assert explorer.message == "" and explorer.drawings


def test_families_follow_the_split_and_held_out_splits_are_marked(explorer: EpisodeExplorer) -> None:
    explorer.pick_split.value = "test"
    assert explorer.family in explorer.pick_family.options
    assert explorer.fits and "no longer judged" in explorer.warning.value
    assert "counted nowhere" in explorer.warning.value and "counted nowhere" in repr(explorer.static())
    explorer.pick_split.value = "train"
    assert explorer.warning.value == ""


def test_a_look_at_held_out_outcomes_is_counted_once_for_each_opening(make_archive: Make) -> None:
    path, _ = make_archive(1)
    explorer = EpisodeExplorer(archive=path)
    assert looks(path) == {"validation": 0, "test": 0}
    explorer.pick_split.value = "test"
    explorer.pick_episode.value = 1
    assert explorer.fits and looks(path) == {"validation": 0, "test": 1}
    assert "opening 1 of test of bbo" in explorer.warning.value
    explorer.pick_split.value = "validation"
    explorer.pick_split.value = "test"
    assert looks(path) == {"validation": 1, "test": 2}
    explorer.pick_split.value = "train"
    with held(path):
        explorer.pick_split.value = "test"
        assert "locked by another process" in explorer.message and not explorer.fits and explorer.picture.value == ""
        explorer.pick_episode.value = 0
        assert "locked by another process" in explorer.message and not explorer.fits
    assert looks(path)["test"] == 2
    explorer.close()


def test_a_held_out_split_from_the_first_is_counted_too(make_archive: Make) -> None:
    path, _ = make_archive(1)
    EpisodeExplorer(archive=path, split="validation").close()
    assert looks(path) == {"validation": 1, "test": 0}


def test_options_make_the_benchmark_and_go_with_it(tmp_path: Path) -> None:
    explorer = EpisodeExplorer(benchmark="enzymes", options={"train_points": 7})
    assert explorer.message == "" and len(explorer.fits[0].found.episode.fit_targets) == 7
    explorer.type_options.value = '{"train_points": 9}'
    assert len(explorer.fits[0].found.episode.fit_targets) == 9
    explorer.type_options.value = '{"chembench_root": "/nowhere"}'
    assert "/nowhere" in explorer.message and explorer.picture.value == ""
    explorer.type_options.value = '{"horizon": 3}'
    assert "options that benchmark enzymes takes" in explorer.message
    explorer.type_options.value = "[1]"
    assert "JSON object" in explorer.message
    explorer.pick_benchmark.value = "bbo"
    assert explorer.message == "" and explorer.options == {} and explorer.type_options.value == ""
    explorer.close()


def test_a_syntax_error_a_hanging_program_and_no_covariance_leave_the_others() -> None:
    sources = {
        "broken": ("input_transform", "def transform_point(x, parameters:\n"),
        "hangs": (
            "input_transform",
            "import torch\n\n\ndef transform_point(x, parameters):\n    while True:\n        pass\n",
        ),
        "no_psd": (
            "unverified",
            "import torch\n\n\ndef kernel_matrix(x, parameters):\n    return 0.0 * (x @ x.mT) - 1.0\n",
        ),
    }
    programs = [KernelProgram(name, contract, source, {}) for name, (contract, source) in sources.items()]
    explorer = EpisodeExplorer(programs, kernels=[*sources, "rbf-lengthscale-0.5"])
    assert [fit.name for fit in explorer.fits] == ["rbf-lengthscale-0.5"] and not explorer.busy
    assert explorer.message.startswith("3 of 4 kernels gave no fit.")
    assert all(f"{name}:" in explorer.message for name in sources) and "no answer within" in explorer.message
    explorer.close()


def test_an_empty_and_a_locked_archive(empty: str, make_archive: Make) -> None:
    explorer = EpisodeExplorer(archive=empty)
    assert explorer.message == "" and explorer.fits
    path, ids = make_archive(1)
    with held(path):
        explorer.archive = path
        assert "locked by another process" in explorer.message
    explorer.archive = ""
    explorer.archive = path
    assert explorer.message == "" and any(ids[0] in name for name in explorer.pick_kernels.options)
    explorer.close()


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
