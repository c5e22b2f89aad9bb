"""A real HTTP server that speaks chat completions and replays a scripted model; it can misbehave, one fault a request.

What the scripted model answers follows from the conversation that it is sent, so that a resumed run and runs in two processes get the same answers.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

from kernaut.program.formulation import FORMULATION_FIELDS

KEY = "sk-test-0123456789-abcdefghij"
Call = tuple[str, dict[str, Any]]
Fault = Callable[["Handler"], None]
FORMULATION = dict.fromkeys(FORMULATION_FIELDS, "A sentence.") | {
    "construction_niche": "feature_projection",
    "feature_growth": "linear",
}


def turn_of(messages: list[dict[str, Any]]) -> int:
    """How many answers the model has given."""
    return sum(message["role"] == "assistant" for message in messages)


def candidate(messages: list[dict[str, Any]], **changed: Any) -> dict[str, Any]:
    """A program whose source differs between runs with different prompts."""
    prompt = next(message["content"] for message in messages if message["role"] == "user")
    digest = hashlib.sha256(prompt.encode()).hexdigest()
    bend = 1 + int(digest[:4], 16) % 97
    source = (
        "import torch\n\ndef transform_point(x, parameters):\n"
        f"    return torch.cat([x, parameters['height'] * torch.sin({bend / 10} * x)])\n"
    )
    record = {
        "name": f"wave-{digest[:6]}",
        "contract": "input_transform",
        "source": source,
        "parameters": {"height": 0.5},
        "parameter_space": {"height": {"type": "float", "scale": "log", "lower": 0.1, "upper": 2.0}},
        "parents": [],
        "rationale": "Waves beside the coordinates.",
    }
    return record | changed


def usual_script(messages: list[dict[str, Any]]) -> list[Call]:
    """Propose, stage, verify, tune and submit at once; then look around."""
    if turn_of(messages) == 0:
        return [
            ("propose_formulation", FORMULATION),
            ("stage_candidate", candidate(messages)),
            ("verify_staged_candidate", {}),
            ("optimize_parameters", {"trials": 2, "gradient_steps": 1}),
            ("submit_staged_candidate", {}),
        ]
    return [("query_archive", {"limit": 3})]


def completion(calls: list[Call], text: str | None = None, **message: Any) -> dict[str, Any]:
    """The body of an answer."""
    requests = [
        {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for place, (name, arguments) in enumerate(calls)
    ]
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls" if calls else "stop",
                "message": {
                    "role": "assistant",
                    "content": text,
                    **({"tool_calls": requests} if calls else {}),
                    **message,
                },
            }
        ],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
    }


class Handler(BaseHTTPRequestHandler):
    """Answers one request, or does what the next fault says."""

    protocol_version = "HTTP/1.1"
    server: ModelServer

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["content-length"]))
        self.request_body: dict[str, Any] = json.loads(raw)
        self.server.requests.append(self.request_body)
        self.server.keys.append(self.headers.get("authorization", ""))
        fault = self.server.faults.pop(0) if self.server.faults else self.server.always
        if fault is not None:
            fault(self)
        else:
            self.send_json(self.usual())

    def usual(self) -> dict[str, Any]:
        """What the scripted model answers."""
        return completion(self.server.script(self.request_body["messages"]))

    def send_json(self, body: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_text(json.dumps(body), status, headers)

    def send_text(self, text: str, status: int = 200, headers: dict[str, str] | None = None) -> None:
        data = text.encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *words: Any) -> None:
        """Say nothing."""


class ModelServer(ThreadingHTTPServer):
    """Use :func:`model_server`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: Callable[[list[dict[str, Any]]], list[Call]] = usual_script
        self.faults: list[Fault | None] = []
        self.always: Fault | None = None
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.released = Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


@contextmanager
def model_server() -> Iterator[ModelServer]:
    server = ModelServer()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


# Faults


def status(code: int, message: str, **headers: str) -> Fault:
    """An error answer."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.send_json({"error": {"message": message, "type": "t"}}, code, named)


def hang(handler: Handler) -> None:
    """No answer, until the server is closed."""
    handler.server.released.wait(300)


def drip(handler: Handler) -> None:
    """A byte now and then: every read succeeds, and the answer never ends."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", "1000000")
    handler.end_headers()
    while not handler.server.released.is_set():
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.02)


def cut(handler: Handler) -> None:
    """Half an answer, then the end of the connection."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", "5000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.wfile.flush()
    handler.close_connection = True


def text(body: str, content_type: str = "application/json") -> Fault:
    """A body that need not be JSON."""
    return lambda handler: handler.send_text(body, headers={"content-type": content_type})


def altered(change: Callable[[dict[str, Any]], Any]) -> Fault:
    """The usual answer, changed."""

    def send(handler: Handler) -> None:
        body = handler.usual()
        changed = change(body)
        handler.send_json(body if changed is None else changed)

    return send


def said(body: dict[str, Any]) -> Fault:
    """Another answer than the usual one."""
    return lambda handler: handler.send_json(body)
