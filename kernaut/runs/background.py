"""A campaign in a process of its own: start, pause, resume and stop it while whoever asked goes on working.

The process runs ``kernaut meta-run`` and its like.  Pausing ends it politely: runs that were closed stay, the one that was under way is begun again when the same
command starts, so that a paused campaign ends as one that was not.  (A process that is merely suspended would meet the deadlines of its sandboxes when
it wakes up.)  It ends with the process that started it.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from kernaut.errors import InputError

State = Literal["idle", "running", "pausing", "paused", "finished", "failed"]
BOOTSTRAP = """
import os, signal, sys, threading
sys.modules["rfc3987_syntax"] = None
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever was started in the background ignores it, and so would this
def follow():
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=follow, daemon=True).start()
from kernaut.cli.main import main
main()
"""
GRACE_SECONDS = 20.0
INTERRUPTED = 130
TAIL = 4000
"""Characters of its last words that are kept."""


SEARCHES = {
    "bbo": ("meta-run", "--episodes-per-family"),
    "greenhouse": ("ts-run", "--episodes-per-family"),
    "enzymes": ("chem-run", "--episodes-per-domain"),
    "glucose": ("glucose-run", "--episodes-per-family"),
}
"""The search command of each of Kernaut's benchmarks, and its option for the number of meta-training episodes."""


def search_command(
    benchmark: str,
    archive: str,
    *,
    runs: int,
    episodes: int,
    rounds: int,
    seed: int = 0,
    workers: int = 1,
    campaign: str = "",
    options: Mapping[str, Any] | None = None,
) -> list[str]:
    """The arguments of the command that searches on a benchmark.

    Args:
        benchmark: ``bbo``, ``greenhouse``, ``enzymes``, ``glucose``, or that of an installed package.
        archive: the archive's path.
        runs: of the campaign.
        episodes: meta-training episodes of each family.
        rounds: most drafts of a run.
        seed: of the search.
        workers: processes.
        campaign: its name; that of the benchmark and the seed if empty.
        options: further options of that command by name, such as ``{"chembench_root": "/data/autoscilab"}``; a true one is a flag, one that is false or None is left out.

    Raises:
        InputError: for a user's own table, which ``kernaut run`` searches.
    """
    if benchmark == "table":
        raise InputError(
            f"Expected a benchmark of {', '.join(SEARCHES)}, or of an installed package. Got 'table'.",
            hint="A table of your own is searched with kernaut run --data FILE.",
        )
    command, per_family = SEARCHES.get(benchmark, SEARCHES["bbo"])
    words = [command, "--archive", archive, "--iterations", str(runs), "--seed", str(seed), "--workers", str(workers)]
    words += [] if benchmark in SEARCHES else ["--benchmark", benchmark]
    words += ["--run-id", campaign] if campaign else []
    words += [per_family, str(episodes), "--rounds-per-iteration", str(rounds)]
    for name, value in (options or {}).items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words += [option] if value else []
        elif value is not None:
            words += [option, str(value)]
    return words


class BackgroundCampaign:
    """A search command in the background.

    Args:
        arguments: of ``kernaut``, such as ``["meta-run", "--archive", "a.sqlite"]``.
        log: the file that its progress is written to; also what it said last is read from there.
    """

    def __init__(self, arguments: Sequence[str], log: str | Path) -> None:
        if not arguments:
            raise InputError("Expected the arguments of a search command. Got none.")
        self.arguments = tuple(arguments)
        self.log = Path(log)
        self._process: subprocess.Popen[bytes] | None = None
        self._asked = False
        _ALIVE.add(self)

    @property
    def state(self) -> State:
        """``idle`` before the first start; a process that ended was paused, is finished, or failed."""
        if self._process is None:
            return "idle"
        code = self._ended()
        if code is None:
            return "pausing" if self._asked else "running"
        if code == 0:
            return "finished"
        return "paused" if self._asked or code == INTERRUPTED else "failed"

    @property
    def pid(self) -> int | None:
        """The process, while it runs."""
        return self._process.pid if self._process is not None and self._ended() is None else None

    def start(self) -> None:
        """Start, or resume after a pause; does nothing while it runs.

        Raises:
            InputError: when the log cannot be written, or a pause is still under way.
        """
        if self.state == "running":
            return
        if self.state == "pausing":
            raise InputError(
                "Expected a campaign that has paused. Got one that is still ending its run.", hint="Wait a moment."
            )
        self._asked = False
        try:
            stream = self.log.open("ab")
        except OSError as error:
            raise InputError(
                f"Expected a log file that can be written at {self.log}. Got: {error.strerror}."
            ) from error
        with stream:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", BOOTSTRAP, *self.arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=stream,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                start_new_session=True,
            )

    def pause(self) -> None:
        """Ask it to end after writing what is closed; does nothing when it does not run."""
        if self._process is not None and self._ended() is None and not self._asked:
            self._asked = True
            self._process.send_signal(signal.SIGINT)

    def stop(self, seconds: float = GRACE_SECONDS) -> None:
        """Pause and wait until it has ended; kill it when it does not end in time."""
        self.pause()
        if self._process is None:
            return
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._ended()

    def wait(self, seconds: float) -> State:
        """Wait for its end, at most so long."""
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
        return self.state

    def _ended(self) -> int | None:
        """The process's exit code once it has ended; what led to it is closed then."""
        assert self._process is not None
        code = self._process.poll()
        if code is not None and self._process.stdin is not None:
            self._process.stdin.close()
        return code

    def last_words(self) -> str:
        """The end of its log."""
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return text[-TAIL:]


_ALIVE: weakref.WeakSet[BackgroundCampaign] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    for campaign in list(_ALIVE):
        campaign.stop(5.0)
