"""A finished report and a public task set on a board; no service runs here but in one test of its absence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kernaut.sealed.manifest import FOLDER_NAME, INDEX_NAME, SPLITS, PublicTask
from tests.kernaut.report.test_sealed_charts import REPORT
from tests.kernaut.report.test_sealed_view import FULL
from widgets.sealed_board import SealedBoard


@pytest.fixture
def task_set(tmp_path: Path) -> Path:
    """Three public tasks of two families, one a split."""
    folder = tmp_path / "public"
    (folder / FOLDER_NAME).mkdir(parents=True)
    splits: dict[str, list[str]] = {}
    for number, split in enumerate(SPLITS):
        family, horizon = ("haar", 10) if number < 2 else ("loss", 5)
        output = {"kind": "box", "shape": [3 + number], "lower": -1.0, "upper": 1.0}
        task = PublicTask(
            f"v41-{family}-{number:04d}",
            family,
            {"x": np.arange(2.0)},
            {"output": output},
            "maximize",
            horizon,
            30.0,
            number,
        )
        (folder / FOLDER_NAME / f"{task.task_id}.json").write_text(task.text, encoding="utf-8")
        splits[split] = [task.task_id]
    (folder / INDEX_NAME).write_text(json.dumps({"version": "v41", "splits": splits, "provenance": {}}))
    return folder


@pytest.fixture
def board(tmp_path: Path, task_set: Path) -> Iterator[SealedBoard]:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(FULL))
    made = SealedBoard(str(path), manifest=str(task_set))
    yield made
    made.close()


def test_policies_by_both_means(board: SealedBoard) -> None:
    assert board.message == "" and not board.busy
    assert "ceiling macro 0.030, micro 0.020" in board.picture.value
    assert "-0.080 to 0.220" in board.table.value and "timeout" in board.ended.value
    board.pick_measure.value = "clipped"
    assert board.measure == "clipped" and "Mean clipped regret" in board.picture.value


def test_regret_against_the_budget_of_chosen_policies_and_places(board: SealedBoard) -> None:
    assert board.pick_place.options == ("macro", "micro", "haar", "loss")
    before = board.curve.value
    board.pick_place.value = "loss"
    assert (
        board.place == "loss"
        and board.curve.value != before
        and 'alt="loss: raw regret against queries' in board.curve.value
    )
    board.pick_policies.value = ("random",)
    assert board.policies == ["random"] and "ceiling" not in board.curve.value
    board.policies = []
    assert "ceiling" in board.curve.value


def test_another_report_has_other_families_and_policies(board: SealedBoard, tmp_path: Path) -> None:
    board.pick_place.value, board.pick_policies.value = "loss", ("random",)
    other = json.loads(json.dumps(FULL).replace('"loss"', '"fit"').replace('"random"', '"chance"'))
    (tmp_path / "other.json").write_text(json.dumps(other))
    board.type_report.value = str(tmp_path / "other.json")
    assert board.message == "" and board.place == "macro" == board.pick_place.value and board.policies == []
    assert "All families" in board.curve.value


def test_tasks_and_budgets(board: SealedBoard) -> None:
    assert (
        "queries an episode" in board.families.value
        and ">10<" in board.families.value
        and ">5<" in board.families.value
    )
    assert "3 of 3 tasks" in board.listing.value
    board.pick_split.value = "test"
    assert "1 of 1 tasks" in board.listing.value and "v41-loss-0002" in board.listing.value
    board.pick_split.value = "all"
    board.pick_family.value = "haar"
    assert "2 of 2 tasks" in board.listing.value and "v41-loss-0002" not in board.listing.value


def test_what_is_missing_broken_or_silent_is_a_message(board: SealedBoard, tmp_path: Path) -> None:
    board.type_report.value = str(tmp_path / "nothing.json")
    assert "nothing.json" in board.message and board.picture.value == "" and board.found is None
    (tmp_path / "other.json").write_text('{"runs": []}')
    board.type_report.value = str(tmp_path / "other.json")
    assert "Got none" in board.message
    board.type_report.value = str(tmp_path / "report.json")
    assert board.message == "" and board.picture.value
    board.type_manifest.value = str(tmp_path / "nowhere")
    assert "nowhere" in board.message and board.listing.value == ""
    (tmp_path / "report.json").unlink()
    board.type_manifest.value = ""
    board.again.click()
    assert "report.json" in board.message
    silent = SealedBoard(service="http://127.0.0.1:9")
    assert silent.message and silent.found is None and not silent.busy
    silent.close()


def test_a_given_mapping_an_older_report_and_nothing_at_all() -> None:
    board = SealedBoard(REPORT)
    assert "earlier version" in board.message and board.picture.value
    board.place = "haar"
    assert board.message == "" and board.curve.value
    board.close()
    nothing = SealedBoard()
    assert nothing.message == "" and "Name a report" in nothing.picture.value
    nothing.close()


def test_the_static_form_has_every_place_and_the_tasks(board: SealedBoard) -> None:
    page = board.static()
    text = repr(page)
    assert "All families, equal weight a family" in text and "haar: raw regret" in text and "loss: raw regret" in text
    assert "How episodes ended" in text and "v41-haar-0000" in text
    assert page.html().count("data:image/png") == 5
