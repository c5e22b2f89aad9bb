"""kernaut sealed generate, serve, run and report."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kernaut.sealed.places import VARIABLE

Run = Callable[..., Any]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def made(run: Run, home: Path) -> str:
    """A generated set in the current folder; what the command said."""
    words = ("--count", "haar_encode=3", "attention_2d=1", "--seed", 4, "--rollouts", 100)
    result = run("sealed", "generate", "--out", "tasks", *words)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


@pytest.fixture
def served(made: str, home: Path, tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A service started by the command line."""
    command = [sys.executable, "-P", "-c", "from kernaut.cli.main import main; main()", "sealed", "serve"]
    with subprocess.Popen(
        [*command, "--ledger", "tasks-ledger"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process
        process.kill()


def test_generate_writes_three_places_and_says_where(made: str, home: Path, tmp_path: Path) -> None:
    lines = made.splitlines()
    assert lines[0].startswith("4 tasks, ")
    assert len(list((tmp_path / "tasks" / "manifest").iterdir())) == 4
    assert (tmp_path / "tasks-ledger").stat().st_mode & 0o777 == 0o700
    (key,) = (home / "keys").iterdir()
    assert f"key_file: {key}" in lines
    assert key.read_text().strip() not in made
    assert [line.split(":")[0] for line in lines if line.startswith("probe")] == [
        "probe haar_encode",
        "probe attention_2d",
    ]


def test_serve_run_and_report(served: tuple[str, subprocess.Popen[str]], run: Run) -> None:
    url, process = served
    assert url.startswith("http://127.0.0.1:")
    words = ("--manifest", "tasks", "--service", url, "--split", "all", "--seeds", 1, "--workers", 1)
    result = run("sealed", "run", *words, "--policy", "random_search", "--policy", "oracle")
    assert result.exit_code == 0, result.output
    assert sorted(line.split(":")[0] for line in result.stdout.splitlines()) == ["oracle", "random_search"]
    assert "random_search: 4 of 4" in result.stderr
    texts = []
    for _ in range(2):
        found = run("sealed", "report", "--service", url)
        assert found.exit_code == 0, found.output
        texts.append(found.stdout)
    assert texts[0] == texts[1]
    report = json.loads(texts[0])
    assert [entry["policy"] for entry in report["runs"]] == ["oracle", "random_search"]
    detailed = run("sealed", "report", "--service", url, "--details", "--times", "--out", "report.json")
    assert detailed.exit_code == 0
    assert len(json.loads(Path("report.json").read_text())["runs"][0]["episodes"]) == 4
    missing = run("sealed", "report", "--service", url, "--run", "none")
    assert (missing.exit_code, missing.stdout) == (2, "")
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(30) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("generate", "--out", "x", "--count", "haar_encode"), "FAMILY=N"),
        (("generate", "--out", "x", "--count", "haar_encode=-1"), "FAMILY=N"),
        (("generate", "--out", "x", "--count", "haar_encode=1", "haar_encode=2"), "each family once"),
        (("generate", "--out", "x", "--count", "none=1"), "haar_encode, attention_2d"),
        (("generate", "--out", "x", "--count", "haar_encode=1", "--ledger", "x/y"), "different folders"),
        (("generate", "--out", "x", "--count", "fm_kernel_loss=1", "--kernel", "none.json"), "kernel file"),
        (("generate", "--out", "x", "--count", "fm_kernel_loss=1", "--kernel", '{"kind": "none"}'), "kind of linear"),
        (("serve", "--ledger", "none"), "sealed ledger"),
        (("run", "--manifest", "none", "--service", "http://127.0.0.1:1", "--policy", "random"), "none/index.json"),
        (("run", "--manifest", "x", "--service", "u", "--policy", "none"), "a policy of random"),
        (("run", "--manifest", "x", "--service", "u", "--policy", "random", "--option", "x"), "POLICY.NAME=JSON"),
        (("run", "--manifest", "x", "--service", "u", "--policy", "random", "--option", "random.a={"), "JSON after"),
        (("report", "--service", "http://example.com:80"), "127.0.0.1"),
    ],
)
def test_bad_input_is_one_line(refused: Callable[..., str], home: Path, words: tuple[str, ...], said: str) -> None:
    assert said in refused("sealed", *words)
