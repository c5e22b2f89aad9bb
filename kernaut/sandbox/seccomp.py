"""The system calls a child may make: an allow-list, compiled once in the template and loaded in each child.

A call that is not named kills the process (SIGSYS): with a mere error, ``os.system`` would return a plain number.  Calls on files get
EPERM instead, since numpy, torch and glibc probe for files and go on without them; entropy gets EPERM too, so that a program cannot
seed itself.  Reads and writes are allowed on the child's own data socket, writes on its outputs (which are ``/dev/null``).
"""

from __future__ import annotations

import errno
import sys
from typing import Any

from kernaut.sandbox.protections import SECCOMP_ON

try:
    import pyseccomp as _library
except (ImportError, RuntimeError):  # RuntimeError: pyseccomp without libseccomp
    _library = None

DATA_DESCRIPTOR = 3

_ALLOWED = """
mmap munmap mprotect mremap madvise brk
futex sched_yield nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time restart_syscall exit exit_group
getpid gettid getuid geteuid getgid getegid getcpu sched_getaffinity rt_sigreturn rt_sigprocmask sigaltstack set_robust_list rseq
"""
"""Memory; waiting and the end; what a process may know about itself."""

_REFUSED = """
open openat openat2 creat stat lstat fstat newfstatat fstatat64 statx access faccessat faccessat2 readlink readlinkat
getcwd chdir fchdir lseek getdents getdents64 unlink unlinkat rename renameat renameat2 mkdir mkdirat rmdir link linkat
symlink symlinkat chmod fchmod fchmodat chown fchown fchownat lchown truncate ftruncate mknod mknodat utimensat statfs fstatfs
umask ioctl fcntl flock fsync close close_range dup dup2 dup3 pread64 readv writev pwrite64 pipe pipe2
getsockname getpeername getrandom uname sysinfo getrusage getrlimit prlimit64 sched_setaffinity rt_sigaction tgkill tkill
mincore membarrier get_mempolicy set_mempolicy mbind sched_getparam sched_getscheduler getpriority
"""
"""Files and descriptors; entropy, limits, signal handlers, signals to threads (``abort`` falls through them)."""


class SeccompFilter:
    """The compiled allow-list.

    Attributes:
        reason: 0 when a filter can be loaded, else a key of :data:`kernaut.sandbox.protections.SECCOMP_REASONS`.
    """

    def __init__(self, *, wanted: bool = True) -> None:
        self._filter: Any = None
        if not wanted:
            self.reason = 4
        elif not sys.platform.startswith("linux"):
            self.reason = 1
        elif _library is None:
            self.reason = 2
        else:
            self._filter = _compile()
            self.reason = SECCOMP_ON

    def load(self) -> int:
        """Rule this process for ever; the reason why not otherwise (0 when the filter is on)."""
        if self._filter is None:
            return self.reason
        try:
            self._filter.load()
        except OSError:
            return 3
        return SECCOMP_ON


def _compile() -> Any:
    rules = _library.SyscallFilter(defaction=_library.KILL_PROCESS)
    data = _library.Arg(0, _library.EQ, DATA_DESCRIPTOR)
    outputs = _library.Arg(0, _library.LT, DATA_DESCRIPTOR)
    for call in _ALLOWED.split():
        _add(rules, _library.ALLOW, call)
    for call in _REFUSED.split():
        _add(rules, _library.ERRNO(errno.EPERM), call)
    for call in ("recvfrom", "sendto", "read"):
        _add(rules, _library.ALLOW, call, data)
    _add(rules, _library.ALLOW, "write", outputs)
    _add(rules, _library.ALLOW, "poll")
    return rules


def _add(rules: Any, action: int, call: str, *conditions: Any) -> None:
    """Add a rule, leaving out calls that this processor's table does not have."""
    try:
        number = _library.resolve_syscall(_library.system_arch(), call)
    except (ValueError, OSError):
        return
    if number is not None and number >= 0:
        rules.add_rule(action, call, *conditions)
