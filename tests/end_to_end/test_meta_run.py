"""Campaigns through the installed program: killed at random moments they end with the report of the unbroken one, and lose and double nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kernaut.archive.store import Archive

PROGRAM = Path(sys.executable).with_name("kernaut")
OPTIONS = ("--iterations", "2", "--max-rounds", "1", "--episodes-per-family", "1", "--seed", "11")


def command(archive: Path, workers: int) -> list[str]:
    return [str(PROGRAM), "--quiet", "meta-run", "--archive", str(archive), *OPTIONS, "--workers", str(workers)]


def whole(archive: Path, workers: int) -> dict[str, Any]:
    result = subprocess.run(command(archive, workers), capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    report: dict[str, Any] = json.loads(result.stdout)
    return report


def killed(archive: Path, workers: int, seconds: float) -> subprocess.CompletedProcess[str]:
    """Start a campaign and kill the program alone, not its processes."""
    process = subprocess.Popen(
        command(archive, workers), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
    out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def accepted(archive: Path) -> set[str]:
    if not archive.exists():
        return set()
    with Archive.open(archive) as opened:
        if not opened.campaigns():
            return set()
        return {record.program_id for record in opened.accepted("bbo-seed-11", open_too=True)}


def has_open_run(archive: Path) -> bool:
    if not archive.exists():
        return False
    with Archive.open(archive) as opened:
        return bool(opened.campaigns() and opened.runs("bbo-seed-11", status="open"))


def check(archive: Path, held: set[str], report: dict[str, Any], unbroken: dict[str, Any]) -> None:
    assert report == unbroken
    listed = [entry["candidate_id"] for entry in report["accepted"]]
    assert held <= set(listed)
    assert len(listed) == len(set(listed))
    with Archive.open(archive, read_only=True) as opened:
        assert opened.check().problems == ()
        assert {record.program.id for record in opened.candidates()} == set(listed)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], float]:
    """The report of an unbroken campaign in one process, and the seconds it took."""
    began = time.monotonic()
    report = whole(tmp_path_factory.mktemp("whole") / "whole.sqlite", workers=1)
    assert [run["status"] for run in report["runs"]] == ["closed", "closed"]
    assert report["accepted"]
    return report, time.monotonic() - began


def kill_and_resume(unbroken: tuple[dict[str, Any], float], archive: Path, moments: list[float]) -> None:
    report, seconds = unbroken
    held: set[str] = set()
    for moment in moments:
        killed(archive, 2, moment * seconds)
        held |= accepted(archive)
    check(archive, held, whole(archive, workers=2), report)


def test_killed_twice_and_with_two_workers_the_report_is_the_same(
    unbroken: tuple[dict[str, Any], float], tmp_path: Path
) -> None:
    moments = [random.Random(5).uniform(0.3, 0.9), random.Random(6).uniform(0.5, 0.9)]
    kill_and_resume(unbroken, tmp_path / "killed.sqlite", moments)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(10))
def test_killed_at_a_random_moment_it_resumes(
    unbroken: tuple[dict[str, Any], float], tmp_path: Path, number: int
) -> None:
    kill_and_resume(unbroken, tmp_path / "killed.sqlite", [random.Random(number).uniform(0.1, 1.0)])


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interruption_says_how_it_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    archive = tmp_path / "stopped.sqlite"
    process = subprocess.Popen(
        command(archive, 2), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 300
    while not has_open_run(archive):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.2)
    os.kill(process.pid, number) if number == signal.SIGTERM else os.killpg(process.pid, number)
    out, err = process.communicate(timeout=120)
    result = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    assert result.returncode == 130, result.stderr
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("interrupted; resume with: kernaut meta-run ")
    assert f"--archive {archive} --run-id bbo-seed-11 --iterations 2" in line
