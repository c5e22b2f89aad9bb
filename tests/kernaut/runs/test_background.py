from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from kernaut.cli.commands import app
from kernaut.errors import InputError
from kernaut.runs.background import BackgroundCampaign, search_command


def test_a_command_that_ends_well_is_finished_and_one_that_does_not_failed(tmp_path: Path) -> None:
    good = BackgroundCampaign(["archive", "--help"], tmp_path / "good.log")
    assert good.state == "idle" and good.last_words() == ""
    good.start()
    assert good.wait(60) == "finished" and good.pid is None
    bad = BackgroundCampaign(["no-such-command"], tmp_path / "bad.log")
    bad.start()
    assert bad.wait(60) == "failed"
    assert "no-such-command" in bad.last_words()


def test_nothing_to_run_and_nowhere_to_write_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="arguments"):
        BackgroundCampaign([], tmp_path / "log")
    with pytest.raises(InputError, match="log file"):
        BackgroundCampaign(["doctor"], tmp_path / "no" / "log").start()


def test_it_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\nfrom kernaut.runs.background import BackgroundCampaign\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"  # as in a server that a script started with &
        "made = BackgroundCampaign(['meta-run', '--archive', sys.argv[1], '--iterations', '2'], sys.argv[1] + '.log')\n"
        "made.start()\nprint(made.pid, flush=True)\nos._exit(0)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.sqlite")], capture_output=True, text=True, check=True, timeout=60
    )
    pid = int(result.stdout)
    until = time.monotonic() + 60
    while psutil.pid_exists(pid) and time.monotonic() < until:
        time.sleep(0.2)
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize(
    ("benchmark", "options"),
    [("bbo", {}), ("greenhouse", {}), ("enzymes", {"difficulty": "hard", "train_points": 12}), ("glucose", {})],
)
def test_each_benchmark_has_a_search_command_that_takes_the_options(
    benchmark: str, options: dict[str, object], tmp_path: Path
) -> None:
    words = search_command(
        benchmark, str(tmp_path / "a.sqlite"), runs=3, episodes=1, rounds=2, seed=5, campaign="mine", options=options
    )
    result = CliRunner().invoke(app, [*words, "--dry-run"])
    assert result.exit_code == 0, result.output
    expected = json.loads(result.stdout)
    assert (expected["campaign"], expected["runs_left"]) == ("mine", 3)


def test_installed_benchmarks_are_named_and_tables_have_a_command_of_their_own() -> None:
    words = search_command("tides", "a.sqlite", runs=1, episodes=1, rounds=1)
    assert words[0] == "meta-run" and words[words.index("--benchmark") + 1] == "tides"
    words = search_command(
        "tides", "a.sqlite", runs=1, episodes=1, rounds=1, options={"dry_run": True, "quiet": False, "config": None}
    )
    assert words[-1] == "--dry-run" and "--quiet" not in words and "--config" not in words
    with pytest.raises(InputError, match="table"):
        search_command("table", "a.sqlite", runs=1, episodes=1, rounds=1)
