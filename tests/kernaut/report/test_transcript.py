"""Conversations as they are shown: which run is meant, and text that no model can turn against a terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernaut.archive.records import CampaignRecord, Entries, TranscriptRecord
from kernaut.archive.store import Archive
from kernaut.errors import InputError
from kernaut.report.transcript import transcript_text, transcripts_of

SOURCE = "def f(x):\n    return x"
SAID: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("user", {"text": "Write.\nNow."}, {}),
    (
        "assistant",
        {
            "text": "\x1b[31mred\u202e",
            "reasoning": "hm",
            "refusal": None,
            "requests": [{"id": "r1", "name": "stage", "arguments": json.dumps({"source": SOURCE, "n": 1})}],
        },
        {"prompt_tokens": 7, "completion_tokens": 2, "estimated": False, "cost": None},
    ),
    ("tool", {"id": "r1", "name": "stage", "result": {"draft": 0}}, {}),
]


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    opened = Archive.create(tmp_path / "a.sqlite")
    for name in ("one", "b:2"):
        opened.begin_campaign(CampaignRecord(name, "bbo", "evolutionary", 0, 2))
        for index in range(2):
            opened.open_run(name, index, generation=0)
    entries = tuple(TranscriptRecord("b:2", 1, place, *entry) for place, entry in enumerate(SAID))
    opened.record(Entries(transcripts=entries))
    opened.close_run("b:2", 0, result={"ended": "finished"})
    return opened


def test_a_run_is_named_by_campaign_and_index(archive: Archive) -> None:
    with archive:
        (run,) = transcripts_of(archive, "b:2:1")["runs"]
        assert (run["run"], run["status"], run["usage"]["prompt_tokens"]) == (1, "open", 7)
        assert [entry["role"] for entry in run["entries"]] == ["user", "assistant", "tool"]
        json.dumps(run)
        assert [run["run"] for run in transcripts_of(archive, "b:2")["runs"]] == [0, 1]
        for wrong in ("1", "one:2", "two:0", "one:x", ":", ""):
            with pytest.raises(InputError, match="one:0 to one:1"):
                transcripts_of(archive, wrong)


def test_text_shows_sources_line_by_line_and_no_control_character(archive: Archive) -> None:
    with archive:
        text = transcript_text(transcripts_of(archive, "b:2"))
    assert "run 0 of b:2, closed: 0 answers" in text
    assert "no conversation" in text
    assert "            def f(x):\n                return x" in text
    assert "        n: 1" in text
    assert "\\x1b[31mred\\u202e" in text
    assert "(thinks) hm" in text
    assert 'stage [r1]: {"draft": 0}' in text
    assert all(mark.isprintable() or mark == "\n" for mark in text)
