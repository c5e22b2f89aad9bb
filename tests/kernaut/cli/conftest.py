"""Running the program in this process, and an archive with two imported candidates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kernaut.archive.store import Archive
from kernaut.cli.commands import app
from kernaut.plugins import bundled
from kernaut.program.program import load_candidate, save_candidate
from kernaut.search.candidates import verified_candidate

Run = Callable[..., Any]  # a click Result
EXAMPLE = bundled("examples", "candidates", "dual_warp_fold.json")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the program in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def invoke(*words: object) -> Any:
        return CliRunner().invoke(app, [str(word) for word in words])

    return invoke


@pytest.fixture
def refused(run: Run) -> Callable[..., str]:
    """Run the program on bad input: exit code 2, nothing on standard output, one line of error and at most one of hint; the error comes back."""

    def invoke(*words: object) -> str:
        result = run(*words)
        lines = result.stderr.splitlines()
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert lines[0].startswith("error: "), lines
        assert len(lines) == 1 or (len(lines) == 2 and lines[1].startswith("hint: ")), lines
        return lines[0]

    return invoke


@pytest.fixture(scope="session")
def two_candidates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive with two imported candidates; copy it before it is changed."""
    folder = tmp_path_factory.mktemp("two")
    with Archive.create(folder / "two.sqlite") as archive:
        for frequency in (0.9753086419753086, 2.5):
            program = load_candidate(EXAMPLE).with_parameters({"frequency": frequency})
            path = folder / f"at-{frequency:.2f}.json"
            save_candidate(replace(program, name=f"fold_{frequency:.1f}".replace(".", "_")), path)
            found, evidence = verified_candidate(path, (2, 5))
            archive.import_candidate(found, evidence, f"file {path.name}")
    return folder / "two.sqlite"


@pytest.fixture
def archive(two_candidates: Path, tmp_path: Path) -> Path:
    """A copy of the archive with two candidates."""
    copy = tmp_path / "two.sqlite"
    with Archive.open(two_candidates) as opened:
        opened.backup(copy)
    return copy
