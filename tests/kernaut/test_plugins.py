"""Extensions by entry point, and bundled files."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from kernaut import plugins
from kernaut.errors import InputError


def announce(monkeypatch: pytest.MonkeyPatch, *points: EntryPoint) -> None:
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point for point in points if point.group == group])


def test_extensions_are_listed_by_name_without_being_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    announce(
        monkeypatch,
        EntryPoint("late", "nowhere.at:all", "kernaut.tasks"),
        EntryPoint("early", "json:loads", "kernaut.tasks"),
        EntryPoint("other", "json:dumps", "kernaut.models"),
    )
    assert list(plugins.extensions("kernaut.tasks")) == ["early", "late"]
    assert plugins.load_extension("kernaut.tasks", "early")("[1]") == [1]


def test_two_packages_with_one_name_are_an_error_and_one_package_twice_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    same = EntryPoint("mine", "json:loads", "kernaut.tasks")
    announce(monkeypatch, same, same)
    assert list(plugins.extensions("kernaut.tasks")) == ["mine"]
    announce(monkeypatch, same, EntryPoint("mine", "json:dumps", "kernaut.tasks"))
    with pytest.raises(InputError, match=r"one kernaut.tasks extension called 'mine'. Got json:dumps and json:loads"):
        plugins.extensions("kernaut.tasks")


def test_unknown_groups_and_names_list_the_legal_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    announce(monkeypatch, EntryPoint("mine", "json:loads", "kernaut.tasks"))
    with pytest.raises(InputError, match=r"kernaut.tasks, kernaut.models, kernaut.baselines"):
        plugins.extensions("kernaut.task")
    with pytest.raises(InputError, match=r"extension of mine. Got 'yours'"):
        plugins.load_extension("kernaut.tasks", "yours")
    with pytest.raises(InputError, match=r"extension of \(none installed\)"):
        plugins.load_extension("kernaut.models", "yours")


def test_bundled_files_are_found_in_a_wheel_before_the_checkout(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "site" / "kernaut"
    (package / "_bundled" / "data").mkdir(parents=True)
    (tmp_path / "site" / "data").mkdir()
    (tmp_path / "site" / "examples").mkdir()
    (package / "plugins.py").touch()
    monkeypatch.setattr(plugins, "__file__", str(package / "plugins.py"))
    assert plugins.bundled("data") == package / "_bundled" / "data"
    assert plugins.bundled("examples") == tmp_path / "site" / "examples"
    with pytest.raises(InputError, match=r"Expected a bundled file notebooks/none.ipynb"):
        plugins.bundled("notebooks", "none.ipynb")


def test_bundled_files_are_found_in_this_checkout() -> None:
    assert plugins.bundled("examples").is_dir()
