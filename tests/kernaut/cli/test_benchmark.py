from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kernaut.archive.store import Archive
from tests.kernaut.cli.conftest import EXAMPLE, Run

Refused = Callable[..., str]
SMALL = ("--bo-steps", 0, "--workers", 1)


def test_a_candidate_file_beside_the_references(run: Run) -> None:
    result = run("meta-benchmark", "--candidate-file", EXAMPLE, "--split", "train", *SMALL)
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    own = [entry for entry in report["candidates"] if entry["origin"] == "file"]
    assert [entry["name"] for entry in own] == ["dual_warp_fold"]
    assert sum(entry["origin"] == "reference" for entry in report["candidates"]) == 10
    assert list(report["protocol"]["splits"]) == ["train"]
    assert "test results" not in result.stderr


def test_all_splits_come_with_a_warning(run: Run, archive: Path, tmp_path: Path) -> None:
    words = ("meta-benchmark", "--archive", archive, "--limit", 1, *SMALL)
    result = run("--quiet", *words, "--out", "r.json")
    assert result.stdout == ""
    assert result.stderr.splitlines()[0].startswith("warning: test results are included")
    assert result.stderr.splitlines()[1] == "warning: 1 programs beyond --limit 1 are left out."
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert list(report["protocol"]["splits"]) == ["train", "validation", "test"]
    assert report["looks"] == {"validation": 1, "test": 1}
    assert sum(entry["origin"] == "archive" for entry in report["candidates"]) == 1


def test_a_selection_opens_test_for_its_program(run: Run, refused: Refused, archive: Path, tmp_path: Path) -> None:
    run("select", "--archive", archive, "--episodes-per-family", 1, "--workers", 1)
    words = ("meta-benchmark", "--archive", archive, "--selection", "selection.json")
    report = json.loads(run(*words, "--split", "test", *SMALL).stdout)
    choice = json.loads((tmp_path / "selection.json").read_text(encoding="utf-8"))["choice"]
    assert [e["candidate_id"] for e in report["candidates"] if e["origin"] == "archive"] == [choice]
    assert "alone" in refused(*words, "--candidate-id", choice)
    (tmp_path / "odd.json").write_text('{"metric": "x"}', encoding="utf-8")
    assert "written by kernaut select" in refused("meta-benchmark", "--archive", archive, "--selection", "odd.json")
    assert "--archive" in refused("meta-benchmark", "--selection", "selection.json")


def test_one_program_of_an_archive(run: Run, refused: Refused, archive: Path) -> None:
    with Archive.open(archive, read_only=True) as opened:
        wanted = opened.candidates()[1].program.id
    words = ("meta-benchmark", "--archive", archive, "--split", "train", *SMALL)
    report = json.loads(run(*words, "--candidate-id", wanted).stdout)
    assert [e["candidate_id"] for e in report["candidates"] if e["origin"] == "archive"] == [wanted]
    assert "Got abcd" in refused(*words, "--candidate-id", "abcd")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("--split dev", "all"),
        ("--episodes-per-family -4", "1 to 999"),
        ("--episodes-per-family 1000", "1 to 999"),
        ("--bo-steps -1", "--bo-steps from 0 to 1000. Got -1"),
        ("--candidate-pool-size 0", "--candidate-pool-size from 1 to"),
        ("--candidate-file none.json", "No such file"),
        ("--candidate-id abc", "--archive"),
        ("--archive none.sqlite", "none.sqlite"),
        ("--benchmark chess", "benchmark of bbo"),
        ("--workers -1", "--workers from 1 to 256. Got -1"),
    ],
)
def test_bad_input_is_one_line(refused: Refused, words: str, part: str) -> None:
    assert part in refused(
        "--quiet", "meta-benchmark", *(words.split() if "--split" in words else ["--split", "train", *words.split()])
    )


def test_a_file_whose_program_fails_verification(refused: Refused, tmp_path: Path) -> None:
    source = "def feature_point(x, parameters):\n    return [1.0 / (x[0] - x[0])]\n"
    (tmp_path / "p.json").write_text(
        json.dumps({"name": "p", "contract": "feature_map", "source": source}), encoding="utf-8"
    )
    line = refused("meta-benchmark", "--split", "train", "--candidate-file", "p.json")
    assert "tier T2" in line
    assert "p.json" in line


def test_a_configuration_s_models_are_passed_over(run: Run, refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[llm]\nmodel = 'm'\n[execution]\nmemory_mib = 700\n", encoding="utf-8")
    result = run("meta-benchmark", "--split", "train", "--config", "c.toml", "--candidate-file", EXAMPLE, *SMALL)
    assert result.exit_code == 0, result.output
    (tmp_path / "d.toml").write_text("[execution]\nmemory = 700\n", encoding="utf-8")
    assert "execution.memory;" in refused("meta-benchmark", "--split", "train", "--config", "d.toml")
