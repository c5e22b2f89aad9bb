"""One request at a time over HTTP to this machine: kept-alive connections, a Unix socket as well, again after a lost connection."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from typing import Any
from urllib.parse import urlsplit

from kernaut.errors import InputError, KernautError

REQUEST_SECONDS = 60.0
_PAUSE_SECONDS = 0.1
_LOCAL = ("127.0.0.1", "localhost", "::1")


class ServiceRefusal(KernautError):
    """The evaluator service did not grant a request.

    Args:
        code: one word, as the service says it.
        status: the HTTP status.
        message: one sentence.
    """

    def __init__(self, code: str, status: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class Transport:
    """Sends requests, each thread over a connection of its own.

    Args:
        url: ``http://127.0.0.1:PORT`` or ``unix:///path``.
        token: bearer token; shows in no representation.
        patience: how long to try again while the service does not answer [s].

    Raises:
        InputError: for an address that is not this machine's.
    """

    def __init__(self, url: str, token: str | None, patience: float) -> None:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = None
        local = parts.scheme == "http" and parts.hostname in _LOCAL and port is not None
        if not local and not (parts.scheme == "unix" and parts.path):
            raise InputError(f"Expected a service at http://127.0.0.1:PORT or unix:///PATH. Got {url!r}.")
        self._url = url
        self._path = parts.path if parts.scheme == "unix" else None
        self._host, self._port = parts.hostname or "kernaut", port or 0
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._patience = patience
        self._local = threading.local()
        self._lock = threading.Lock()
        self._open: set[http.client.HTTPConnection] = set()

    def __repr__(self) -> str:
        return f"Transport({self._url!r})"

    def request(self, method: str, path: str, body: str | None = None) -> Any:
        """One request; sent again after a lost connection, so that it must be one the service grants twice alike.

        Args:
            method: ``GET`` or ``POST``.
            path: of the endpoint.
            body: JSON text.

        Returns:
            The parsed answer.

        Raises:
            ServiceRefusal: when the service says no.
            InputError: when no service answers in time.
        """
        deadline = time.monotonic() + self._patience
        while True:
            try:
                return self._once(method, path, body)
            except (OSError, http.client.HTTPException) as error:
                self._drop()
                if time.monotonic() >= deadline:
                    raise InputError(
                        f"Expected an evaluator service at {self._url}. Got: {type(error).__name__}: {error}.",
                        hint="Start it with kernaut sealed serve --ledger DIR.",
                    ) from error
                time.sleep(_PAUSE_SECONDS)

    def close(self) -> None:
        """Close the connections of all threads; a later request opens another."""
        with self._lock:
            for connection in self._open:
                connection.close()
            self._open.clear()
        self._local = threading.local()

    def _drop(self) -> None:
        """Close this thread's connection."""
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            with self._lock:
                self._open.discard(connection)
        self._local.connection = None

    def _once(self, method: str, path: str, body: str | None) -> Any:
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = _UnixConnection(self._path) if self._path else _QuickConnection(self._host, self._port)
            self._local.connection = connection
            with self._lock:
                self._open.add(connection)
        connection.request(method, path, None if body is None else body.encode("utf-8"), self._headers)
        answer = connection.getresponse()
        data = answer.read()
        try:
            record = json.loads(data)
        except ValueError:
            if answer.status < 400:  # an answer that a dying service cut short
                raise http.client.HTTPException("an answer cut short") from None
            record = {}
        if answer.status >= 400 or not isinstance(record, dict):
            known = isinstance(record, dict)
            code = str(record.get("error", "unknown")) if known else "unknown"
            text = (
                str(record.get("message", "The service gave no reason."))
                if known
                else "The service's answer is no JSON object."
            )
            raise ServiceRefusal(code, answer.status, text)
        return record


class _QuickConnection(http.client.HTTPConnection):
    """Sends small requests at once."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port, timeout=REQUEST_SECONDS)

    def connect(self) -> None:
        super().connect()
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class _UnixConnection(http.client.HTTPConnection):
    """Over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("kernaut", timeout=REQUEST_SECONDS)
        self._socket_path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(REQUEST_SECONDS)
        self.sock.connect(self._socket_path)
