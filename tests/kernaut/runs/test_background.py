from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from kernaut.errors import InputError
from kernaut.runs.background import BackgroundCampaign


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
        "import os, sys\nfrom kernaut.runs.background import BackgroundCampaign\n"
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
