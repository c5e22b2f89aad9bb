from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.kernaut.cli.conftest import Run

Refused = Callable[..., str]


def test_a_report_of_an_archive_is_one_document(run: Run, archive: Path, tmp_path: Path) -> None:
    result = run("report", archive, "--to", "html", "--out", "r.html", "--kernels", 1)
    assert result.exit_code == 0, result.output
    page = (tmp_path / "r.html").read_text()
    assert "recomputed from the program" in page and "data:image/svg+xml" in page
    shown = run("report", archive, "--to", "md", "--kernels", 0)
    assert shown.stdout.startswith("# Archive")


def test_what_is_no_archive_and_no_run_is_refused(refused: Refused, tmp_path: Path) -> None:
    assert "nothing.sqlite" in refused("report", "nothing.sqlite")
    assert "folder of a run" in refused("report", tmp_path)
