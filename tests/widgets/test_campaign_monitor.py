from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from kernaut.archive.store import Archive
from tests.widgets.conftest import delete_program, fill, held
from widgets import campaign_monitor
from widgets.campaign_monitor import CampaignMonitor

Make = Callable[[int], tuple[str, list[str]]]


def test_a_finished_archive_is_shown(make_archive: Make) -> None:
    path, _ = make_archive(5)
    monitor = CampaignMonitor(path)
    assert monitor.message == "" and monitor.state == "idle"
    assert monitor.progress.startswith("made: 5 of 6 runs closed, 5 programs accepted; best mean CRPS 0.")
    assert (monitor.bar.value, monitor.bar.max) == (5, 6)
    assert "Expected finite values. Got none." in monitor.boxes["rejected"].value
    assert "5 accepted, 5 refused, 5 tuned" in monitor.boxes["rejected"].value
    assert "halton" in monitor.boxes["trials"].value
    assert "I propose &lt;b&gt;waves" in monitor.boxes["transcript"].value
    assert "3 new roots, 2 links" in monitor.boxes["lineage"].value
    assert "best so far" in monitor.boxes["best so far"].value
    assert "Elite grid" in monitor.boxes["elites"].value and "Elites: mean CRPS" in monitor.boxes["elites"].value
    assert "Not submitted by their authors: 5 drafts" in monitor.boxes["rejected"].value
    assert "made_draft_4" in monitor.boxes["rejected"].value
    assert "Elites" in repr(monitor.static())
    monitor.type_campaign.value = "unknown"
    assert "unknown" in monitor.message


def test_where_an_archive_is_only_looked_at_nothing_can_be_started(make_archive: Make) -> None:
    path, _ = make_archive(2)
    monitor = CampaignMonitor(path, controls=False)
    hidden = [monitor.start_button, monitor.pause_button, monitor.stop_button, monitor.state_line]
    assert [control.layout.display for control in hidden] == ["none"] * 4
    assert monitor.again.layout.display is None and monitor.look is not None
    monitor.controls = True
    assert [control.layout.display for control in hidden] == [None] * 4


def test_an_archive_without_a_campaign_says_so(empty: str) -> None:
    assert "without" in CampaignMonitor(empty).message


def test_a_campaign_starts_pauses_resumes_and_stops_without_blocking(tmp_path: Path) -> None:
    monitor = CampaignMonitor(str(tmp_path / "a.sqlite"), runs=2)
    began = time.monotonic()
    monitor.start_button.click()
    assert time.monotonic() - began < 3.0  # it does not wait for the campaign
    assert monitor.state == "running" and monitor.start_button.disabled and not monitor.pause_button.disabled
    assert monitor.process is not None and monitor.process.pid is not None
    process = psutil.Process(monitor.process.pid)
    until = time.monotonic() + 60
    while not (tmp_path / "a.sqlite").exists() and time.monotonic() < until:
        time.sleep(0.2)
    monitor.pause_button.click()
    assert monitor.process.wait(60) == "paused"
    monitor.refresh()
    assert monitor.state == "paused" and monitor.start_button.description == "Resume"
    assert not process.is_running()
    monitor.type_archive.value = str(tmp_path / "b.sqlite")
    assert monitor.state == "idle" and monitor.start_button.description == "Start"  # not Resume of the other one
    monitor.type_archive.value = str(tmp_path / "a.sqlite")
    monitor.start_button.click()
    again = psutil.Process(monitor.process.pid)
    assert monitor.state == "running" and monitor.type_archive.disabled
    monitor.close()
    assert monitor.state == "stopped" and not again.is_running()


def test_a_campaign_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").write_text("no archive")
    monitor = CampaignMonitor(str(tmp_path / "a.sqlite"))
    monitor.start()
    assert monitor.process is not None and monitor.process.wait(60) == "failed"
    monitor.refresh()
    assert "a.sqlite" in monitor.message and monitor.state == "failed"
    elsewhere = CampaignMonitor(str(tmp_path / "nowhere" / "b.sqlite"))
    elsewhere.start()
    assert "log file" in elsewhere.message


def test_any_benchmark_can_be_searched_with_its_options(tmp_path: Path) -> None:
    monitor = CampaignMonitor(str(tmp_path / "a.sqlite"))
    assert set(monitor.pick_benchmark.options) >= {"bbo", "greenhouse", "enzymes", "glucose"}
    monitor.pick_benchmark.value = "enzymes"
    monitor.type_options.value = '{"difficulty": "hard"}'
    words = monitor._command()
    assert words[0] == "chem-run" and words[-2:] == ["--difficulty", "hard"]
    monitor.type_options.value = '{"difficulty": '
    assert "JSON" in monitor.message
    monitor.type_options.value = ""
    assert monitor.message == "" and monitor.options == {}


def test_an_archive_that_another_process_holds_is_a_message_and_works_afterwards(make_archive: Make) -> None:
    path, _ = make_archive(2)
    with held(path):
        monitor = CampaignMonitor(path)
        assert "locked by another process" in monitor.message
    monitor.again.click()
    assert monitor.message == "" and monitor.look is not None


def test_a_program_deleted_meanwhile_is_a_message(make_archive: Make) -> None:
    path, ids = make_archive(2)
    monitor = CampaignMonitor(path)
    delete_program(path, ids[1])
    monitor.again.click()
    assert ids[1] in monitor.message and monitor.look is None


@pytest.mark.parametrize("trait", ["runs", "seed"])
def test_options_reach_the_command(tmp_path: Path, trait: str) -> None:
    monitor = CampaignMonitor(str(tmp_path / "a.sqlite"))
    getattr(monitor, f"pick_{trait}").value = 7
    words = monitor._command()
    assert words[words.index({"runs": "--iterations", "seed": "--seed"}[trait]) + 1] == "7"


def test_an_archive_is_followed_without_a_sign_and_read_only_where_it_was_written(
    make_archive: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, ids = make_archive(2)
    looks: list[object] = []
    reads: list[str] = []
    signs: list[object] = []
    view, look = campaign_monitor.campaign_view, campaign_monitor.stamp
    monkeypatch.setattr(campaign_monitor, "POLL_SECONDS", 0.001)
    monkeypatch.setattr(campaign_monitor, "stamp", lambda where: (looks.append(0), look(where))[1])
    monkeypatch.setattr(campaign_monitor, "campaign_view", lambda *words: (reads.append(""), view(*words))[1])

    async def until(happened: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not happened():
                await asyncio.sleep(0.001)

    async def watch() -> None:
        monitor = CampaignMonitor(path, follow=True, controls=False)
        monitor.status.observe(signs.append, names="value")
        await until(lambda: len(looks) > 5)
        assert len(reads) == 1 and signs == []
        with Archive.open(path) as archive:
            fill(archive, 1, first=2)
        await until(lambda: monitor.progress.startswith("made: 3 of"))
        assert signs == []
        delete_program(path, ids[1])
        await until(lambda: ids[1] in monitor.message)
        read = len(reads)
        await until(lambda: len(looks) > 40)
        assert len(signs) == 1 and len(reads) <= read + 1  # a reader's own traces at most
        monitor.close()

    asyncio.run(watch())
