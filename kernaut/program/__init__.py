"""Kernel programs: the frozen record an author writes, its contract, parameters and closure trees.

Nothing here executes a program; see :mod:`kernaut.sandbox` and :mod:`kernaut.kernels` for that.
"""

from __future__ import annotations
