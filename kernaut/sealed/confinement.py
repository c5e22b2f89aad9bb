"""What confines a policy's process: Python's packages may be read, nothing else; no network, no other process.  Untrusted side.

Landlock grants reading of the packages a policy may import, the trusted modules of this package left out; seccomp lets files be opened (Landlock
says which) and kills for sockets, processes, programs and traces.  Where the kernel has no Landlock, files cannot be opened at all, so
that policies that live in modules of their own cannot be loaded.
"""

from __future__ import annotations

import ctypes
import errno
import importlib.machinery
import os
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from kernaut.sandbox.landlock import Landlock
from kernaut.sandbox.linux import libc
from kernaut.sandbox.seccomp import DATA_DESCRIPTOR, SeccompFilter

try:
    import pyseccomp
except (ImportError, RuntimeError):  # RuntimeError: pyseccomp without libseccomp
    pyseccomp = None

UNTRUSTED = (
    "__init__",
    "arrays",
    "client",
    "confinement",
    "episode",
    "inline_kernels",
    "kernel_records",
    "manifest",
    "mechanisms",
    "places",
    "policies",
    "policy",
    "policy_host",
    "policy_process",
    "policy_template",
    "processes",
    "reporting",
    "results",
    "runner",
    "spaces",
    "transport",
)
"""Modules of this package that the untrusted side consists of; all others are trusted and cannot be read by a policy."""

_ADD_RULE, _PATH_BENEATH = 445, 1
_READ_FILE, _READ_FOLDER = 4, 8
_SYSTEM_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")

_PACKAGE_FOLDERS = ("site-packages", "dist-packages")

_ALLOWED = """
mmap munmap mprotect mremap madvise brk
futex sched_yield nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time restart_syscall exit exit_group
getpid gettid getuid geteuid getgid getegid getcpu sched_getaffinity rt_sigreturn rt_sigprocmask sigaltstack set_robust_list rseq
open openat stat lstat fstat newfstatat statx access faccessat faccessat2 readlink readlinkat getcwd lseek getdents getdents64
close fcntl pread64 read readv ioctl poll getrandom
"""
_REFUSED = """
openat2 creat chdir fchdir unlink unlinkat rename renameat renameat2 mkdir mkdirat rmdir link linkat symlink symlinkat chmod fchmod
fchmodat chown fchown fchownat lchown truncate ftruncate mknod mknodat utimensat statfs fstatfs umask flock fsync close_range dup
dup2 dup3 writev pwrite64 pipe pipe2 uname sysinfo getrusage getrlimit prlimit64 sched_setaffinity rt_sigaction tgkill tkill
getppid getpgrp
"""


class _PathAttributes(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


class ReadOnlyLandlock(Landlock):
    """A rule set that lets some files and folders be read and denies all else.

    Args:
        paths: what may be read; those that do not exist are left out.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        super().__init__()
        if self.version:
            for path in paths:
                self._grant(path)

    def _grant(self, path: Path) -> None:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return
        rights = _READ_FILE | (_READ_FOLDER if path.is_dir() else 0)
        rule = _PathAttributes(rights, descriptor)
        libc().syscall(_ADD_RULE, self._ruleset, _PATH_BENEATH, ctypes.byref(rule), ctypes.c_uint32(0))
        os.close(descriptor)


class PolicyFilter(SeccompFilter):
    """The system calls a policy may make; any other one kills it.

    Args:
        reading: whether files may be opened (Landlock says which); else the sandbox's stricter list holds.
    """

    def __init__(self, *, reading: bool) -> None:
        super().__init__()
        if reading and self._filter is not None:
            self._filter = _compile()


def _compile() -> Any:
    rules = pyseccomp.SyscallFilter(defaction=pyseccomp.KILL_PROCESS)
    arch = pyseccomp.system_arch()
    data = pyseccomp.Arg(0, pyseccomp.EQ, DATA_DESCRIPTOR)
    outputs = pyseccomp.Arg(0, pyseccomp.LT, DATA_DESCRIPTOR)
    plans: list[tuple[int, str, tuple[Any, ...]]] = [(pyseccomp.ALLOW, call, ()) for call in _ALLOWED.split()]
    plans += [(pyseccomp.ERRNO(errno.EPERM), call, ()) for call in _REFUSED.split()]
    plans += [(pyseccomp.ALLOW, call, (data,)) for call in ("recvfrom", "sendto")]
    plans += [(pyseccomp.ALLOW, "write", (outputs,))]
    for action, call, conditions in plans:
        try:
            number = pyseccomp.resolve_syscall(arch, call)
        except (ValueError, OSError):
            continue
        if number is not None and number >= 0:
            rules.add_rule(action, call, *conditions)
    return rules


def readable_paths(extension: str | None) -> list[Path]:
    """What a policy's process may read: the standard library, installed packages, this package without its trusted modules.

    Args:
        extension: the module an added policy lives in; its top-level package may be read wherever it lies.
    """
    own = Path(__file__).resolve().parent
    package = own.parent
    found = [Path(path) for path in _SYSTEM_LIBRARIES]
    for folder in sorted({Path(os.__file__).parent, Path(sysconfig.get_path("stdlib"))}):
        found += [entry for entry in _entries(folder) if entry.name not in _PACKAGE_FOLDERS]
    for name in ("purelib", "platlib"):
        found += [entry for entry in _entries(Path(sysconfig.get_path(name))) if entry.resolve() != package]
    found += [entry for entry in _entries(package) if entry.resolve() != own]
    found += [entry for entry in _entries(own) if entry.name.removesuffix(".py") in UNTRUSTED]
    if extension is not None:
        found += _extension_paths(extension.partition(".")[0])
    return found


def _entries(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.iterdir()) if folder.is_dir() else ()


def _extension_paths(top: str) -> list[Path]:
    """Where a top-level module lies, found without importing it."""
    spec = importlib.machinery.PathFinder.find_spec(top)
    if spec is None or top == "kernaut":
        return []
    if spec.submodule_search_locations:
        return [Path(location) for location in spec.submodule_search_locations]
    return [Path(spec.origin)] if spec.origin else []
