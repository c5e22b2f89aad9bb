"""Searching with a language model from the command line: dry runs, keys, transcripts, and Ctrl-C while the model is asked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from kernaut.archive.store import Archive
from kernaut.episodes import registry
from tests.kernaut.authors.model_server import KEY, Handler, ModelServer, hang, model_server, status
from tests.kernaut.authors.tiny import Tiny
from tests.kernaut.cli.conftest import Run
from tests.kernaut.search.test_running import quick_script

ROOT = Path(__file__).resolve().parents[3]
Refused = Callable[..., str]
SEARCH = "meta-run --config c.toml --benchmark tiny --iterations 2 --rounds-per-iteration 2 --episodes-per-family 1 --workers 1"
NAME = "tiny-compatible-scripted-seed-2"
PROGRAM = """
from kernaut.episodes import registry
from tests.kernaut.authors.tiny import Tiny
registry.OWN["tiny"] = Tiny
from kernaut.cli.main import main
main()
"""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModelServer]:
    monkeypatch.setitem(registry.OWN, "tiny", Tiny)
    monkeypatch.setenv("MODEL_API_KEY", "")  # so that what a file sets goes again afterwards
    with model_server() as running:
        running.script = quick_script
        text = f'[llm]\nprovider = "compatible"\nmodel = "scripted"\nbase_url = "{running.url}"\napi_key_env = "MODEL_API_KEY"\n'
        (tmp_path / "c.toml").write_text(text + "max_retries = 0\n[campaign]\nseed = 2\n", encoding="utf-8")
        (tmp_path / ".env").write_text(f"MODEL_API_KEY='{KEY}'\n", encoding="utf-8")
        yield running


def test_a_dry_run_asks_and_stores_nothing(run: Run, server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / ".env").unlink()
    result = run(*SEARCH.split(), "--dry-run", "--max-tokens", 50_000)
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert (record["campaign"], record["runs_left"]) == (NAME, 2)
    assert record["expected"]["answers"] == record["at_most"]["answers"] == 4
    assert 10_000 < record["expected"]["tokens"] < 60_000
    assert record["expected"]["cost"] is None
    assert record["at_most"]["tokens"] == 50_000
    assert server.requests == []
    assert list(tmp_path.glob("*.sqlite")) == []


def test_a_search_its_conversations_and_what_is_left(run: Run, server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "task.md").write_text("# My own task\n", encoding="utf-8")
    server.faults = [None, None, status(401, f"bad {KEY}")]
    stopped = run(*SEARCH.split(), "--context", "task.md")
    assert stopped.exit_code == 1
    assert "Got status 401: bad [MODEL_API_KEY]" in stopped.stderr
    assert f"campaign {NAME} is in kernaut.sqlite, with all that was accepted" in stopped.stderr
    assert json.loads(run(*SEARCH.split(), "--context", "task.md", "--dry-run").stdout)["runs_left"] == 1
    finished = run(*SEARCH.split(), "--context", "task.md")
    assert finished.exit_code == 0, finished.output
    assert len(json.loads(finished.stdout)["accepted"]) == 2
    assert set(server.keys) == {f"Bearer {KEY}"}
    shown = run("inspect", "--transcript", f"{NAME}:0", "--table")
    assert "# My own task" in shown.stdout
    assert "calls submit_candidate" in shown.stdout
    assert "def transform_point(x, parameters):" in shown.stdout
    whole = json.loads(run("inspect", "--transcript", NAME).stdout)
    assert [entry["usage"]["calls"] for entry in whole["runs"]] == [2, 2]
    outputs = "".join(result.output for result in (stopped, finished, shown)) + json.dumps(whole)
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.name != ".env")
    assert KEY not in outputs
    assert KEY.encode() not in files


def test_what_cannot_be_searched_with_is_said(refused: Refused, server: ModelServer, tmp_path: Path) -> None:
    assert "input_price and output_price" in refused(*SEARCH.split(), "--max-cost", 1.0)
    assert "No such file" in refused(*SEARCH.split(), "--context", "none.md")
    (tmp_path / ".env").unlink()
    os.environ["MODEL_API_KEY"] = ""
    assert "environment variable MODEL_API_KEY" in refused(*SEARCH.split())
    assert "CAMPAIGN:INDEX" in refused("inspect", "--archive", _empty(tmp_path), "--transcript", "golf:3")
    assert "without an identifier" in refused("inspect", "abc", "--archive", _empty(tmp_path), "--transcript", "golf")


def _empty(folder: Path) -> Path:
    path = folder / "empty.sqlite"
    Archive.open_or_create(path).close()
    return path


def test_ctrl_c_while_a_model_is_asked_keeps_what_was_accepted(server: ModelServer, tmp_path: Path) -> None:
    asked = Event()

    def keep_waiting(handler: Handler) -> None:
        asked.set()
        hang(handler)

    server.faults = [None, keep_waiting]
    environment: dict[str, Any] = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *SEARCH.split()],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert asked.wait(300)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(
            timeout=100
        )  # the server would hold the answer back for as long as this test runs
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert output == ""
    resume = errors.splitlines()[-1]
    assert resume.startswith("interrupted; resume with: kernaut meta-run ")
    assert "--config c.toml" in resume
    assert f"--run-id {NAME}" in errors
    with Archive.open(tmp_path / "kernaut.sqlite") as archive:
        assert [record.status for record in archive.runs(NAME)] == ["open"]
        assert len(archive.candidates()) == 1
        assert [entry.role for entry in archive.transcript(NAME, 0)] == ["system", "user", "assistant", "tool", "tool"]
