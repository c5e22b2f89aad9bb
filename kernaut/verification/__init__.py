"""Evidence that a kernel program does what its contract says: tiers T0 executable, T1 empirical, T2 contract certified."""

from __future__ import annotations
