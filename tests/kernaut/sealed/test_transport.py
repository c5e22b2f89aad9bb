"""Requests to this machine."""

from __future__ import annotations

import socket
import threading

import pytest

from kernaut.errors import InputError
from kernaut.sealed.transport import ServiceRefusal, Transport


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:80",
        "https://127.0.0.1:1",
        "http://127.0.0.1",
        "http://example.com:80",
        "http://127.0.0.1:x",
        "unix://",
        "file:///x",
    ],
)
def test_only_this_machine_is_asked(url: str) -> None:
    with pytest.raises(InputError, match=r"127\.0\.0\.1"):
        Transport(url, "t", 0.0)


def test_a_token_shows_in_no_representation() -> None:
    assert "secret" not in repr(Transport("http://127.0.0.1:1", "secret", 0.0))


def test_a_service_that_is_not_there_is_said() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(InputError, match="kernaut sealed serve"):
        Transport(f"http://127.0.0.1:{port}", None, 0.0).request("GET", "/health")


def answering(*answers: bytes) -> tuple[int, threading.Thread, list[bytes]]:
    """A server that answers each connection in turn and keeps what it was sent."""
    listener = socket.create_server(("127.0.0.1", 0))
    seen: list[bytes] = []

    def work() -> None:
        for answer in answers:
            connection, _ = listener.accept()
            with connection:
                data = b""
                while not data.endswith(b"}") and (part := connection.recv(65536)):
                    data += part
                seen.append(data)
                connection.sendall(answer)
        listener.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return listener.getsockname()[1], thread, seen


def http(body: bytes, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


def test_a_lost_answer_is_asked_for_again_with_the_same_request() -> None:
    port, thread, seen = answering(b"", b"HTTP/1.1 200", http(b'{"x": 1}'))
    transport = Transport(f"http://127.0.0.1:{port}", "t", 30.0)
    assert transport.request("POST", "/evaluate", '{"a":1}') == {"x": 1}
    thread.join(5.0)
    assert len(seen) == 3 and seen[0] == seen[1] == seen[2]
    assert b"Authorization: Bearer t" in seen[0]
    transport.close()


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (http(b'{"error": "budget", "message": "Used up."}', "429 Too Many"), "budget"),
        (http(b"<html>", "502 Bad"), "unknown"),
        (http(b"[1]"), "unknown"),
    ],
)
def test_refusals_are_errors_and_are_not_repeated(answer: bytes, code: str) -> None:
    port, thread, seen = answering(answer)
    transport = Transport(f"http://127.0.0.1:{port}", "t", 30.0)
    with pytest.raises(ServiceRefusal) as caught:
        transport.request("POST", "/x", "{}")
    assert caught.value.code == code
    thread.join(5.0)
    assert len(seen) == 1
    transport.close()
