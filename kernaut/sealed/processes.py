"""Start generation, service and runner as processes of their own; their code is never imported here.

Each takes its options as JSON on standard input and answers in JSON lines; an error comes back as the :class:`kernaut.errors.InputError`
it was there.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from kernaut.errors import InputError

STOP_SECONDS = 20.0

Event = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class GenerateOptions:
    """What to generate.

    Args:
        out: public folder, new or empty.
        ledger: ledger folder, new or empty, apart from ``out``.
        counts: tasks by family.
        seed: public seed of the set.
        key_file: the key to repeat a generation with, or where to write a new one; a place of its own if absent.
        options: by family.
        rollouts: of the random policy, a task.
    """

    out: str
    ledger: str
    counts: Mapping[str, int]
    seed: int = 0
    key_file: str | None = None
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rollouts: int = 200


@dataclass(frozen=True)
class RunOptions:
    """What to run.

    Args:
        manifest: public folder.
        service: the service's address.
        policies: names, or ``FILE.py:Class``.
        options: by policy.
        seeds: how many episode seeds.
        split: ``train``, ``validation``, ``test`` or ``all``.
        workers: episodes at once.
        state: folder for notes on unfinished runs.
    """

    manifest: str
    service: str
    policies: Sequence[str]
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    seeds: int = 5
    split: str = "test"
    workers: int = 2
    state: str | None = None


@dataclass(frozen=True, eq=False)
class RunningService:
    """A service started by this process; a context manager.

    Args:
        process: the process.
        url: its address.
        key_id: the public name of its ledger's key.
        tasks: how many tasks it serves.
    """

    process: subprocess.Popen[bytes]
    url: str
    key_id: str
    tasks: int

    def wait(self) -> int:
        """Wait until it ends by itself; its exit code (0: asked to stop, 3: the ledger was damaged).

        Raises:
            InputError: when it ended since the ledger was damaged, with what it said.
        """
        code = self.process.wait()
        if code != 0:
            raise _failure(self.process)
        return code

    def stop(self) -> int:
        """Ask it to end once requests under way are answered; its exit code (3: the ledger was damaged)."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return code

    def __enter__(self) -> RunningService:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def generate(options: GenerateOptions) -> dict[str, Any]:
    """Generate a task set.

    Returns:
        ``manifest``, ``ledger``, ``key_file``, ``key_id``, ``tasks``, ``calibrated``, ``probes``.

    Raises:
        InputError: as generation raises it.
    """
    return _lines("kernaut.sealed.generating", _plain(options), lambda record: None)


def serve(
    ledger: str | Path,
    *,
    key_file: str | Path | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    socket: str | Path | None = None,
) -> RunningService:
    """Start a service and wait until it listens.

    Args:
        ledger: ledger folder.
        key_file: its key, where it lies elsewhere than by default.
        host: a name of this machine.
        port: 0 for any free one.
        socket: a Unix socket's path instead of a port.

    Raises:
        InputError: when it does not start, with what it said.
    """
    given = {"ledger": str(ledger), "key_file": _text(key_file), "host": host, "port": port, "socket": _text(socket)}
    process = _start("kernaut.sealed.serving", given)
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise _failure(process)
    said = json.loads(line)
    return RunningService(process, said["url"], said["key_id"], said["tasks"])


def run(options: RunOptions, event: Event = lambda record: None) -> dict[str, str]:
    """Run policies against a service.

    Args:
        options: what to run.
        event: told of ``begun``, ``confined``, ``progress``, ``failed`` (an episode without a legal final output) and ``closed``.

    Returns:
        The identifier of each policy's run, by policy name.

    Raises:
        InputError: as the runner raises it.
    """
    return dict(_lines("kernaut.sealed.runner", _plain(options), event)["runs"])


def _lines(module: str, given: Mapping[str, Any], event: Event) -> dict[str, Any]:
    """Run a process to its end; its last line."""
    process = _start(module, given)
    last: dict[str, Any] = {}
    assert process.stdout is not None
    try:
        for line in process.stdout:
            last = json.loads(line)
            event(last)
    except BaseException:
        process.kill()
        process.wait()
        raise
    if process.wait() != 0 or not last:
        raise _failure(process)
    process.stdout.close()
    if process.stderr is not None:
        process.stderr.close()
    return last


def _start(module: str, given: Mapping[str, Any]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", module], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    try:
        process.stdin.write(json.dumps(given).encode("utf-8"))
        process.stdin.close()
    except BrokenPipeError:
        raise _failure(process) from None
    return process


def _failure(process: subprocess.Popen[bytes]) -> InputError:
    """The error a process ended with."""
    assert process.stderr is not None and process.stdout is not None
    said = process.stderr.read().decode("utf-8", "replace").strip().splitlines()
    code = process.wait()
    process.stderr.close()
    process.stdout.close()
    try:
        record = json.loads(said[-1])
        return InputError(str(record["message"]), hint=record["hint"])
    except (IndexError, ValueError, KeyError, TypeError):
        return InputError(f"Expected the process to end well. Got exit code {code}: {said[-1] if said else 'no word'}.")


def _plain(options: GenerateOptions | RunOptions) -> dict[str, Any]:
    return asdict(options)


def _text(path: str | Path | None) -> str | None:
    return None if path is None else str(path)
