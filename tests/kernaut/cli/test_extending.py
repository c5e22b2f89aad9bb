from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from kernaut import plugins
from kernaut.cli.extending import GroupName
from tests.kernaut.cli.conftest import Run


def announce(monkeypatch: pytest.MonkeyPatch, *points: EntryPoint) -> None:
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point for point in points if point.group == group])


def test_extensions_are_listed_and_not_imported(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    announce(
        monkeypatch, EntryPoint("late", "nowhere.at:all", "kernaut.tasks"), EntryPoint("m", "no:M", "kernaut.models")
    )
    rows = json.loads(run("extensions").stdout)["extensions"]
    assert [(row["group"], row["name"], row["object"]) for row in rows] == [
        ("kernaut.tasks", "late", "nowhere.at:all"),
        ("kernaut.models", "m", "no:M"),
    ]
    assert len(json.loads(run("extensions", "--group", "kernaut.models").stdout)["extensions"]) == 1
    assert {item.value for item in GroupName} == set(plugins.GROUPS)


def test_a_clash_of_names_is_an_error(refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    announce(monkeypatch, EntryPoint("m", "a:M", "kernaut.models"), EntryPoint("m", "b:M", "kernaut.models"))
    assert "one kernaut.models extension called 'm'" in refused("extensions")
    announce(monkeypatch, EntryPoint("bbo", "a:B", "kernaut.tasks"))
    assert "a benchmark of Kernaut, from a:B" in refused("extensions")
    assert "a benchmark of Kernaut, from a:B" in refused("task-run", "--task", "bbo")
    assert "kernaut.tasks" in refused("extensions", "--group", "kernaut.task")


def test_what_task_run_refuses(refused: Callable[..., str], tmp_path: Path) -> None:
    words = ("task-run", "--archive", tmp_path / "a.sqlite")
    assert "a task of bbo" in refused(*words, "--task", "waves")
    assert "--task" in refused(*words)
    assert "JSON object" in refused(*words, "--task", "bbo", "--options", "[1]")
    assert "readable file of task options" in refused(*words, "--task", "bbo", "--options", tmp_path / "none.json")
    assert "Expected options that benchmark bbo takes" in refused(*words, "--task", "bbo", "--options", '{"a": 1}')
    assert "kernaut.baselines extension of" in refused(*words, "--task", "bbo", "--baseline", "linear")
    assert "each --baseline once" in refused(*words, "--task", "bbo", "--baseline", "a", "--baseline", "a")
    assert not (tmp_path / "a.sqlite").exists()


def test_a_workspace_is_laid_out_once(run: Run, refused: Callable[..., str], tmp_path: Path) -> None:
    folder = tmp_path / "new" / "space"
    assert run("init", folder).exit_code == 0
    assert (folder / "notebooks" / "discover.ipynb").is_file()
    assert (folder / "configs" / "openai.toml").is_file()
    assert (folder / "examples" / "extension" / "kernaut_waves" / "task.py").is_file()
    assert not list(folder.rglob("__pycache__"))
    assert "none of the workspace's files" in refused("init", folder)
    assert "Got a file" in refused("init", folder / "examples" / "data.json")
