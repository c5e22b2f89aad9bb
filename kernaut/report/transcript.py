"""Conversations of a campaign's runs, as they are stored: for programs as JSON, for people as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kernaut.archive.records import TranscriptRecord
from kernaut.archive.store import Archive
from kernaut.authors.spending import spending_of
from kernaut.digest import thaw
from kernaut.errors import InputError

INDENT = "    "


def transcripts_of(archive: Archive, run: str) -> dict[str, Any]:
    """The conversations of a run, or of all runs of a campaign.

    Args:
        archive: opened, read-only is enough.
        run: ``CAMPAIGN:INDEX`` for one run, ``CAMPAIGN`` for all of its runs, or ``INDEX`` where the archive holds one campaign.

    Raises:
        InputError: when no such run is there.
    """
    campaign, indices = _runs_named(archive, run)
    found = []
    for index in indices:
        entries = archive.transcript(campaign, index)
        record = archive.run(campaign, index)
        assert record is not None
        found.append(
            {
                "run": index,
                "status": record.status,
                "state": thaw(record.state),
                "result": thaw(record.result),
                "usage": spending_of(entry.usage for entry in entries).to_json(),
                "entries": [_entry(entry) for entry in entries],
            }
        )
    return {"campaign": campaign, "runs": found}


def transcript_text(record: Mapping[str, Any]) -> str:
    """Conversations in a form that people read; control characters are shown, not sent to the terminal."""
    lines: list[str] = []
    for run in record["runs"]:
        usage = run["usage"]
        lines += [
            f"run {run['run']} of {record['campaign']}, {run['status']}: {usage['calls']} answers, "
            f"{usage['prompt_tokens']} tokens sent, {usage['completion_tokens']} answered"
        ]
        if not run["entries"]:
            lines += [INDENT + "no conversation: its author is not a language model"]
        for entry in run["entries"]:
            lines += ["", f"-- {entry['role']}", *_said(entry["content"])]
        if run["result"] is not None:
            lines += ["", f"-- ended: {run['result'].get('ended') or run['result'].get('stopped')}", ""]
    return "\n".join(_printable(line) for line in lines)


def _runs_named(archive: Archive, run: str) -> tuple[str, list[int]]:
    campaigns = [campaign.id for campaign in archive.campaigns()]
    name, _, index = run.rpartition(":")
    if run in campaigns:
        return run, [record.index for record in archive.runs(run)]
    if not name and len(campaigns) == 1:
        name = campaigns[0]
    if name in campaigns and index.isdecimal() and archive.run(name, int(index)) is not None:
        return name, [int(index)]
    known = [f"{campaign}:0 to {campaign}:{len(archive.runs(campaign)) - 1}" for campaign in campaigns]
    raise InputError(
        f"Expected a run as CAMPAIGN:INDEX, or a campaign, of {'; '.join(known) or '(none stored)'}. Got {run!r}."
    )


def _entry(entry: TranscriptRecord) -> dict[str, Any]:
    return {
        "position": entry.position,
        "role": entry.role,
        "content": thaw(entry.content),
        **({"usage": thaw(entry.usage)} if entry.usage else {}),
    }


def _said(content: Mapping[str, Any]) -> Sequence[str]:
    """The lines of one entry."""
    lines = [INDENT + line for line in str(content.get("text") or "").splitlines()]
    lines += [f"{INDENT}(thinks) {line}" for line in str(content.get("reasoning") or "").splitlines()]
    if content.get("refusal"):
        lines.append(f"{INDENT}(refuses) {content['refusal']}")
    for request in content.get("requests", ()):
        lines += [f"{INDENT}calls {request['name']} [{request['id']}]", *_arguments(request["arguments"])]
    if "result" in content:
        lines.append(
            f"{INDENT}{content['name']} [{content['id']}]: {json.dumps(content['result'], ensure_ascii=False)}"
        )
    return lines


def _arguments(text: str) -> list[str]:
    """Arguments one by one, a source as it is written."""
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        return [2 * INDENT + line for line in text.splitlines()]
    lines = []
    for name, value in values.items():
        if isinstance(value, str) and "\n" in value:
            lines += [f"{2 * INDENT}{name}:", *(3 * INDENT + line for line in value.splitlines())]
        else:
            lines.append(f"{2 * INDENT}{name}: {json.dumps(value, ensure_ascii=False)}")
    return lines


def _printable(line: str) -> str:
    return "".join(mark if mark.isprintable() or mark == "\t" else repr(mark)[1:-1] for mark in line)
