from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernaut.archive.store import Archive
from tests.kernaut.cli.conftest import EXAMPLE, Run

Refused = Callable[..., str]
SOUND: dict[str, Any] = {
    "name": "lines",
    "contract": "feature_map",
    "source": "def feature_point(x, parameters):\n    return [1.0, parameters['slope'] * x[0]]\n",
    "parameters": {"slope": 2.0},
}


def candidate(tmp_path: Path, **changes: Any) -> Path:
    path = tmp_path / "candidate.json"
    path.write_text(json.dumps(SOUND | changes), encoding="utf-8")
    return path


def test_an_accepted_program(run: Run, tmp_path: Path) -> None:
    result = run("verify", candidate(tmp_path), "--dimensions", "1,3")
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    assert set(report) == {"candidate_id", "accepted", "tier", "checks", "protections"}
    assert (report["accepted"], report["tier"]) == (True, "T2")
    assert all(set(check) == {"name", "passed", "detail", "metrics"} for check in report["checks"])
    assert next(c for c in report["checks"] if c["name"] == "executable")["metrics"]["dimensions"] == [1, 3]


def test_a_program_that_is_not_accepted_has_exit_code_1(run: Run, tmp_path: Path) -> None:
    path = candidate(tmp_path, source="def feature_point(x, parameters):\n    return [x[7]]\n")
    result = run("verify", path, "--out", tmp_path / "evidence.json")
    assert result.exit_code == 1
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"error: Expected a program that reaches T2 in {path}. Got tier none: ")
    report = json.loads((tmp_path / "evidence.json").read_text(encoding="utf-8"))
    assert (report["accepted"], report["tier"]) == (False, "none")
    assert [check["name"] for check in report["checks"] if not check["passed"]] == ["executable"]


def test_source_that_screening_refuses_has_exit_code_1(run: Run, tmp_path: Path) -> None:
    result = run("verify", candidate(tmp_path, source="import os\n" + SOUND["source"]))
    assert result.exit_code == 1
    assert "os" in json.loads(result.stdout)["checks"][0]["detail"]


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"contract": "feature_mop"}, "residual_feature_map"),
        ({"parameters": {"slope": float("nan")}}, "finite"),
        ({"parameters": {"slope": float("inf")}}, "finite"),
        ({"name": "3 lines"}, "starts with a letter"),
        ({"colour": "blue"}, "colour"),
        ({"source": 7}, "source"),
        ({"parents": "abc"}, "parents"),
        ({"candidate_id": "0123456789abcdef"}, "candidate_id"),
    ],
)
def test_a_wrong_candidate_is_named_in_one_line(refused: Refused, tmp_path: Path, changes: Any, part: str) -> None:
    assert part in refused("verify", candidate(tmp_path, **changes))


def test_unknown_leaves_are_named(run: Run, tmp_path: Path) -> None:
    source = "def closure_tree(parameters):\n    return {'op': 'base', 'kind': 'matern72'}\n"
    result = run("verify", candidate(tmp_path, contract="closure", source=source, parameters={}))
    assert result.exit_code == 1
    detail = json.loads(result.stdout)["checks"][0]["detail"]
    assert "matern72" in detail
    assert "matern52" in detail


def test_files_that_are_no_candidates(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"name": ', encoding="utf-8")
    (tmp_path / "list.json").write_text("[1, 2]", encoding="utf-8")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe{}")
    assert "Expected JSON" in refused("verify", tmp_path / "broken.json")
    assert "JSON object" in refused("verify", tmp_path / "list.json")
    assert "UTF-8" in refused("verify", tmp_path / "bytes.json")
    assert "No such file" in refused("verify", tmp_path / "none.json")
    assert "2,5,8" in refused("verify", EXAMPLE, "--dimensions", "two")


def test_the_example_is_the_published_kernel(run: Run) -> None:
    result = run("verify", EXAMPLE, "--dimensions", "2,5,6,8")
    assert (result.exit_code, json.loads(result.stdout)["tier"]) == (0, "T2")


def test_an_archive_is_shown(run: Run, archive: Path) -> None:
    report = json.loads(run("inspect", "--archive", archive).stdout)
    assert report["looks"] == {"validation": 0, "test": 0}
    assert [row["origin"] for row in report["candidates"]] != []
    names = {row["name"] for row in report["candidates"]}
    assert names == {"fold_1_0", "fold_2_5"}
    table = run("inspect", "--archive", archive, "--table").stdout
    assert table.splitlines()[0].split() == [
        "candidate_id", "name", "contract", "niche", "mean_crps", "regret_auc", "seconds",
    ]  # fmt: skip
    assert len(table.splitlines()) == 4


def test_one_program_is_shown_by_the_beginning_of_its_identifier(run: Run, refused: Refused, archive: Path) -> None:
    with Archive.open(archive, read_only=True) as opened:
        program = opened.candidates()[0].program
    report = json.loads(run("inspect", program.id[:6], "--archive", archive).stdout)
    assert report["candidate"]["source"] == program.source
    assert report["evidence"][0]["tier"] == "T2"
    assert "none of that name" in refused("inspect", "zzz", "--archive", archive)


def test_an_archive_that_is_none(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "text.sqlite").write_text("not a database, but long enough to be read as one " * 40, encoding="utf-8")
    for words in (("inspect",), ("select",), ("archive", "check"), ("meta-benchmark", "--split", "train")):
        assert "none.sqlite" in refused(*words, "--archive", tmp_path / "none.sqlite")
        assert "text.sqlite" in refused(*words, "--archive", tmp_path / "text.sqlite")
    assert not (tmp_path / "none.sqlite").exists()
