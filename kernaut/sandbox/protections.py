"""What was enforced on a child, and what this machine could not enforce.

The child states its protections in one fixed binary record before it reads the source, so that no program can forge them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

RECORD = struct.Struct("<HHHHBBB")

RLIMITS: Mapping[str, int] = {
    "address_space": 1,
    "cpu_seconds": 2,
    "file_size": 4,
    "open_files": 8,
    "core": 16,
    "processes": 32,
}
"""Bits of the resource limits that were set."""

SECCOMP_ON = 0
SECCOMP_REASONS: Mapping[int, str] = {
    SECCOMP_ON: "",
    1: "seccomp exists on Linux only",
    2: "libseccomp or pyseccomp is not installed",
    3: "the kernel refused the seccomp filter",
    4: "seccomp was switched off",
}


@dataclass(frozen=True)
class Protections:
    """One child's protections.

    Args:
        seccomp: 0 when the filter is loaded, else a key of :data:`SECCOMP_REASONS`.
        landlock: the Landlock version that rules the child, 0 for none.
        rlimits: bits of :data:`RLIMITS`.
        unprivileged: whether the process limit binds it (it does not bind root).
        no_new_privs: whether it can gain no privileges.
        parent_death: whether it dies with the template.
        threads: threads of the child at its start.
    """

    seccomp: int
    landlock: int
    rlimits: int
    unprivileged: bool
    no_new_privs: bool
    parent_death: bool
    threads: int

    def pack(self) -> bytes:
        """The fixed binary record."""
        return RECORD.pack(
            self.seccomp,
            self.landlock,
            self.rlimits,
            self.threads,
            self.unprivileged,
            self.no_new_privs,
            self.parent_death,
        )

    @classmethod
    def unpack(cls, data: bytes) -> Protections:
        """Read the record.

        Raises:
            struct.error: for bytes of another length.
        """
        seccomp, landlock, rlimits, threads, unprivileged, privs, death = RECORD.unpack(data)
        return cls(seccomp, landlock, rlimits, bool(unprivileged), bool(privs), bool(death), threads)

    def describe(self) -> dict[str, Any]:
        """A JSON object for evidence records; ``not_enforced`` lists, in words, what this machine could not hold."""
        seccomp = self.seccomp == SECCOMP_ON
        missing = []
        if not seccomp:
            missing.append(f"system calls are not filtered: {SECCOMP_REASONS.get(self.seccomp, 'unknown reason')}")
        if not self.landlock:
            missing.append("Landlock is not offered by this kernel")
        no_files = seccomp or self.landlock > 0
        if not no_files:
            missing.append("files can be read; none can be grown (RLIMIT_FSIZE)")
        if not seccomp:
            missing.append("network other than TCP can be used" if self.landlock >= 4 else "network can be used")
        no_processes = seccomp or (self.unprivileged and bool(self.rlimits & RLIMITS["processes"]))
        if not no_processes:
            missing.append("processes can be started; they are killed with the child")
        missing += [
            f"no {name} limit" for name, bit in RLIMITS.items() if not self.rlimits & bit and name != "processes"
        ]
        if not self.parent_death:
            missing.append("a busy child may outlive a killed template until its processor seconds are used up")
        return {
            "seccomp": seccomp,
            "landlock": self.landlock,
            "no_new_privs": self.no_new_privs,
            "rlimits": [name for name, bit in RLIMITS.items() if self.rlimits & bit],
            "parent_death": self.parent_death,
            "no_network": seccomp,
            "no_files": no_files,
            "no_processes": no_processes,
            "empty_environment": True,
            "threads": self.threads,
            "not_enforced": missing,
        }
