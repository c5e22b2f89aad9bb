"""What every test shares: one thread, repeatable property tests, no secrets and no configuration from the environment."""

from __future__ import annotations

import os
import signal
import sys

import pytest
from hypothesis import HealthCheck, settings

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # jsonschema's optional format; seconds to import

if (
    signal.getsignal(signal.SIGINT) == signal.SIG_IGN
):  # as below a shell's &, and so in every process that a test interrupts
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "kernaut", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("kernaut")


@pytest.fixture(autouse=True)
def no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests behave the same on a machine whose environment holds keys."""
    for key in list(os.environ):
        if key.upper().endswith(("KEY", "TOKEN", "SECRET", "PASSWORD")):
            monkeypatch.delenv(key)
