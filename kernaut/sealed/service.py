"""The evaluator service: the book's rules over HTTP, on this machine only.  Trusted side.

FastAPI on 127.0.0.1 or a Unix socket.  ``/health`` is open; all else takes a bearer token, the runner's or the owner's.  Records are synced
before an answer goes out, those of requests that arrive together in one go.  A damaged ledger or a disk that takes no record stops the service.

    POST /runs {policy, split, seeds, options, request}   -> {run, episodes: [{task_id, seed, token}]}
    POST /open {token}                                     -> {}
    POST /evaluate {token, index, task, seed, output}      -> {returns, steps_used, diagnostics: {J, difference}}
    POST /finish {token, outcome, index, reason}           -> {}
    POST /close {run}                                      -> {}
    POST /report {runs, times, details}                    -> the report
"""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response

from kernaut.digest import canonical_json
from kernaut.errors import InputError
from kernaut.sealed.aggregation import report
from kernaut.sealed.book import Book, Refusal
from kernaut.sealed.journal import Journal
from kernaut.sealed.ledger import LedgerDamaged
from kernaut.sealed.manifest import VERSION
from kernaut.sealed.results import ORACLE
from kernaut.sealed.sealing import SealedKey

MAX_BODY = 8 * 1024 * 1024
_HOSTS = ("127.0.0.1", "localhost", "[::1]", "kernaut")

Handler = Callable[[Mapping[str, Any], bool], Awaitable[Mapping[str, Any]]]


def role_token(key: SealedKey, role: str) -> str:
    """The bearer token of a role; it stays the same when the service is started again."""
    return key.mac(f"kernaut {role} token")


class Service:
    """The application and its state.

    Args:
        book: the rules.
        journal: the record.
        key: derives the bearer tokens.
        stop: called with the reason when the service must not go on.

    Attributes:
        app: the ASGI application.
        stopped: why nothing is answered any more; None while all is well.
    """

    def __init__(self, book: Book, journal: Journal, key: SealedKey, stop: Callable[[str], None]) -> None:
        self.stopped: str | None = None
        self._book = book
        self._journal = journal
        self._stop = stop
        self._tokens = {role: role_token(key, role).encode() for role in ("runner", "owner")}
        self._key_id = key.id
        self._syncing: asyncio.Task[None] | None = None
        self.app = FastAPI(title="Kernaut sealed evaluator", docs_url=None, redoc_url=None, openapi_url=None)
        self.app.add_api_route("/health", self._health, methods=["GET"])
        handlers: dict[str, Handler] = {
            "/runs": self._runs,
            "/open": self._open,
            "/evaluate": self._evaluate,
            "/finish": self._finish,
            "/close": self._close,
            "/report": self._report,
        }
        for path, handler in handlers.items():
            self.app.add_api_route(path, self._guarded(handler), methods=["POST"])

    async def _health(self, request: Request) -> Response:
        refused = _foreign_host(request)
        if refused is not None:
            return refused
        state = "ok" if self.stopped is None else "stopped"
        found = {"status": state, "version": VERSION, "key_id": self._key_id, "tasks": len(self._book.ledger.task_ids)}
        return _json(found, 200 if self.stopped is None else 503)

    def _guarded(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        """One endpoint: host, token and size first, then the handler, then the sync."""

        async def endpoint(request: Request) -> Response:
            refused = _foreign_host(request)
            if refused is not None:
                return refused
            owner = self._role(request)
            if owner is None:
                return _refused(Refusal("authorization", 401, "Expected a bearer token of this service."))
            if self.stopped is not None:
                return _refused(Refusal("stopped", 503, self.stopped))
            try:
                try:
                    answer = await handler(await _body(request), owner)
                finally:
                    await self._settle()  # a refusal may end an episode, which is on record before it is answered
            except Refusal as refusal:
                return _refused(refusal)
            except LedgerDamaged as damage:
                self._halt(str(damage))
                return _refused(Refusal("stopped", 503, "The ledger is damaged; the service has stopped."))
            except InputError as error:
                return _refused(Refusal("input", 422, str(error)))
            return _json(answer)

        return endpoint

    def _role(self, request: Request) -> bool | None:
        """Whether the sender is the owner; None without a token of this service."""
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        sent = given.encode("utf-8", "replace") if scheme.lower() == "bearer" else b""
        owner, runner = (hmac.compare_digest(sent, self._tokens[role]) for role in ("owner", "runner"))
        return owner if owner or runner else None

    async def _settle(self) -> None:
        """Wait until everything recorded so far is on disk."""
        target = self._journal.appended
        while self._journal.synced < target:
            if self.stopped is not None:
                raise Refusal("stopped", 503, self.stopped)
            if self._syncing is None:
                self._syncing = asyncio.create_task(self._sync())
            await asyncio.shield(self._syncing)

    async def _sync(self) -> None:
        try:
            await asyncio.to_thread(self._journal.sync)
        except OSError as error:
            self._halt(f"The record of evaluations cannot be written: {error.strerror}.")
        finally:
            self._syncing = None

    def _halt(self, reason: str) -> None:
        if self.stopped is None:
            self.stopped = reason
            self._stop(reason)

    async def _runs(self, body: Mapping[str, Any], owner: bool) -> Mapping[str, Any]:
        given = [body.get(name) for name in ("policy", "split", "seeds", "options", "request")]
        run = self._book.register(*given, owner=owner)
        episodes = [
            {"task_id": task, "seed": seed, "token": self._book.token(run, episode)}
            for (task, seed), episode in run.episodes.items()
        ]
        return {"run": run.id, "episodes": episodes}

    async def _open(self, body: Mapping[str, Any], owner: bool) -> Mapping[str, Any]:
        self._book.open(body.get("token"), time.monotonic())
        return {}

    async def _evaluate(self, body: Mapping[str, Any], owner: bool) -> Mapping[str, Any]:
        now, token, output = time.monotonic(), body.get("token"), body.get("output")
        if output == ORACLE and owner:
            return self._book.oracle(token, now).to_json()
        result = self._book.evaluate(token, body.get("index"), body.get("task"), body.get("seed"), output, now)
        await self._settle()
        self._book.answered(token, time.monotonic())
        return result.to_json()

    async def _finish(self, body: Mapping[str, Any], owner: bool) -> Mapping[str, Any]:
        self._book.finish(body.get("token"), body.get("outcome"), body.get("index"), body.get("reason", ""))
        return {}

    async def _close(self, body: Mapping[str, Any], owner: bool) -> Mapping[str, Any]:
        self._book.close(body.get("run"))
        return {}

    async def _report(self, body: Mapping[str, Any], owner: bool) -> Mapping[str, Any]:
        details = body.get("details") is True
        if details and not owner:
            raise Refusal("owner", 403, "Expected the owner's token for single episodes.")
        every = list(self._book.runs.values())
        wanted = body.get("runs")
        if wanted is None:
            chosen = [run for run in every if run.closed and (body.get("split") in (None, run.split))]
        else:
            known = isinstance(wanted, list) and all(isinstance(r, str) and r in self._book.runs for r in wanted)
            if not known:
                raise Refusal("run", 404, "Expected runs of this ledger.")
            chosen = [self._book.runs[identifier] for identifier in dict.fromkeys(wanted)]
        return report(self._book.ledger, chosen, every, times=body.get("times") is True, details=details)


async def _body(request: Request) -> Mapping[str, Any]:
    """The request's JSON object, read up to 8 MiB.

    Raises:
        Refusal: when it is larger, or no JSON object.
    """
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY:
            raise Refusal("size", 413, f"Expected a request of at most {MAX_BODY} bytes.")
        parts.append(part)
    try:
        record = json.loads(b"".join(parts))
    except (ValueError, RecursionError):
        raise Refusal("json", 400, "Expected a JSON object.") from None
    if not isinstance(record, dict):
        raise Refusal("json", 400, "Expected a JSON object.")
    return record


def _foreign_host(request: Request) -> Response | None:
    """Refuse names other than this machine's (a page in a browser could resolve its own name to 127.0.0.1)."""
    host = request.headers.get("host", "")
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return (
        None
        if name in _HOSTS
        else _refused(Refusal("host", 421, "Expected a request to this machine by its own name."))
    )


def _json(record: Mapping[str, Any], status: int = 200) -> Response:
    return Response(canonical_json(record), status_code=status, media_type="application/json")


def _refused(refusal: Refusal) -> Response:
    return _json({"error": refusal.code, "message": refusal.message}, refusal.status)
