"""The service as a process: where it listens, how it ends, what it refuses to start with."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from kernaut.errors import InputError
from kernaut.sealed.client import connect, serve
from kernaut.sealed.journal import NAME
from kernaut.sealed.places import VARIABLE, key_path, write_secret
from kernaut.sealed.serving import _listener


def test_it_may_listen_on_a_unix_socket_and_ends_on_request(light_set: Any, tmp_path: Path) -> None:
    where = tmp_path / "s"
    with serve(light_set.ledger, key_file=light_set.key_file, socket=where) as service:
        assert service.url == f"unix://{where}"
        assert where.stat().st_mode & 0o077 == 0
        with connect(service.url, patience=5.0) as mine:
            assert mine.health()["tasks"] == 6
            run = mine.register("mine", "train", [0])
        assert service.stop() == 0
    assert '"kind":"run"' in (light_set.ledger / NAME).read_text()
    with serve(light_set.ledger, key_file=light_set.key_file, socket=where) as service, connect(service.url) as mine:
        mine.close(run.id)


def test_answers_are_sent_at_once() -> None:
    """Without TCP_NODELAY on what asyncio accepts, each answer of two parts waits 40 ms for an acknowledgement."""

    class Told(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            taken = transport.get_extra_info("socket")
            told.set_result(taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    async def connect_once() -> int:
        nonlocal told
        told = asyncio.get_running_loop().create_future()
        server = await asyncio.get_running_loop().create_server(Told, sock=listener)
        with socket.create_connection(listener.getsockname(), 5.0):
            found = await told
        server.close()
        return found

    told: Any = None
    listener, url = _listener({})
    assert url.startswith("http://127.0.0.1:")
    assert asyncio.run(connect_once()) != 0


def test_the_key_is_found_by_its_id(light_set: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "home"))
    with pytest.raises(InputError, match="--key-file"):
        serve(light_set.ledger)
    write_secret(key_path(light_set.key.id), light_set.key_file.read_text())
    with serve(light_set.ledger) as service:
        assert service.tasks == 6


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"host": "0.0.0.0"}, "this machine only"),
        ({"host": "example.com"}, "this machine only"),
        ({"port": 70_000}, "65535"),
        ({"port": -1}, "65535"),
        ({"socket": "/nowhere/at/all"}, "Expected to listen"),
    ],
)
def test_it_listens_on_this_machine_only(light_set: Any, options: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match=word):
        serve(light_set.ledger, key_file=light_set.key_file, **options)


def test_a_taken_port_and_a_missing_ledger_are_said(light_set: Any, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match="free port"):
            serve(light_set.ledger, key_file=light_set.key_file, port=taken.getsockname()[1])
    with pytest.raises(InputError, match="kernaut sealed generate"):
        serve(tmp_path / "none")


def test_a_record_that_was_changed_stops_the_start(light_set: Any) -> None:
    with serve(light_set.ledger, key_file=light_set.key_file) as service, connect(service.url) as mine:
        mine.register("mine", "train", [0])
    path = light_set.ledger / NAME
    path.write_bytes(path.read_bytes().replace(b'"mine"', b'"your"'))
    with pytest.raises(InputError, match="continue the chain"):
        serve(light_set.ledger, key_file=light_set.key_file)


def test_it_ends_with_the_process_that_started_it(light_set: Any) -> None:
    script = (
        "import sys, time\nfrom kernaut.sealed.client import serve\n"
        f"s = serve({str(light_set.ledger)!r}, key_file={str(light_set.key_file)!r})\n"
        "print(s.process.pid, flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-P", "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        os.kill(parent.pid, signal.SIGKILL)
    process = psutil.Process(pid) if psutil.pid_exists(pid) else None
    deadline = time.monotonic() + 30.0
    while process is not None and process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "the service lives on"
        time.sleep(0.1)
