"""Client side: find the machine session's template process, or start one, and ask it for children.

The template is found by the environment variable ``KERNAUT_SANDBOX_SOCKET``, which the process that starts it sets, so that worker
processes share it.  A process starts its own when none answers.  The template ends with the process that started it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from kernaut.errors import SandboxFailure
from kernaut.sandbox.control import EXITED, KILL, READY, SOCKET_NAME, STARTED, VERSION, Exit, pack_start
from kernaut.sandbox.limits import Limits

VARIABLE = "KERNAUT_SANDBOX_SOCKET"
START_SECONDS = 120.0
ANSWER_SECONDS = 30.0
EXIT_SECONDS = 5.0
ABANDONED_SECONDS = 60.0
_PREFIX = "kernaut-sandbox-"
_PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR", "SYSTEMROOT")
_SET = {
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
    "LC_ALL": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
}


@dataclass(eq=False)
class ChildLink:
    """The two ends a client holds of a child.

    Args:
        data: requests and replies.
        control: the template's connection for this child; closing it kills the child.
        pid: the child's process number, as the template sees it.
    """

    data: socket.socket
    control: socket.socket
    pid: int

    def close(self) -> None:
        """Close both ends; the template kills and reaps the child."""
        self.data.close()
        self.control.close()

    def kill(self) -> None:
        """Have the child killed now."""
        with contextlib.suppress(OSError):
            self.control.sendall(KILL)

    def exit(self) -> Exit | None:
        """Wait for the report of the child's end; None when the template is gone or silent."""
        self.control.settimeout(EXIT_SECONDS)
        try:
            return Exit.unpack(self.control.recv(EXITED.size))
        except OSError:
            return None


@dataclass(eq=False)
class OwnedTemplate:
    """A template process this process started.

    Args:
        process: the process.
        directory: its private directory.
        lifeline: closing it ends the template.
        owner: this process (a forked copy must not end it).
    """

    process: subprocess.Popen[bytes]
    directory: Path
    lifeline: socket.socket
    owner: int

    @property
    def path(self) -> str:
        """Path of the control socket."""
        return str(self.directory / SOCKET_NAME)

    def stop(self) -> None:
        """End the template and its children, and remove its directory."""
        self.lifeline.close()
        if self.owner != os.getpid():
            return
        try:
            self.process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


_lock = threading.RLock()
_owned: list[OwnedTemplate] = []


def open_child(limits: Limits, socket_path: str | None = None) -> ChildLink:
    """Start a child in the session's template, which is started where none answers.

    Args:
        limits: the child's limits.
        socket_path: a particular template's control socket instead.

    Raises:
        SandboxFailure: when no template can be started or it starts no child.
    """
    path = socket_path or os.environ.get(VARIABLE)
    link = _ask(path, limits) if path else None
    if link is None and socket_path is None:
        link = _ask(_own_path(), limits)
    if link is None:
        raise SandboxFailure(
            "crashed", "The sandbox's template process started no child.", hint="Is the machine out of memory?"
        )
    return link


def ensure_template() -> None:
    """Start a template unless one answers, and publish it to processes started from here on.

    Raises:
        SandboxFailure: when it cannot be started.
    """
    path = os.environ.get(VARIABLE)
    if path is None or not _answers(path):
        _own_path()


def stop_template() -> None:
    """End the template this process started, if any, with all its children."""
    with _lock:
        while _owned:
            template = _owned.pop()
            if os.environ.get(VARIABLE) == template.path:
                del os.environ[VARIABLE]
            template.stop()


def owned_template() -> OwnedTemplate | None:
    """The template this process started and owns, if any."""
    return _owned[0] if _owned and _owned[0].owner == os.getpid() else None


def start_template(*, seccomp: bool = True) -> OwnedTemplate:
    """Start a template process without publishing it.

    Args:
        seccomp: whether its children load the system-call filter; off only to see what holds without it.

    Raises:
        SandboxFailure: when it does not come up, with the end of what it said.
    """
    remove_abandoned()
    directory = Path(tempfile.mkdtemp(prefix=_PREFIX))
    ours, theirs = socket.socketpair()
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment |= _SET | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    command = [sys.executable, "-P", "-m", "kernaut.sandbox.template"]
    complaints = directory / "stderr"
    with theirs, complaints.open("wb") as stream:
        process = subprocess.Popen(
            [*command, str(directory), str(theirs.fileno()), str(os.getpid()), str(int(seccomp))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stream,
            env=environment,
            cwd=directory,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
    template = OwnedTemplate(process, directory, ours, os.getpid())
    ours.settimeout(START_SECONDS)
    try:
        ready = ours.recv(1) == READY
    except OSError:
        ready = False
    if not ready:
        said = (
            complaints.read_text(encoding="utf-8", errors="replace").strip().splitlines() if complaints.exists() else []
        )
        process.kill()
        template.stop()
        raise SandboxFailure(
            "crashed", f"The sandbox's template process did not start: {said[-1] if said else 'it said nothing'}."
        )
    return template


def remove_abandoned() -> None:
    """Remove the directories of templates that were killed together with their owners, so that nobody could tidy up."""
    for control in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{SOCKET_NAME}"):
        with contextlib.suppress(OSError):
            status = control.stat()
            old = time.time() - status.st_mtime > ABANDONED_SECONDS
            if old and status.st_uid == os.geteuid() and _is_dead(control):
                shutil.rmtree(control.parent, ignore_errors=True)


def _own_path() -> str:
    """The control socket of this process's own template, started when there is none alive."""
    with _lock:
        current = owned_template()
        if current is not None and current.process.poll() is None:
            os.environ[VARIABLE] = current.path
            return current.path
        stop_template()
        template = start_template()
        if not _owned:
            atexit.unregister(stop_template)
            atexit.register(stop_template)
        _owned.append(template)
        os.environ[VARIABLE] = template.path
        return template.path


def _connect(path: str) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(ANSWER_SECONDS)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        return None
    return connection


def _is_dead(control: Path) -> bool:
    """Whether nobody listens any more; a template that is merely busy is alive."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(1.0)
        try:
            connection.connect(str(control))
        except ConnectionRefusedError:
            return True
    return False


def _answers(path: str) -> bool:
    connection = _connect(path)
    if connection is None:
        return False
    connection.close()
    return True


def _ask(path: str, limits: Limits) -> ChildLink | None:
    """One child of the template at a path, or None when it does not answer."""
    control = _connect(path)
    if control is None:
        return None
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            socket.send_fds(control, [pack_start(limits)], [theirs.fileno()])
            answer = control.recv(STARTED.size)
        except OSError:
            answer = b""
    if len(answer) != STARTED.size or not answer.startswith(VERSION):
        control.close()
        ours.close()
        return None
    return ChildLink(ours, control, STARTED.unpack(answer)[1])
