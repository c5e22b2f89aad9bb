"""Runner's side of one episode: start the policy's process, pass its queries on, enforce its budgets, name the outcome.  Untrusted side.

The clock runs while the policy thinks: from the start of its process, or an answer, to its next message.  At the deadline it is killed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from kernaut.sandbox import messages
from kernaut.sandbox.limits import Limits
from kernaut.sandbox.link import ChildLink
from kernaut.sandbox.messages import BrokenFrame, DeadlinePassed, Frame
from kernaut.sealed.client import EpisodeTicket, SealedClient
from kernaut.sealed.manifest import PublicTask
from kernaut.sealed.policy_host import PolicyHost
from kernaut.sealed.policy_process import ANSWER, FAILED, FINAL, HELLO, MALFORMED, QUERY, SPENT, START
from kernaut.sealed.results import EpisodeResult, Outcome
from kernaut.sealed.spaces import SAME, Array
from kernaut.sealed.transport import ServiceRefusal

LARGEST_OUTPUT = 1 << 20
"""Most bytes of an output a policy may send."""
MOST_REFUSED = 100
"""Queries beyond the budget after which a policy is stopped."""
START_SECONDS = 30.0
MEMORY_MIB = 1024
_ENDED_BY_SERVICE: Mapping[str, Outcome] = {"malformed": "malformed", "compute": "timeout"}


@dataclass(frozen=True)
class PolicySpec:
    """Which policy runs.

    Args:
        name: as reported.
        spec: where its class comes from, for the policy's process.
        options: its options.
        extension: the module it lives in, when added by a package.
    """

    name: str
    spec: Mapping[str, str]
    options: Mapping[str, Any] = field(default_factory=dict)
    extension: str | None = None


@dataclass(frozen=True)
class Ending:
    """How an episode ended.

    Args:
        outcome: as reported to the service; ``over`` when it had ended before, in a run that was broken off.
        queries: queries used.
        reason: of a failure.
        protections: what confined the policy's process.
    """

    outcome: Outcome | Literal["over"]
    queries: int
    reason: str = ""
    protections: Mapping[str, Any] = field(default_factory=dict)


class _Over(Exception):
    """The episode has ended with an outcome."""

    def __init__(
        self, outcome: Outcome | Literal["over"], reason: str, index: int | None = None, *, told: bool = False
    ) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason
        self.index = index
        self.told = told


def play(client: SealedClient, host: PolicyHost, ticket: EpisodeTicket, task: PublicTask, policy: PolicySpec) -> Ending:
    """Play one episode to its end and report the outcome.

    Args:
        client: of the service.
        host: starts the policy's process.
        ticket: the episode.
        task: its public task.
        policy: who plays.

    Raises:
        ServiceRefusal: when the service does not know the episode, or has stopped.
        SandboxFailure: when no process can be started.
        InputError: when the service does not answer any more.
    """
    link = host.process(
        Limits(
            request_seconds=task.compute_budget,
            load_seconds=START_SECONDS,
            cpu_seconds=task.compute_budget + 2.0,
            memory_mib=MEMORY_MIB,
            open_files=64,
        )
    )
    table = _Table(client, link, ticket, task)
    try:
        table.open()
        table.begin(policy)
        while True:
            table.turn()
    except _Over as over:
        if not over.told and over.outcome != "over":
            client.finish(ticket, over.outcome, index=over.index, reason=over.reason)
        return Ending(over.outcome, len(table.outputs), over.reason, table.protections)
    finally:
        link.kill()
        link.close()


class _Table:
    """The state of one episode at the runner's side."""

    def __init__(self, client: SealedClient, link: ChildLink, ticket: EpisodeTicket, task: PublicTask) -> None:
        self.outputs: list[Array] = []
        self.protections: Mapping[str, Any] = {}
        self._client = client
        self._link = link
        self._ticket = ticket
        self._task = task
        self._thought = 0.0
        self._refused = 0

    def open(self) -> None:
        """Begin the episode at the service; one that ended before a runner was broken off stays as it was."""
        try:
            self._client.open(self._ticket)
        except ServiceRefusal as refusal:
            if refusal.code != "over":
                raise
            raise _Over("over", "the episode had ended before", told=True) from refusal

    def begin(self, policy: PolicySpec) -> None:
        """Send the task; the policy's process says first what confines it."""
        hello = self._receive(time.monotonic() + START_SECONDS)
        if hello.kind != HELLO:
            raise _Over("crash", "the policy's process did not start")
        self.protections = json.loads(hello.text)
        start = {
            "name": policy.name,
            "policy": dict(policy.spec),
            "options": dict(policy.options),
            "task": self._task.to_json(),
            "seed": self._ticket.seed,
        }
        self._send(Frame(START, text=json.dumps(start).encode("utf-8")))

    def turn(self) -> None:
        """Wait for the policy's next message and act on it."""
        began = time.monotonic()
        frame = self._receive(began + max(0.0, self._task.compute_budget - self._thought))
        self._thought += time.monotonic() - began
        match frame.kind:
            case kind if kind == QUERY and len(frame.arrays) == 1:
                self._query(frame.arrays[0])
            case kind if kind == FINAL and len(frame.arrays) == 1:
                self._final(frame.arrays[0])
            case kind if kind == MALFORMED:
                raise _Over("malformed", _text(frame))
            case kind if kind == FAILED:
                raise _Over("crash", _text(frame))
            case _:
                raise _Over("malformed", "the policy sent a message that is none")

    def _query(self, output: Array) -> None:
        if len(self.outputs) >= self._task.horizon_budget:
            self._refused += 1
            if self._refused > MOST_REFUSED:
                raise _Over("crash", f"the policy went on asking after {MOST_REFUSED} refusals")
            self._send(Frame(SPENT))
            return
        repeated = self._index_of(output) is not None
        result = self._evaluate(output)
        answer = {
            "value": None if repeated else result.returns,
            "difference": None if repeated else result.diagnostics["difference"],
            "steps_used": result.steps_used,
            "remaining": self._task.horizon_budget - len(self.outputs),
        }
        self._send(Frame(ANSWER, text=json.dumps(answer).encode("utf-8")))

    def _final(self, output: Array) -> None:
        """The final output is one that was queried; a new one takes the last query."""
        self._require_legal(output)
        index = self._index_of(output)
        if index is not None:
            raise _Over("returned", "", index)
        if len(self.outputs) >= self._task.horizon_budget:
            raise _Over("no_final", "the final output was never queried, and no query is left")
        self._evaluate(output)
        raise _Over("returned", "", len(self.outputs) - 1)

    def _index_of(self, output: Array) -> int | None:
        """The number of the first query that an output repeats."""
        for index, earlier in enumerate(self.outputs):
            if earlier.shape == output.shape and np.abs(earlier - output).max() <= SAME:
                return index
        return None

    def _evaluate(self, output: Array) -> EpisodeResult:
        self._require_legal(output)
        try:
            result = self._client.evaluate(self._ticket, self._task, output, self._ticket.seed, len(self.outputs))
        except ServiceRefusal as refusal:
            if refusal.code in _ENDED_BY_SERVICE:
                raise _Over(_ENDED_BY_SERVICE[refusal.code], refusal.message, told=True) from refusal
            if refusal.code == "order":
                reason = "the policy did not repeat its recorded queries when the episode was played again"
                raise _Over("crash", reason) from refusal
            raise
        self.outputs.append(output.copy())
        return result

    def _require_legal(self, output: Array) -> None:
        problem = self._task.space.problem(output)
        if problem is not None:
            raise _Over("malformed", problem)

    def _send(self, frame: Frame) -> None:
        try:
            messages.send(self._link.data, frame, time.monotonic() + START_SECONDS)
        except (OSError, DeadlinePassed) as error:
            raise _Over("crash", "the policy's process does not read its answers") from error

    def _receive(self, deadline: float) -> Frame:
        try:
            frame = messages.receive(self._link.data, LARGEST_OUTPUT, deadline)
        except DeadlinePassed as error:
            self._link.kill()
            raise _Over("timeout", f"the policy thought longer than {self._task.compute_budget:g} s") from error
        except BrokenFrame as error:
            raise _Over("malformed", f"the policy sent {error}") from error
        except OSError:
            frame = None
        if frame is None:
            raise _Over("crash", self._how_it_ended())
        return frame

    def _how_it_ended(self) -> str:
        ended = self._link.exit()
        if ended is None:
            return "the policy's process is gone"
        return ended.meaning(Limits(cpu_seconds=self._task.compute_budget + 2.0))[1]


def _text(frame: Frame) -> str:
    """A policy's words on one printable line."""
    return "".join(c if c.isprintable() else " " for c in frame.text.decode("utf-8", "replace"))[:500]
