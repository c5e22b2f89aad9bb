"""The template process: imports torch once and forks one confined child per program.

Started as ``python -m kernaut.sandbox.template DIRECTORY LIFELINE OWNER SECCOMP``; listens on ``DIRECTORY/control``.  One connection per
child: ``START`` with the data socket starts it; any later byte, or the end of the connection, or the death of the connected
process, kills the child with everything it started.  As the only parent of the children it alone can say how they ended.  It ends,
with all children and its directory, when its owner closes the lifeline or dies.
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import selectors
import shutil
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kernaut.sandbox import linux
from kernaut.sandbox.child_process import serve
from kernaut.sandbox.control import READY, SOCKET_NAME, START, STARTED, VERSION, Exit, unpack_start
from kernaut.sandbox.hardening import confine, settle
from kernaut.sandbox.landlock import Landlock
from kernaut.sandbox.seccomp import SeccompFilter
from kernaut.sandbox.warmup import exercise, warm_up

_MESSAGE_SECONDS = 2.0
_REAP_SECONDS = 5.0
_SPARE_AFTER = 0.03


@dataclass(eq=False)
class _Ward:
    """One client connection and, once started, its child."""

    connection: socket.socket
    peer: int = -1
    child: int = 0
    killed: bool = False
    watched: list[int] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class _Spare:
    """A settled child that waits for its limits and its data socket.

    Args:
        pid: its process number.
        handover: where they are sent to.
    """

    pid: int
    handover: socket.socket


class Template:
    """The select loop of the template process.

    Args:
        directory: private directory that holds the control socket; removed at the end.
        lifeline: descriptor whose end of file means that the owner is gone.
        owner: process number of the owner.
        seccomp: whether children load the system-call filter (off only to test what holds without it).
    """

    def __init__(self, directory: Path, lifeline: int, owner: int, *, seccomp: bool = True) -> None:
        self._directory = directory
        self._lifeline = socket.socket(fileno=lifeline)
        self._owner = owner
        self._landlock = Landlock()
        self._seccomp = SeccompFilter(wanted=seccomp)
        self._selector = selectors.DefaultSelector()
        self._wards: dict[int, _Ward] = {}
        self._spare: _Spare | None = None
        self._prepares = True
        self._threads = 1
        self._over = False

    def run(self) -> None:
        """Listen, tell the owner, and serve until the owner is gone."""
        self._ignore_signals()
        _allow_many_files()
        linux.adopt_orphans()
        os.environ.clear()
        self._threads = _thread_count()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(self._directory / SOCKET_NAME))
        listener.listen(128)
        self._watch(listener, lambda: self._accept(listener))
        self._watch(self._lifeline, self._end)
        self._watch_process(self._owner, self._end)
        gc.freeze()
        linux.merge_pages()
        self._lifeline.sendall(READY)
        try:
            while not self._over:
                self._turn()
        finally:
            listener.close()
            self._kill_all()
            shutil.rmtree(self._directory, ignore_errors=True)

    def _turn(self) -> None:
        """Wait for events and react; prepare a child when nobody has asked for one for a while."""
        wanting = self._prepares and self._spare is None
        events = self._selector.select(_SPARE_AFTER if wanting else None)
        for key, _ in events:
            key.data()
        if not events and wanting:
            self._spare = self._fork(prepare=True)

    def _ignore_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        wake, woken = socket.socketpair()
        wake.setblocking(False)
        woken.setblocking(False)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        self._wake = wake
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.signal(signal.SIGTERM, lambda number, frame: self._end())

        def reap() -> None:
            with contextlib.suppress(BlockingIOError):
                woken.recv(4096)
            self._reap()

        self._watch(woken, reap)

    def _watch(self, source: socket.socket | int, react: Callable[[], None]) -> None:
        self._selector.register(source, selectors.EVENT_READ, react)

    def _watch_process(self, pid: int, react: Callable[[], None]) -> int:
        """React to the death of a process, where the machine offers descriptors of processes (Linux 5.3); -1 elsewhere."""
        if pid <= 0 or not hasattr(os, "pidfd_open"):
            return -1
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            return -1
        self._watch(descriptor, react)
        return descriptor

    def _end(self) -> None:
        self._over = True

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:  # the client is gone again, or there are no descriptors left
            return
        connection.settimeout(_MESSAGE_SECONDS)
        ward = _Ward(connection)
        self._watch(connection, lambda: self._hear(ward))
        if hasattr(socket, "SO_PEERCRED"):
            size = struct.calcsize("3i")
            pid, user, _group = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
            if user != os.geteuid():
                self._forget(ward)
                return
            ward.peer = self._watch_process(pid, lambda: self._stop(ward))

    def _hear(self, ward: _Ward) -> None:
        """The first message starts the child; anything after it, or the end, kills it."""
        if ward.child:
            self._stop(ward)
            return
        descriptors: list[int] = []
        data = b""
        with contextlib.suppress(OSError):
            data, descriptors, _, _ = socket.recv_fds(ward.connection, START.size, 1)
        if unpack_start(data) is not None and descriptors:
            self._start(ward, data, descriptors[0])
        else:
            self._forget(ward)
        for descriptor in descriptors:
            os.close(descriptor)

    def _start(self, ward: _Ward, limits: bytes, data: int) -> None:
        """Give the spare child, or a new one, to a client."""
        spare, self._spare = self._spare or self._fork(prepare=False), None
        if spare is None:
            self._forget(ward)
            return
        ward.child = spare.pid
        self._wards[spare.pid] = ward
        with contextlib.suppress(OSError):  # a spare that died is reaped and reported like any child
            socket.send_fds(spare.handover, [limits], [data])
        spare.handover.close()
        with contextlib.suppress(OSError):
            ward.connection.sendall(STARTED.pack(VERSION, spare.pid))

    def _fork(self, *, prepare: bool) -> _Spare | None:
        """A child that waits for its client; None when the machine gives no process.

        Args:
            prepare: whether it runs programs while it waits, which makes its first request as quick as later ones.
        """
        template = os.getpid()
        ours, theirs = socket.socketpair()
        try:
            pid = os.fork()
        except OSError:
            ours.close()
            theirs.close()
            return None
        if pid == 0:
            self._become_child(theirs, template, prepare)
        theirs.close()
        return _Spare(pid, ours)

    def _become_child(self, handover: socket.socket, template: int, prepare: bool) -> None:
        """The child's whole life; it never returns into the loop."""
        status = 70
        try:
            signal.set_wakeup_fd(-1)
            settled = settle(handover, template, self._landlock)
            if prepare:
                exercise()
            data, descriptors, _, _ = socket.recv_fds(settled.handover, START.size, 1)
            limits = unpack_start(data)
            if limits is not None and descriptors:
                protections, peer = confine(settled, descriptors[0], limits, self._seccomp, self._threads)
                serve(peer, limits, protections)
            status = 0
        finally:
            os._exit(status)

    def _stop(self, ward: _Ward) -> None:
        """Kill a ward's child; what it started is swept when it is reaped."""
        if ward.child not in self._wards:
            self._forget(ward)
            return
        self._unwatch(ward)
        if not ward.killed:
            ward.killed = True
            _kill(ward.child)

    def _reap(self) -> None:
        """Collect ended children, report each to its client, kill what they left behind."""
        reaped = False
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            reaped = True
            if self._spare is not None and self._spare.pid == pid:
                self._spare.handover.close()
                self._spare = None
                self._prepares = False  # it died by itself; the next one would, too
            ward = self._wards.pop(pid, None)
            if ward is not None:
                with contextlib.suppress(OSError):
                    ward.connection.sendall(Exit(pid, status, usage.ru_utime + usage.ru_stime).pack())
                self._forget(ward)
        if reaped:
            self._sweep()

    def _sweep(self) -> int:
        """Kill orphans that fell to this process (it is their subreaper) and belong to no living child; how many."""
        spare = self._spare.pid if self._spare is not None else 0
        strays = [pid for pid in _children(os.getpid()) if pid not in self._wards and pid != spare]
        for pid in strays:
            _kill(pid)
        return len(strays)

    def _kill_all(self) -> None:
        deadline = time.monotonic() + _REAP_SECONDS
        if self._spare is not None:
            self._spare.handover.close()
            self._spare = None
        for pid in list(self._wards):
            _kill(pid)
        while (self._wards or self._sweep()) and time.monotonic() < deadline:
            self._reap()
            time.sleep(0.002)

    def _unwatch(self, ward: _Ward) -> None:
        for source in (ward.connection, ward.peer):
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(source)

    def _forget(self, ward: _Ward) -> None:
        self._unwatch(ward)
        ward.connection.close()
        if ward.peer >= 0:
            os.close(ward.peer)
            ward.peer = -1


def _allow_many_files() -> None:
    """Each child costs the template two descriptors."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _thread_count() -> int:
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.is_dir() else 1


def _kill(pid: int) -> None:
    """SIGKILL a process and its session's process group."""
    for kill, number in ((os.killpg, pid), (os.kill, pid)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(number, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    """Direct children of a process; none known where there is no /proc."""
    listing = Path(f"/proc/self/task/{pid}/children")
    try:
        return [int(word) for word in listing.read_text(encoding="utf-8").split()]
    except OSError:
        return []


def main(arguments: list[str]) -> None:
    """Run the template: ``DIRECTORY LIFELINE OWNER SECCOMP``."""
    directory, lifeline, owner, seccomp = arguments
    template = Template(Path(directory), int(lifeline), int(owner), seccomp=seccomp == "1")
    warm_up()
    template.run()


if __name__ == "__main__":
    main(sys.argv[1:])
    os._exit(0)  # taking torch apart would have the owner, which waits for this end, wait a second longer
