"""The template of policies' processes: imports what policies use once, then forks one confined process an episode.  Untrusted side.

Started as ``python -m kernaut.sealed.policy_template DIRECTORY LIFELINE OWNER EXTENSION``.  It never sees a token or an address of the service, and refuses to
start when a trusted module is loaded in it.  Forking, killing and reaping are the sandbox template's.
"""

from __future__ import annotations

import importlib
import os
import signal
import socket
import sys
from pathlib import Path

import torch

from kernaut.sandbox.control import START, unpack_start
from kernaut.sandbox.hardening import confine, settle
from kernaut.sandbox.template import Template
from kernaut.sandbox.warmup import warm_up
from kernaut.sealed.confinement import UNTRUSTED, PolicyFilter, ReadOnlyLandlock, readable_paths
from kernaut.sealed.policies.registry import BUILT_IN
from kernaut.sealed.policy_process import serve

TRUSTED_LOADED = 71
PRELOADED = """
abc argparse array base64 binascii bisect bz2 calendar cmath collections.abc concurrent.futures contextlib copy csv ctypes dataclasses datetime
decimal difflib enum fractions functools gc glob hashlib heapq hmac http.client importlib.metadata importlib.util inspect io itertools json
logging math mmap multiprocessing numbers operator os pathlib pickle pkgutil platform pprint queue random re secrets select shutil signal
socket sqlite3 statistics string struct subprocess sys tempfile textwrap threading time timeit traceback types typing unittest.mock
urllib.request uuid warnings weakref xml.etree.ElementTree zipfile zlib
encodings.ascii encodings.base64_codec encodings.cp437 encodings.hex_codec encodings.idna encodings.latin_1 encodings.utf_16 encodings.utf_32
numpy.fft numpy.polynomial scipy.linalg scipy.optimize scipy.special scipy.stats torch.nn.functional
"""
"""What policies may import without reading a file: nobody, whose identity they take, may be shut out of where Python lies."""
_OWN = "kernaut.sealed."


class PolicyTemplate(Template):
    """Forks policies' processes.

    Args:
        directory: private directory of the control socket.
        lifeline: descriptor whose end of file means that the owner is gone.
        owner: process number of the owner.
        extension: the module an added policy lives in, if any.
    """

    def __init__(self, directory: Path, lifeline: int, owner: int, extension: str | None) -> None:
        super().__init__(directory, lifeline, owner)
        self._landlock = ReadOnlyLandlock(readable_paths(extension))
        self._seccomp = PolicyFilter(reading=self._landlock.version > 0)
        self._readable = "python packages" if self._landlock.version else "nothing"

    def _become_child(self, handover: socket.socket, template: int, prepare: bool) -> None:
        """The process's whole life; it never returns into the loop."""
        status = 70
        try:
            signal.set_wakeup_fd(-1)
            settled = settle(handover, template, self._landlock)
            data, descriptors, _, _ = socket.recv_fds(settled.handover, START.size, 1)
            limits = unpack_start(data)
            if limits is not None and descriptors:
                protections, peer = confine(settled, descriptors[0], limits, self._seccomp, self._threads)
                told = protections.describe() | {"no_files": False, "readable": self._readable}
                serve(peer, told)
            status = 0
        finally:
            os._exit(status)


def trusted_modules() -> list[str]:
    """Trusted modules of the sealed package that are loaded in this process."""
    own = [name.removeprefix(_OWN).partition(".")[0] for name in sys.modules if name.startswith(_OWN)]
    return sorted(set(own) - set(UNTRUSTED))


def main(arguments: list[str]) -> int:
    """Run the template: ``DIRECTORY LIFELINE OWNER EXTENSION`` (an empty extension for none)."""
    directory, lifeline, owner, extension = arguments
    torch.set_num_threads(1)
    for place in BUILT_IN.values():
        importlib.import_module(place.partition(":")[0])
    for name in PRELOADED.split():
        importlib.import_module(name)
    warm_up()
    if trusted_modules():
        return TRUSTED_LOADED
    PolicyTemplate(Path(directory), int(lifeline), int(owner), extension or None).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
