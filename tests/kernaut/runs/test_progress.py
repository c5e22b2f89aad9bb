import io
import json
from pathlib import Path

import pytest

from kernaut.runs.headless import PROGRESS_VARIABLE, report_progress
from kernaut.runs.progress import ProgressEvent, ProgressTail, to_stream


def test_lines_written_by_a_notebook_arrive_once_and_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tail = ProgressTail(tmp_path / "progress.jsonl")
    assert tail.read() == []
    monkeypatch.setenv(PROGRESS_VARIABLE, str(tmp_path / "progress.jsonl"))
    report_progress("run 1", 1, 12)
    report_progress("tuning\nwarp Ω")
    assert tail.read() == [ProgressEvent("run 1", 1, 12), ProgressEvent("tuning warp Ω")]
    report_progress("run 2", 2, 12)
    assert tail.read() == [ProgressEvent("run 2", 2, 12)]
    assert tail.read() == []


def test_half_a_line_waits_for_the_rest_and_noise_is_passed_on(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    tail = ProgressTail(path)
    line = json.dumps({"message": "half", "done": "x", "total": 3}).encode()
    path.write_bytes(b"plain text\n[1]\n\n" + line[:10])
    assert tail.read() == [ProgressEvent("plain text"), ProgressEvent("[1]")]
    with path.open("ab") as stream:
        stream.write(line[10:] + b"\n")
    assert tail.read() == [ProgressEvent("half", None, 3)]


def test_events_as_plain_lines() -> None:
    stream = io.StringIO()
    listener = to_stream(stream)
    listener(ProgressEvent("run 3", 3, 12))
    listener(ProgressEvent("starting", None, 12))
    listener(ProgressEvent("done"))
    assert stream.getvalue() == "[3/12] run 3\n[0/12] starting\ndone\n"
