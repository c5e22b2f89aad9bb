"""The service's record: append-only, chained by HMAC, on disk before anything is answered.  Trusted side.

One JSON line a record.  Each carries ``mac``, the HMAC of the previous record's mac and of itself, so that a changed, removed or swapped line is
seen.  Records are collected and synced together (group commit).  A line that a crash cut short was never answered for; it is dropped, which
is recorded.  (A tail removed whole line by whole line cannot be told from a crash.)
"""

from __future__ import annotations

import fcntl
import hmac
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernaut.digest import canonical_json
from kernaut.errors import InputError
from kernaut.sealed.ledger import LedgerDamaged
from kernaut.sealed.sealing import SealedKey

NAME = "evaluations.jsonl"
_START = "0" * 64


class Journal:
    """The record file of one ledger, held by one service at a time.

    Args:
        folder: the ledger's folder.
        key: the ledger's key.

    Attributes:
        records: what the file held when it was opened, oldest first.
        dropped: bytes of an unfinished last line that were dropped.
        appended: number of the last record appended.
        synced: number of the last record on disk.

    Raises:
        InputError: when another service holds it, or it cannot be written.
        LedgerDamaged: when the chain is broken.
    """

    def __init__(self, folder: Path, key: SealedKey) -> None:
        self._key = key
        self._path = folder / NAME
        self._last = _START
        self._waiting: list[bytes] = []
        self._lock = threading.Lock()
        """Of what waits: records are added in the service's loop and taken in the thread that syncs."""
        try:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise InputError(f"Expected to write {self._path}. Got: {error.strerror}.") from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            raise InputError(
                f"Expected no other service on {folder}. One is running.", hint="Use it, or stop it first."
            ) from None
        self.records: list[dict[str, Any]] = []
        self.dropped = self._read()
        self.appended = self.synced = len(self.records)

    def append(self, record: Mapping[str, Any]) -> int:
        """Add a record; it is on disk once :meth:`sync` has run.

        Returns:
            Its number, from 1.
        """
        body = canonical_json({**record, "n": self.appended + 1})
        mac = self._mac(body)
        line = f"{body[:-1]},{json.dumps('mac')}:{json.dumps(mac)}}}\n".encode()
        with self._lock:
            self._waiting.append(line)
            self._last = mac
            self.appended += 1
        return self.appended

    def sync(self) -> None:
        """Write and sync everything appended so far.

        Raises:
            OSError: when the disk does not take it.
        """
        with self._lock:
            upto, lines = self.appended, self._waiting
            self._waiting = []
        data = b"".join(lines)
        while data:
            data = data[os.write(self._descriptor, data) :]
        os.fdatasync(self._descriptor)
        self.synced = upto

    def close(self) -> None:
        """Sync and let go of the file."""
        self.sync()
        os.close(self._descriptor)

    def _mac(self, body: str) -> str:
        return self._key.mac(f"{self._last}|{body}")

    def _read(self) -> int:
        """Verify the chain and keep its records; how many bytes of a torn last line were cut off."""
        content = self._path.read_bytes()
        whole = content.rfind(b"\n") + 1
        for line in content[:whole].splitlines():
            number = len(self.records) + 1
            record = self._verified(line, number)
            if record is None:
                raise LedgerDamaged(
                    f"Expected record {number} of {self._path} to continue the chain. It was changed after it was written.",
                    hint="Restore the file from a copy; nothing is scored with a changed record.",
                )
            self.records.append(record)
        if whole < len(content):
            os.ftruncate(self._descriptor, whole)
            os.fsync(self._descriptor)
        return len(content) - whole

    def _verified(self, line: bytes, number: int) -> dict[str, Any] | None:
        try:
            record = json.loads(line)
            mac = record.pop("mac")
            body = canonical_json(record)
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            return None
        expected = self._mac(body)
        if not isinstance(mac, str) or record.get("n") != number or not hmac.compare_digest(mac, expected):
            return None
        if line != f'{body[:-1]},"mac":"{mac}"}}'.encode():
            return None
        self._last = mac
        return dict(record)
