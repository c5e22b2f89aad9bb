"""Kernaut discovers Gaussian-process kernels that transfer to tasks the search never saw."""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = ["__version__"]
