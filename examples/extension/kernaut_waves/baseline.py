"""A fixed linear kernel, as a reference beside Kernaut's own: names to base nodes or candidate objects."""

from __future__ import annotations

KERNELS = {"waves-linear-1": {"kind": "linear", "lengthscale": 1.0}}
