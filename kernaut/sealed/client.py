"""The evaluator service's client: register runs, query episodes, ask for the report; and the commands that start the sealed processes.

``evaluate(episode, task, output, seed, index)`` is the one call for floor, baselines, ceiling and oracle.  Nothing here opens a ledger.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from kernaut.digest import canonical_json
from kernaut.errors import InputError
from kernaut.sealed.manifest import PublicTask
from kernaut.sealed.places import Role, read_secret, token_path
from kernaut.sealed.processes import GenerateOptions, RunningService, RunOptions, generate, run, serve
from kernaut.sealed.results import ORACLE, OUTCOMES, EpisodeResult, Outcome
from kernaut.sealed.spaces import Array
from kernaut.sealed.transport import ServiceRefusal, Transport

__all__ = [
    "ORACLE",
    "OUTCOMES",
    "EpisodeResult",
    "EpisodeTicket",
    "GenerateOptions",
    "RegisteredRun",
    "RunOptions",
    "RunningService",
    "SealedClient",
    "ServiceRefusal",
    "connect",
    "generate",
    "run",
    "serve",
]

PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class EpisodeTicket:
    """The right to one episode.

    Args:
        task_id: the task.
        seed: the episode's seed.
        token: its secret name.
    """

    task_id: str
    seed: int
    token: str = field(repr=False)


@dataclass(frozen=True)
class RegisteredRun:
    """A run as the service registered it.

    Args:
        id: its identifier.
        episodes: one for each task and seed.
    """

    id: str
    episodes: tuple[EpisodeTicket, ...]


class SealedClient:
    """Talks to one service; may be shared by threads.

    Args:
        url: ``http://127.0.0.1:PORT`` or ``unix:///path``.
        token: the runner's or the owner's bearer token; None for :meth:`health` alone.
        patience: how long to try again while the service does not answer, as while it is started again [s].

    Raises:
        InputError: for an address that is not this machine's.
    """

    def __init__(self, url: str, token: str | None, *, patience: float = PATIENCE_SECONDS) -> None:
        self._transport = Transport(url, token, patience)

    def health(self) -> dict[str, Any]:
        """``status``, ``version``, ``key_id`` and ``tasks``.

        Raises:
            ServiceRefusal: when the service has stopped.
            InputError: when none answers.
        """
        return dict(self._transport.request("GET", "/health"))

    def register(
        self, policy: str, split: str, seeds: Sequence[int], options: Mapping[str, Any] | None = None
    ) -> RegisteredRun:
        """Begin a run.

        Args:
            policy: its name.
            split: ``train``, ``validation``, ``test`` or ``all``.
            seeds: different whole numbers.
            options: the policy's options, which the report shows.

        Raises:
            ServiceRefusal: when the service says no.
        """
        request = {"policy": policy, "split": split, "seeds": list(seeds), "options": dict(options or {})}
        answer = self._post("/runs", request | {"request": secrets.token_hex(16)})
        return RegisteredRun(answer["run"], tuple(EpisodeTicket(**episode) for episode in answer["episodes"]))

    def open(self, episode: EpisodeTicket) -> None:
        """Begin an episode; its thinking time counts from here."""
        self._post("/open", {"token": episode.token})

    def evaluate(
        self, episode: EpisodeTicket, task: PublicTask, output: Array | str, seed: int, index: int
    ) -> EpisodeResult:
        """One query.

        Args:
            episode: what the service handed out.
            task: the public task.
            output: the policy's output, or :data:`ORACLE` with the owner's token.
            seed: the episode's seed.
            index: the query's number, from 0; the same number and output again get the same answer again.

        Raises:
            ServiceRefusal: with code ``malformed``, ``budget``, ``compute``, ``over``, ``order``, ``token`` ...
        """
        sent = output if isinstance(output, str) else output.tolist()
        rest = json.dumps({"token": episode.token, "index": index, "seed": seed, "output": sent})
        answer = self._transport.request("POST", "/evaluate", f'{rest[:-1]},"task":{task.text}}}')
        return EpisodeResult(answer["returns"], answer["steps_used"], answer["diagnostics"])

    def finish(self, episode: EpisodeTicket, outcome: Outcome, *, index: int | None = None, reason: str = "") -> None:
        """End an episode; ``index`` is the number of the query whose output is final.

        Raises:
            ServiceRefusal: when there is no such query, or the episode has ended otherwise.
        """
        self._post("/finish", {"token": episode.token, "outcome": outcome, "index": index, "reason": reason})

    def close(self, run_id: str) -> None:
        """End a run; open episodes count as having no final output."""
        self._post("/close", {"run": run_id})

    def report(
        self,
        runs: Sequence[str] | None = None,
        *,
        split: str | None = None,
        times: bool = False,
        details: bool = False,
    ) -> dict[str, Any]:
        """The report of closed runs, computed by the service.

        Args:
            runs: their identifiers; all closed ones if absent.
            split: only those on this split.
            times: whether to add regret against seconds.
            details: whether to add single episodes (owner's token).

        Raises:
            ServiceRefusal: when a run is unknown or open, or splits differ.
        """
        request = {"runs": None if runs is None else list(runs), "split": split, "times": times, "details": details}
        return dict(self._post("/report", request))

    def disconnect(self) -> None:
        """Close its connections; a later request opens another."""
        self._transport.close()

    def __enter__(self) -> SealedClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.disconnect()

    def _post(self, path: str, record: Mapping[str, Any]) -> dict[str, Any]:
        return dict(self._transport.request("POST", path, canonical_json(record)))


def connect(
    url: str, *, role: Role = "runner", token: str | None = None, patience: float = PATIENCE_SECONDS
) -> SealedClient:
    """A client with the token that the service left on this machine.

    Args:
        url: the service's address.
        role: whose token.
        token: the token itself, if it is not to be read from its file.
        patience: see :class:`SealedClient`.

    Raises:
        InputError: when no service answers or its token cannot be read.
    """
    if token is None:
        asked = SealedClient(url, None, patience=patience)
        health = asked.health()
        asked.disconnect()
        path = token_path(str(health["key_id"]), role)
        token = read_secret(path, f"the {role}'s token of the service", "Run as the user who started the service.")
        if not token:
            raise InputError(f"Expected the {role}'s token in {path}. Got an empty file.")
    return SealedClient(url, token, patience=patience)
