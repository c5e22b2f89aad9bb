"""The sealed ledger."""

from __future__ import annotations

import hashlib
import hmac
import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernaut.digest import canonical_json
from kernaut.errors import InputError
from kernaut.sealed.ledger import Ledger, LedgerDamaged, prepare_private
from kernaut.sealed.sealing import new_key


def test_every_file_is_its_owners_alone_and_tagged(task_set: Any) -> None:
    secret = bytes.fromhex(task_set.key_file.read_text().strip())
    assert stat.S_IMODE(task_set.ledger.stat().st_mode) == 0o700
    files = [task_set.ledger / "ledger.json", *sorted((task_set.ledger / "rows").iterdir())]
    assert len(files) == 10
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        record = json.loads(path.read_text())
        body = json.dumps(record["payload"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert record["tag"] == hmac.new(secret, body.encode(), hashlib.sha256).hexdigest()
        assert secret.hex() not in path.read_text()


def test_rows_hold_what_a_judge_needs(task_set: Any) -> None:
    ledger = Ledger(task_set.ledger, task_set.key)
    assert ledger.families == ("attention_2d", "fm_kernel_loss", "haar_encode")
    for task in task_set.manifest.tasks.values():
        row = ledger.row(task.task_id)
        assert row.public_digest == task.digest
        assert row.horizon_budget == task.horizon_budget
        assert row.j_random.rollouts == 200
        assert row.j_random.lower <= row.j_random.mean <= row.j_random.upper
        assert row.j_worst == 2.0 * (row.j_random.mean - 1e-9) - row.j_star
        assert row.certificate["kind"] == ("duality" if "kernel" in task.family else "analytic")
    assert ledger.index.to_json()["splits"] == task_set.manifest.index.to_json()["splits"]
    with pytest.raises(InputError, match="of this ledger"):
        ledger.row("v41-haar_encode-0999")


def test_every_flipped_byte_of_a_row_is_seen(own_set: Any) -> None:
    ledger = Ledger(own_set.ledger, own_set.key)
    path = own_set.ledger / "rows" / "v41-haar_encode-0000.json"
    content = path.read_bytes()
    assert ledger.row("v41-haar_encode-0000").family == "haar_encode"
    for place in range(0, len(content), 37):
        for bit in (1, 32):
            changed = bytearray(content)
            changed[place] ^= bit
            path.write_bytes(bytes(changed))
            with pytest.raises(LedgerDamaged, match=r"fit its tag|sealed row"):
                ledger.row("v41-haar_encode-0000")
    path.write_bytes(content)
    assert np.isfinite(ledger.row("v41-haar_encode-0000").j_star)


@pytest.mark.parametrize("kind", ["swapped", "missing", "header", "spaces", "foreign"])
def test_a_ledger_that_was_changed_does_not_open(own_set: Any, kind: str) -> None:
    rows = own_set.ledger / "rows"
    one, two = rows / "v41-haar_encode-0000.json", rows / "v41-haar_encode-0001.json"
    if kind == "swapped":
        one.write_bytes(two.read_bytes())
    elif kind == "missing":
        one.unlink()
    elif kind == "header":
        header = own_set.ledger / "ledger.json"
        header.write_text(header.read_text().replace('"seed":5', '"seed":6'))
    elif kind == "spaces":
        one.write_text(one.read_text() + " ")
    else:
        key = new_key()
        payload = json.loads(one.read_text())["payload"]
        one.write_text(canonical_json({"payload": payload, "tag": key.tag(payload)}))
    with pytest.raises(LedgerDamaged, match="Expected"):
        Ledger(own_set.ledger, own_set.key)


def test_another_key_opens_nothing(own_set: Any, tmp_path: Path) -> None:
    key = new_key()
    with pytest.raises(InputError, match="--key-file"):
        Ledger(own_set.ledger, key)
    with pytest.raises(InputError, match="sealed ledger"):
        Ledger(tmp_path / "none", key)
    row = own_set.ledger / "rows" / "v41-haar_encode-0000.json"
    for path, right in (
        (own_set.ledger, 0o700),
        (own_set.ledger / "rows", 0o700),
        (row, 0o600),
        (own_set.ledger / "ledger.json", 0o600),
    ):
        for extra in (0o040, 0o004, 0o002):
            path.chmod(right | extra)
            with pytest.raises(InputError, match="readable by its owner alone") as caught:
                Ledger(own_set.ledger, own_set.key)
            assert caught.value.hint == f"Run: chmod {right:o} {path}"
            path.chmod(right)
    (own_set.ledger / "ledger.json").write_text("{}")
    with pytest.raises(LedgerDamaged):
        Ledger(own_set.ledger, own_set.key)


def test_a_ledger_is_never_written_over(own_set: Any) -> None:
    with pytest.raises(InputError, match="holds files"):
        prepare_private(own_set.ledger)
