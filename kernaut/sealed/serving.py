"""The service as a process: ``python -m kernaut.sealed.serving``, options as JSON on standard input.  Trusted side.

Options: ``ledger``, ``key_file`` (null: by the ledger's key id), ``host``, ``port`` (0: any free one), ``socket`` (a Unix socket's path instead).  It writes
one JSON line when it listens.  SIGTERM and SIGINT end it once requests under way are answered.  Exit codes: 0 stopped on request, 2 bad
input, 3 the ledger is damaged or cannot be written.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from kernaut.errors import InputError, KernautError
from kernaut.sealed.book import Book
from kernaut.sealed.journal import Journal
from kernaut.sealed.ledger import Ledger, LedgerDamaged, sealed_key_id
from kernaut.sealed.places import key_path, token_path, write_secret
from kernaut.sealed.reporting import complain, run_process, say
from kernaut.sealed.sealing import read_key
from kernaut.sealed.service import Service, role_token

LOOPBACK = ("127.0.0.1", "::1", "localhost")
_GRACE_SECONDS = 10
_BACKLOG = 2048
_PARENT_SECONDS = 0.5


def serve(options: Mapping[str, Any]) -> int:
    """Serve a ledger until asked to stop.

    Args:
        options: as in the module's docstring.

    Returns:
        The exit code.

    Raises:
        InputError: for a bad option, ledger or key.
        LedgerDamaged: when the ledger or its record was changed.
    """
    folder = Path(options["ledger"])
    key_file = Path(options["key_file"]) if options.get("key_file") else key_path(sealed_key_id(folder))
    key = read_key(key_file)
    listener, url = _listener(options)
    journal = Journal(folder, key)
    service_end: list[str] = []
    service = Service(
        Book(Ledger(folder, key), journal, key), journal, key, lambda reason: _end(server, service_end, reason)
    )
    config = uvicorn.Config(
        service.app,
        log_level="critical",
        access_log=False,
        lifespan="off",
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    server = _Server(config)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: server.end())
    for role in ("runner", "owner"):
        write_secret(token_path(key.id, role), role_token(key, role) + "\n", replace=True)
    said = {
        "event": "serving",
        "url": url,
        "pid": os.getpid(),
        "key_id": key.id,
        "tasks": len(service._book.ledger.task_ids),
    }
    say(said | {"token_file": str(token_path(key.id, "runner"))})
    threading.Thread(target=_watch_parent, args=(server, os.getppid()), daemon=True).start()
    server.run(sockets=[listener])
    if not service_end:
        journal.close()
        return 0
    complain(KernautError(service_end[0]))
    return LedgerDamaged.exit_code


class _Server(uvicorn.Server):
    """A server that ends by itself on a signal, so that what comes after it still runs."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave the signals to :func:`serve`."""
        yield

    def end(self) -> None:
        """Stop once requests under way are answered."""
        self.should_exit = True


def _end(server: uvicorn.Server, ends: list[str], reason: str) -> None:
    ends.append(reason)
    server.should_exit = True


def _watch_parent(server: uvicorn.Server, parent: int) -> None:
    """End the service when the process that started it is gone."""
    while os.getppid() == parent:
        time.sleep(_PARENT_SECONDS)
    server.should_exit = True


def _listener(options: Mapping[str, Any]) -> tuple[socket.socket, str]:
    """The bound socket and the service's address."""
    path = options.get("socket")
    if path:
        where = Path(path)
        if where.is_socket():
            where.unlink()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o077)
        try:
            listener.bind(str(where))
        except OSError as error:
            raise InputError(f"Expected to listen on the socket {where}. Got: {error}.") from error
        finally:
            os.umask(mask)
        listener.listen(_BACKLOG)
        return listener, f"unix://{where.resolve()}"
    host, port = options.get("host") or LOOPBACK[0], options.get("port") or 0
    if host not in LOOPBACK:
        raise InputError(f"Expected a host of {', '.join(LOOPBACK)} (this machine only). Got {host!r}.")
    if type(port) is not int or not 0 <= port <= 65535:
        raise InputError(f"Expected a port from 0 (any free one) to 65535. Got {port!r}.")
    family = socket.AF_INET6 if host == "::1" else socket.AF_INET
    # the protocol is named so that asyncio sends each part of an answer at once; else each answer waits 40 ms for an acknowledgement
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        raise InputError(
            f"Expected a free port. Got {port}: {error.strerror}.", hint="Use --port 0 for any free one."
        ) from error
    listener.listen(_BACKLOG)
    shown = "[::1]" if host == "::1" else host
    return listener, f"http://{shown}:{listener.getsockname()[1]}"


if __name__ == "__main__":
    sys.exit(run_process(serve))
