"""Client side: a pool of sandboxed children of the session's one template process.

``pool.child(program)`` forks a confined child (8-12 ms) and loads the program; see :class:`kernaut.sandbox.child.Child` for what to ask it.
The first child of a session starts the template (about 2 s, once); ``pool.start()`` does it ahead, which lets worker processes
started later share it.
"""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType

from kernaut.errors import InputError
from kernaut.sandbox.child import Child
from kernaut.sandbox.limits import Limits
from kernaut.sandbox.link import ensure_template, open_child
from kernaut.sandbox.records import SandboxProgram


class SandboxPool:
    """Starts children, and ends those it started when it is closed.

    Args:
        limits: limits of every child.
        socket: control socket of a particular template; the session's by default.
    """

    def __init__(self, limits: Limits | None = None, *, socket: str | None = None) -> None:
        self.limits = limits or Limits()
        self._socket = socket
        self._children: weakref.WeakSet[Child] = weakref.WeakSet()
        self._closed = False

    def start(self) -> None:
        """Start the session's template now, unless one answers.

        Raises:
            SandboxFailure: when it cannot be started.
        """
        if self._socket is None:
            ensure_template()

    def child(self, program: SandboxProgram) -> Child:
        """A fresh child with the program loaded.

        Raises:
            SandboxFailure: ``failed`` or ``refused`` when the source does not load, ``crashed`` or ``timed out`` when loading it ended
                the child.
            InputError: when the pool is closed.
        """
        if self._closed:
            raise InputError("Expected an open sandbox pool. Got one that was closed.")
        child = Child(program, self.limits, open_child(self.limits, self._socket))
        self._children.add(child)
        return child

    def close(self) -> None:
        """End all children of this pool; the session's template goes on until its owner ends."""
        self._closed = True
        for child in list(self._children):
            child.close()

    def __enter__(self) -> SandboxPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_pools: dict[tuple[int, Limits], SandboxPool] = {}
_lock = threading.Lock()


def default_pool(limits: Limits | None = None) -> SandboxPool:
    """This process's pool with these limits (the default ones if absent), made at the first call."""
    chosen = limits or Limits()
    with _lock:
        return _pools.setdefault((os.getpid(), chosen), SandboxPool(chosen))
