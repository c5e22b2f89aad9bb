from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kernaut.plugins import bundled


def test_there_is_no_test_split(refused: Callable[..., str]) -> None:
    assert "'test' is not one of" in refused("glucose-benchmark", "--split", "test")
    example = str(bundled("examples", "candidates", "dual_warp_fold.json"))
    text = refused("meta-benchmark", "--benchmark", "glucose", "--split", "test", "--candidate-file", example)
    assert "Expected train or validation of glucose, whose test stays hidden" in text


def test_bad_files_and_counts_are_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    assert "Expected an exchange file at" in refused("glucose-run", "--data", "absent.json")
    (tmp_path / "empty.json").write_text("{}")
    assert "Expected an object of patients" in refused("glucose-benchmark", "--data", "empty.json")
    assert "--episodes-per-family from 1 to 6. Got 7" in refused("glucose-run", "--episodes-per-family", 7)
    assert "--episodes-per-family from 1 to 6. Got 7" in refused("glucose-benchmark", "--episodes-per-family", 7)
    assert "1 to 6 episodes per family" in refused("references", "glucose", "--episodes-per-family", 7)
    assert "Expected one of --candidate-id and --candidate-file" in refused("glucose-sealed-test")
