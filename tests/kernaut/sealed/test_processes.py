"""Generation, service and runner as processes, and how their errors come back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernaut.errors import InputError
from kernaut.sealed.client import GenerateOptions, RunOptions, connect, generate, run, serve


def test_generate_serve_run_and_report(sealed_home: Path, tmp_path: Path) -> None:
    counts = {"haar_encode": 3}
    made = generate(GenerateOptions(str(tmp_path / "out"), str(tmp_path / "ledger"), counts, seed=3, rollouts=100))
    assert made["tasks"] == 3
    events: list[Any] = []
    with serve(made["ledger"]) as service:
        assert service.tasks == 3
        options = RunOptions(str(tmp_path / "out"), service.url, ["random_search"], seeds=2, split="all", workers=1)
        runs = run(options, events.append)
        with connect(service.url) as mine:
            report = mine.report(list(runs.values()))
    assert report["runs"][0]["outcomes"]["returned"] == 6
    assert [event["done"] for event in events if event["event"] == "progress"] == [1, 2, 3, 4, 5, 6]


def test_errors_come_back_with_their_hints(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Expected a task family") as caught:
        generate(GenerateOptions(str(tmp_path / "out"), str(tmp_path / "ledger"), {"none": 1}))
    assert caught.value.hint is None
    with pytest.raises(InputError, match="sealed ledger") as caught:
        serve(tmp_path / "none")
    assert caught.value.hint == "Name the ledger folder that kernaut sealed generate printed."
    with pytest.raises(InputError, match="1 to 1000 seeds"):
        run(RunOptions(str(tmp_path), "http://127.0.0.1:1", ["random"], seeds=0))
    with pytest.raises(InputError, match="Expected options of the policies"):
        run(RunOptions(str(tmp_path), "http://127.0.0.1:1", ["random"], options={"cma_es": {}}))


@pytest.mark.parametrize("module", ["generating", "serving", "runner"])
def test_a_process_that_is_told_nonsense_says_so_in_one_line(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", f"kernaut.sealed.{module}"], input=b"[1, 2", capture_output=True, check=False
    )
    assert done.returncode == 2
    (line,) = done.stderr.decode().splitlines()
    assert json.loads(line)["message"].startswith("Expected JSON in the options")
