"""The service's record."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from kernaut.errors import InputError
from kernaut.sealed.journal import NAME, Journal
from kernaut.sealed.ledger import LedgerDamaged
from kernaut.sealed.sealing import SealedKey

KEY = SealedKey(bytes(range(32)))


def written(folder: Path, count: int = 5) -> Path:
    journal = Journal(folder, KEY)
    for number in range(count):
        journal.append({"kind": "note", "value": number / 3, "text": "ü"})
    journal.close()
    return folder / NAME


def test_records_come_back_in_order_and_chain_on(tmp_path: Path) -> None:
    written(tmp_path)
    journal = Journal(tmp_path, KEY)
    assert [record["value"] for record in journal.records] == [n / 3 for n in range(5)]
    assert journal.append({"kind": "note"}) == 6
    assert journal.synced == 5
    journal.sync()
    assert journal.synced == 6
    journal.close()
    again = Journal(tmp_path, KEY)
    assert len(again.records) == 6 and again.dropped == 0
    again.close()


def test_nothing_is_on_disk_before_the_sync_and_all_of_it_after(tmp_path: Path) -> None:
    journal = Journal(tmp_path, KEY)
    journal.append({"kind": "a"})
    assert (tmp_path / NAME).read_bytes() == b""
    journal.append({"kind": "b"})
    journal.sync()
    assert len((tmp_path / NAME).read_text().splitlines()) == 2
    journal.close()


def test_a_sync_in_another_thread_at_any_moment_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that syncs runs while a record is being made (a switch that chance brings once in many thousands)."""
    journal, true_dumps = Journal(tmp_path, KEY), json.dumps

    def interrupted(*arguments: Any, **keywords: Any) -> str:
        thread = threading.Thread(target=journal.sync)
        thread.start()
        thread.join(5.0)
        return true_dumps(*arguments, **keywords)

    monkeypatch.setattr(json, "dumps", interrupted)
    for number in range(4):
        journal.append({"kind": "note", "value": number})
    monkeypatch.undo()
    journal.close()
    again = Journal(tmp_path, KEY)
    assert [record["value"] for record in again.records] == [0, 1, 2, 3]
    again.close()


def test_each_line_carries_the_mac_of_what_came_before(tmp_path: Path) -> None:
    lines = written(tmp_path).read_text().splitlines()
    last = "0" * 64
    for line in lines:
        record = json.loads(line)
        mac = record.pop("mac")
        body = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert mac == KEY.mac(f"{last}|{body}")
        last = mac


@pytest.mark.parametrize("kind", ["byte", "removed", "swapped", "doubled", "forged", "spaces", "key"])
def test_a_changed_record_is_seen(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    if kind == "byte":
        lines[2] = lines[2].replace('"value":0.66', '"value":0.67')
    elif kind == "removed":
        del lines[1]
    elif kind == "swapped":
        lines[1], lines[2] = lines[2], lines[1]
    elif kind == "doubled":
        lines.append(lines[-1])
    elif kind == "forged":
        lines.append('{"kind":"note","n":6,"mac":"' + "0" * 64 + '"}\n')
    elif kind == "spaces":
        lines[0] = lines[0].replace(",", ", ", 1)
    path.write_text("".join(lines))
    with pytest.raises(LedgerDamaged, match="continue the chain"):
        Journal(tmp_path, SealedKey(bytes(32)) if kind == "key" else KEY)


@pytest.mark.parametrize("cut", [1, 40, 100])
def test_a_line_that_a_crash_cut_short_is_dropped(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path)
    path.write_bytes(path.read_bytes()[:-cut])
    journal = Journal(tmp_path, KEY)
    assert len(journal.records) == 4
    assert journal.dropped > 0
    journal.append({"kind": "after"})
    journal.close()
    again = Journal(tmp_path, KEY)
    assert [record["kind"] for record in again.records] == ["note"] * 4 + ["after"]
    again.close()


def test_one_service_at_a_time(tmp_path: Path) -> None:
    journal = Journal(tmp_path, KEY)
    with pytest.raises(InputError, match="other service"):
        Journal(tmp_path, KEY)
    journal.close()
    Journal(tmp_path, KEY).close()
