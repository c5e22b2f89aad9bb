import json
from pathlib import Path

import pytest

from kernaut.digest import freeze
from kernaut.errors import InputError
from kernaut.runs.headless import (
    DIRECTORY_VARIABLE,
    PROGRESS_VARIABLE,
    is_headless,
    report_progress,
    run_directory,
    write_report,
)


def test_a_report_lands_in_the_runs_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path / "run"))
    assert is_headless()
    path = write_report(freeze({"score": 0.1 + 0.2, "names": ["é"]}))
    assert path == tmp_path / "run" / "report.json"
    assert json.loads(path.read_text()) == {"score": 0.1 + 0.2, "names": ["é"]}
    with pytest.raises(InputError, match=r"finite number for the notebook's report.score"):
        write_report({"score": float("nan")})


def test_by_hand_it_lands_in_a_folder_of_its_own_and_progress_goes_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(DIRECTORY_VARIABLE, raising=False)
    monkeypatch.delenv(PROGRESS_VARIABLE, raising=False)
    report_progress("nobody listens", 1, 2)
    assert list(tmp_path.iterdir()) == []
    assert not is_headless()
    assert run_directory() == tmp_path / "papermill_runs" / "by-hand"
