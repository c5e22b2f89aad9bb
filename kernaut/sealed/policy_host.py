"""Runner's side of the policy template: start it, ask it for confined processes, end it.  Untrusted side."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

from kernaut.errors import SandboxFailure
from kernaut.sandbox.control import READY
from kernaut.sandbox.limits import Limits
from kernaut.sandbox.link import START_SECONDS, ChildLink, OwnedTemplate, open_child

_PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "TMPDIR")
_SET = {
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "LC_ALL": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


class PolicyHost:
    """A running policy template.

    Args:
        extension: the module an added policy lives in, which its processes may then read.

    Raises:
        SandboxFailure: when it does not start.
    """

    def __init__(self, extension: str | None = None) -> None:
        self._template = _start(extension)

    def process(self, limits: Limits) -> ChildLink:
        """A fresh confined process.

        Raises:
            SandboxFailure: when the template is gone.
        """
        return open_child(limits, self._template.path)

    def close(self) -> None:
        """End the template and all its processes."""
        self._template.stop()

    def __enter__(self) -> PolicyHost:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _start(extension: str | None) -> OwnedTemplate:
    directory = Path(tempfile.mkdtemp(prefix="kernaut-policies-"))
    ours, theirs = socket.socketpair()
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment |= _SET | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    command = [sys.executable, "-P", "-m", "kernaut.sealed.policy_template", str(directory), str(theirs.fileno())]
    complaints = directory / "stderr"
    with theirs, complaints.open("wb") as stream:
        process = subprocess.Popen(
            [*command, str(os.getpid()), extension or ""],
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
        said = complaints.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        process.kill()
        template.stop()
        raise SandboxFailure(
            "crashed", f"The policies' template did not start: {said[-1] if said else 'it said nothing'}."
        )
    return template
