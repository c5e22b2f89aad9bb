"""Fixed binary messages between a client and the template process: start a child, it started, it exited.

One Unix-socket connection per child.  The client sends ``START`` together with the child's end of a data socket (SCM_RIGHTS); any
later byte, or the end of the connection, means "kill the child and all it started".  The template answers ``STARTED`` and, once it
has reaped the child, ``EXITED``.
"""

from __future__ import annotations

import os
import signal
import struct
from dataclasses import dataclass
from typing import Literal

from kernaut.errors import InputError
from kernaut.sandbox.limits import Limits

VERSION = b"KNT1"
START = struct.Struct("<4sdddqqq")
STARTED = struct.Struct("<4sq")
EXITED = struct.Struct("<4sqqd")
KILL = b"K"
SOCKET_NAME = "control"
READY = b"R"

ExitState = Literal["refused", "crashed", "timed out"]


def pack_start(limits: Limits) -> bytes:
    """The limits of a new child as ``START``."""
    return START.pack(
        VERSION,
        limits.request_seconds,
        limits.load_seconds,
        limits.cpu_seconds,
        limits.memory_mib,
        limits.output_mib,
        limits.open_files,
    )


def unpack_start(data: bytes) -> Limits | None:
    """The limits in a ``START`` message, or None when it is of another version, no such message, or holds no limits."""
    if len(data) != START.size or not data.startswith(VERSION):
        return None
    _, request, load, cpu, memory, output, files = START.unpack(data)
    try:
        return Limits(request, load, cpu, memory, output, files)
    except InputError:
        return None


@dataclass(frozen=True)
class Exit:
    """How a child ended.

    Args:
        pid: its process number.
        status: wait status as the operating system gives it.
        cpu_seconds: processor time it used.
    """

    pid: int
    status: int
    cpu_seconds: float

    def pack(self) -> bytes:
        """This record as ``EXITED``."""
        return EXITED.pack(VERSION, self.pid, self.status, self.cpu_seconds)

    @classmethod
    def unpack(cls, data: bytes) -> Exit | None:
        """The record in an ``EXITED`` message, or None for anything else."""
        if len(data) != EXITED.size or not data.startswith(VERSION):
            return None
        return cls(*EXITED.unpack(data)[1:])

    def meaning(self, limits: Limits) -> tuple[ExitState, str]:
        """The state and the reason a caller records, for an end the client did not ask for."""
        if not os.WIFSIGNALED(self.status):
            return (
                "crashed",
                f"the program ended its own process with exit code {os.waitstatus_to_exitcode(self.status)}",
            )
        number = os.WTERMSIG(self.status)
        name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        if name == "SIGSYS":
            return (
                "refused",
                "the operating system stopped a forbidden system call (new process or thread, program, socket, signal, trace or the like)",
            )
        if name == "SIGXCPU" or (name == "SIGKILL" and self.cpu_seconds >= limits.cpu_seconds):
            return "timed out", f"the child used up its {limits.cpu_seconds:g} processor seconds"
        if name == "SIGKILL":
            return "crashed", "the child was killed from outside (SIGKILL; the machine may be out of memory)"
        return "crashed", f"the child died of {name}"
