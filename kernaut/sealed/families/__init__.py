"""Task families, trusted side: they draw instances, know the hidden targets and judge outputs."""

from __future__ import annotations
