from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernaut.cli import terminal
from kernaut.cli.terminal import Terminal, read_text, require_writable, write_json
from kernaut.digest import FrozenMapping
from kernaut.errors import InputError


def test_plain_progress_is_sparse(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(terminal, "monotonic", lambda: now[0])
    with Terminal().progress() as progress:
        for done in range(1, 8):
            now[0] += 4.0
            progress.at("parts", done, 7)
        progress.tell("a line")
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "parts: 3 of 7\nparts: 6 of 7\nparts: 7 of 7\na line\n"


def test_a_terminal_gets_bars(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with Terminal().progress() as progress:
        progress.at("parts", 2, 5)
        progress.tell("kept [bold] line")
    assert "kept [bold] line" in capsys.readouterr().err


def test_quiet_keeps_warnings_only(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = Terminal(quiet=True)
    quiet.note("note")
    quiet.warn("careful")
    with quiet.progress() as progress:
        progress.at("parts", 1, 1)
        progress.tell("line")
    assert capsys.readouterr().err == "warning: careful\n"


def test_reports_go_to_standard_output_or_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    record = {"name": "Matérn", "value": 0.1, "parts": [1, 2]}
    write_json(FrozenMapping({"report": record}), None)
    assert json.loads(capsys.readouterr().out) == {"report": record}
    write_json(record, tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8")) == record
    assert capsys.readouterr().out == ""


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    for check in (lambda p: write_json({}, p), require_writable):
        with pytest.raises(InputError, match="Expected a file that can be written at"):
            check(tmp_path / "missing" / "r.json")
        with pytest.raises(InputError, match="Expected a file that can be written at"):
            check(tmp_path)
    require_writable(tmp_path / "r.json")
    require_writable(None)


def test_text_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(InputError, match=r"readable selection at .*latin. Got: it is not UTF-8 text"):
        read_text(tmp_path / "latin", "selection")
    with pytest.raises(InputError, match="No such file"):
        read_text(tmp_path / "none", "selection")
