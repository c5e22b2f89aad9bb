"""Kernels on many episodes: outcomes, reports, reference kernels, paired statistics and the parallel engine."""

from __future__ import annotations
