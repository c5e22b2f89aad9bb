from __future__ import annotations

import fcntl
import json
from pathlib import Path

import pytest

from kernaut.errors import InputError
from kernaut.runs.index import find_runs, finished_run, notebook_digest, read_run


def made_run(root: Path, stamp: str, parameters: dict[str, object], **record: object) -> Path:
    folder = root / "tiny" / stamp
    folder.mkdir(parents=True)
    (folder / "parameters.json").write_text(json.dumps(parameters))
    if record:
        (folder / "run.json").write_text(json.dumps({"notebook": "tiny", **record}))
    return folder


def test_the_latest_finished_run_of_equal_text_and_parameters_is_found(tmp_path: Path) -> None:
    notebook = tmp_path / "tiny.ipynb"
    notebook.write_text("one")
    digest = notebook_digest(notebook)
    root = tmp_path / "runs"
    for stamp, seed, state in (("1", 0, "done"), ("2", 0, "done"), ("3", 0, "cell failed"), ("4", 1, "done")):
        folder = made_run(root, stamp, {"seed": seed}, state=state, notebook_digest=digest, seconds=2.5)
        (folder / "report.json").write_text(json.dumps({"stamp": stamp}))
    (root / "tiny" / "latest").symlink_to("4")
    found = finished_run(root, notebook, {"seed": 0})
    assert found is not None and found.report() == {"stamp": "2"} and found.seconds == 2.5
    assert finished_run(root, notebook, {"seed": 2}) is None
    assert [run.directory.name for run in find_runs(root)] == ["1", "2", "3", "4"]
    (root / "tiny" / "2" / "report.json").unlink()
    again = finished_run(root, notebook, {"seed": 0})
    assert again is not None and again.directory.name == "1"
    notebook.write_text("two")
    assert finished_run(root, notebook, {"seed": 0}) is None


@pytest.mark.parametrize("anew", [False, True])
def test_a_notebook_that_reads_what_changes_is_run_anew(anew: bool, tmp_path: Path) -> None:
    notebook = tmp_path / "tiny.ipynb"
    notebook.write_text(json.dumps({"cells": [], "metadata": {"kernaut": {"anew": anew}}}))
    folder = made_run(tmp_path / "runs", "1", {}, state="done", notebook_digest=notebook_digest(notebook))
    (folder / "report.json").write_text("{}")
    assert (finished_run(tmp_path / "runs", notebook, {}) is None) == anew


def test_a_run_without_an_end_is_running_and_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    folder = made_run(tmp_path, "1", {"a": None})
    assert read_run(folder).state == "running"
    (folder / "request.json").write_text("{}")
    with (folder / "request.json").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert read_run(folder).state == "running"
    assert read_run(folder).state == "broken off"  # whoever held it was killed
    with pytest.raises(InputError, match="folder of a run"):
        read_run(tmp_path)
    assert find_runs(tmp_path / "nowhere") == []
