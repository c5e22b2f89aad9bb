"""Confine this process for ever, in two steps.

:func:`settle` needs to know nothing of the program, so that the template can prepare a child ahead: session, identity, descriptors,
Landlock.  :func:`confine` sets the client's limits and loads the system-call filter; no source is read before it.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import resource
import signal
import socket
from dataclasses import dataclass

from kernaut.sandbox import linux
from kernaut.sandbox.landlock import Landlock
from kernaut.sandbox.limits import Limits
from kernaut.sandbox.messages import MIB
from kernaut.sandbox.protections import RLIMITS, Protections
from kernaut.sandbox.seccomp import DATA_DESCRIPTOR, SeccompFilter

_NOBODY = 65534
_HANDOVER, _STATM = 3, 4
_COPIES_FROM = 16
_ALL_DESCRIPTORS = 1 << 20


@dataclass(frozen=True, eq=False)
class Settled:
    """What :func:`settle` achieved.

    Args:
        handover: socket from the template, on which limits and data socket come.
        landlock: the Landlock version that rules this process, 0 for none.
        no_new_privs: whether it can gain no privileges.
        parent_death: whether it dies with the template.
        statm: whether the size of this process can be read.
    """

    handover: socket.socket
    landlock: int
    no_new_privs: bool
    parent_death: bool
    statm: bool


def settle(handover: socket.socket, template: int, landlock: Landlock) -> Settled:
    """Leave the template's session, identity and descriptors.

    Args:
        handover: socket from the template.
        template: the template's process number; this process ends when it is an orphan already.
        landlock: the template's rule set.
    """
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGXCPU):
        signal.signal(number, signal.SIG_DFL)
    statm = _open_size()
    _become_nobody()
    parent_death = linux.die_with_parent()
    if os.getppid() != template:
        os._exit(1)
    privileges = linux.set_no_new_privileges()
    version = landlock.version if privileges and landlock.restrict() else 0
    _keep_only(handover.detach(), statm)
    ours = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, _HANDOVER)
    return Settled(ours, version, privileges, parent_death, statm is not None)


def confine(
    settled: Settled, data: int, limits: Limits, seccomp: SeccompFilter, threads: int
) -> tuple[Protections, socket.socket]:
    """Set limits, keep only the data socket, load the system-call filter.

    Args:
        settled: what :func:`settle` returned.
        data: descriptor of the data socket; it becomes descriptor 3, all others from there on are closed.
        limits: the child's limits.
        seccomp: the template's compiled filter.
        threads: threads of this process, as the template counts them.

    Returns:
        What is enforced, and the data socket.
    """
    rlimits = _set_limits(limits, _address_space() if settled.statm else None)
    settled.handover.detach()
    os.dup2(data, DATA_DESCRIPTOR)
    os.closerange(DATA_DESCRIPTOR + 1, _ALL_DESCRIPTORS)
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, DATA_DESCRIPTOR)
    unprivileged = os.geteuid() != 0
    reason = seccomp.load()
    protections = Protections(
        seccomp=reason,
        landlock=settled.landlock,
        rlimits=rlimits,
        unprivileged=unprivileged,
        no_new_privs=settled.no_new_privs,
        parent_death=settled.parent_death,
        threads=threads,
    )
    return protections, peer


def _become_nobody() -> None:
    """Give up root, which no resource limit on processes binds; stay as we are where the machine does not let us."""
    if os.geteuid() != 0 or not hasattr(os, "setresuid"):
        return
    with contextlib.suppress(OSError):
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)


def _open_size() -> int | None:
    """The kernel's account of this process's size, open before Landlock closes all files; None where there is no /proc."""
    try:
        return os.open("/proc/self/statm", os.O_RDONLY)
    except OSError:
        return None


def _keep_only(handover: int, statm: int | None) -> None:
    """Handover on 3, the size of this process on 4, the template's input (/dev/null) on 0 to 2, nothing else."""
    kept = [(0, 1), (0, 2), (handover, _HANDOVER)] + ([] if statm is None else [(statm, _STATM)])
    # Copies above all targets: a source may lie on another's target.
    moves = [(fcntl.fcntl(source, fcntl.F_DUPFD, _COPIES_FROM), target) for source, target in kept]
    for copy, target in moves:
        os.dup2(copy, target)
    os.closerange(len(kept) + 1, _ALL_DESCRIPTORS)


def _address_space() -> int:
    """Bytes this process maps."""
    return int(os.pread(_STATM, 200, 0).split()[0]) * resource.getpagesize()


def _set_limits(limits: Limits, idle: int | None) -> int:
    seconds = math.ceil(limits.cpu_seconds)
    wanted = {
        "cpu_seconds": (resource.RLIMIT_CPU, seconds, seconds + 1),
        "file_size": (resource.RLIMIT_FSIZE, 0, 0),
        "open_files": (resource.RLIMIT_NOFILE, limits.open_files, limits.open_files),
        "core": (resource.RLIMIT_CORE, 0, 0),
        "processes": (resource.RLIMIT_NPROC, 0, 0),
    }
    if idle is not None:
        most = idle + limits.memory_mib * MIB
        wanted["address_space"] = (resource.RLIMIT_AS, most, most)
    bits = 0
    for name, (which, soft, hard) in wanted.items():
        try:
            resource.setrlimit(which, (soft, hard))
        except (OSError, ValueError):
            continue
        bits |= RLIMITS[name]
    return bits
