from __future__ import annotations

import pytest

from kernaut.cli import doctor
from kernaut.cli.doctor import Finding
from tests.kernaut.cli.conftest import Run


def test_this_machine_is_examined(run: Run) -> None:
    result = run("doctor")
    assert result.exit_code == 0, result.output
    text = result.stdout
    for part in (
        "Python",
        "torch",
        "sandbox: seccomp",
        "SQLite",
        "journal mode wal",
        "charts: altair 5",
        "DejaVu",
        "discover",
    ):
        assert part in text
    assert all(line.startswith(("ok ", "warn ", "     ")) for line in text.splitlines())


def test_what_is_missing_is_named_with_its_fix(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "NEEDED", ("numpy", "no-such-package"))
    monkeypatch.setattr(doctor, "_sandbox", lambda: Finding("warn", "half a sandbox", "Not enforced: x."))
    result = run("doctor")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[1:5] == [
        "fail  missing packages: no-such-package",
        "      pip install no-such-package",
        "warn  half a sandbox",
        "      Not enforced: x.",
    ]
