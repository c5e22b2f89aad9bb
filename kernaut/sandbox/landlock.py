"""Landlock (Linux 5.13 and newer) by direct system calls: a process that may touch no file and no TCP port.

The rule set handles every right the kernel knows and grants none, so that everything not open already is denied.  It needs no
privilege and no library.  Reference: Linux documentation, ``userspace-api/landlock``.
"""

from __future__ import annotations

import ctypes

from kernaut.sandbox.linux import LINUX, libc

_CREATE_RULESET = 444
_RESTRICT_SELF = 446
_VERSION_FLAG = 1

# Rights known at each version: 13 file rights, then REFER, TRUNCATE and IOCTL_DEV.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_TCP_RIGHTS = 0b11
_SCOPES = 0b11


class _RulesetAttributes(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class Landlock:
    """One rule set, made in the template and imposed on each child.

    Attributes:
        version: the kernel's Landlock version, 0 where there is none.
    """

    def __init__(self) -> None:
        self.version = 0
        self._ruleset = -1
        if not LINUX:
            return
        version = libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))
        if version < 1:
            return
        attributes = _RulesetAttributes(
            files=(1 << _FILE_RIGHTS.get(version, 16)) - 1,
            network=_TCP_RIGHTS if version >= 4 else 0,
            scoped=_SCOPES if version >= 6 else 0,
        )
        size = 24 if version >= 6 else 16 if version >= 4 else 8
        self._ruleset = libc().syscall(
            _CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0)
        )
        if self._ruleset >= 0:
            self.version = version

    def restrict(self) -> bool:
        """Impose the rule set on this process for ever (``no_new_privs`` must be set); whether it worked."""
        if self.version == 0:
            return False
        return bool(libc().syscall(_RESTRICT_SELF, ctypes.c_int(self._ruleset), ctypes.c_uint32(0)) == 0)
