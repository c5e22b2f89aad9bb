"""Domain ``kernels``: kernels fitted to episodes, and which of them to trust."""

from __future__ import annotations
