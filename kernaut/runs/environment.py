"""The versions that a run was made with."""

from __future__ import annotations

import os
import platform
from importlib.metadata import distributions
from typing import Any

from kernaut import __version__

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def environment_versions() -> dict[str, Any]:
    """Kernaut, Python, the machine and every installed distribution by name; JSON, in stable order."""
    packages = {dist.metadata["Name"]: dist.version for dist in distributions() if dist.metadata["Name"]}
    return {
        "kernaut": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "threads": {name: os.environ.get(name) for name in THREAD_VARIABLES},
        "packages": dict(sorted(packages.items(), key=lambda item: item[0].lower())),
    }
