"""Kernels as small Python modules of their own, for places where Kernaut is not installed."""

from __future__ import annotations
