"""Runs kernel programs in confined child processes; the trust border of Kernaut.

A template process (torch imported once) forks one child per program.  The child answers requests with raw float64 buffers and is
killed at its deadline with everything it started.  Nothing here knows Gaussian processes.

Enforced on Linux: no files, network, processes, threads, signals or entropy (seccomp, Landlock, an unprivileged user); limits on
address space, processor seconds and reply size; one deadline per request; an empty environment; death with the template, and with the
client that asked.  A machine that cannot enforce something says so in ``Child.protections["not_enforced"]``.  Not enforced anywhere: that a
program tells the truth about its own values (contracts and verification look at that), and fair shares of processor time before a deadline.
"""

from __future__ import annotations
