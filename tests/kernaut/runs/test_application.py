from __future__ import annotations

import http.client
import socket
from pathlib import Path

import pytest

from kernaut.errors import InputError
from kernaut.runs.application import Application
from kernaut.runs.failures import NotebookInputError


def status(port: int, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path)
    reply = connection.getresponse()
    found = reply.status, reply.getheader("Location") or ""
    connection.close()
    return found


def test_it_answers_on_this_machine_only_and_asks_for_its_token(tmp_path: Path) -> None:
    with Application("runs", workspace=tmp_path) as application:
        application.wait_until_ready()
        code, where = status(application.port, "/")
        assert code == 302 and where.startswith("/login")
        assert status(application.port, f"/?token={'0' * 32}")[0] == 302
        own = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
        for address in own:
            with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
                socket.create_connection((str(address), application.port), 2.0).close()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", application.port), 2.0)


def test_a_taken_port_and_an_unknown_notebook_are_refused(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match="free port"):
            Application("runs", port=taken.getsockname()[1], workspace=tmp_path)
    with pytest.raises(NotebookInputError, match="kernel_playground"):
        Application("kernel_plaground", workspace=tmp_path)
