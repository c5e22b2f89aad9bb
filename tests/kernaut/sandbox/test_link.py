"""How a client finds, starts and tidies up after templates."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest

from kernaut.sandbox import link
from kernaut.sandbox.link import ABANDONED_SECONDS, VARIABLE, OwnedTemplate


def left_behind(directory: Path, *, age: float, alive: bool) -> socket.socket:
    """A template's directory with a control socket that somebody listens on, or nobody any more."""
    directory.mkdir()
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    control.bind(str(directory / "control"))
    if alive:
        control.listen(1)
    then = time.time() - age
    os.utime(directory / "control", (then, then))
    return control


def test_only_old_directories_that_nobody_answers_in_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernaut.sandbox.link.tempfile.gettempdir", lambda: str(tmp_path))
    old, new = ABANDONED_SECONDS + 10, ABANDONED_SECONDS - 10
    cases = {"dead": (old, False), "alive": (old, True), "young": (new, False)}
    controls = {
        name: left_behind(tmp_path / f"kernaut-sandbox-{name}", age=age, alive=alive)
        for name, (age, alive) in cases.items()
    }
    controls["dead"].close()
    controls["young"].close()
    (tmp_path / "kernaut-sandbox-starting").mkdir()
    (tmp_path / "kernaut-other").mkdir()
    link.remove_abandoned()
    controls["alive"].close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "kernaut-other",
        "kernaut-sandbox-alive",
        "kernaut-sandbox-starting",
        "kernaut-sandbox-young",
    ]


def test_a_published_template_that_answers_is_used(template: OwnedTemplate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, template.path)
    before = link.owned_template()
    link.ensure_template()
    assert link.owned_template() is before
    assert os.environ[VARIABLE] == template.path
