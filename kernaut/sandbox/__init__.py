"""Runs kernel programs in confined child processes; the trust border of Kernaut.

A template process (torch imported once) forks one child per program.  The child answers requests with raw float64 buffers and is
killed at its deadline.  Nothing here knows Gaussian processes.
"""

from __future__ import annotations
