"""Generation as a process: ``python -m kernaut.sealed.generating``, options as JSON on standard input.  Trusted side.

Options: ``out``, ``ledger``, ``key_file`` (null: a place of its own), ``counts``, ``seed``, ``options`` (by family), ``rollouts``.  Writes one JSON line.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernaut.sealed.calibration import ROLLOUTS
from kernaut.sealed.generation import Generation, generate
from kernaut.sealed.reporting import run_process, say


def work(given: Mapping[str, Any]) -> int:
    """Generate, and say where everything went."""
    what = Generation(given["counts"], given.get("seed", 0), given.get("options", {}), given.get("rollouts", ROLLOUTS))
    key_file = Path(given["key_file"]) if given.get("key_file") else None
    made = generate(what, Path(given["out"]), Path(given["ledger"]), key_file)
    record = {
        "event": "generated",
        "manifest": str(made.out),
        "ledger": str(made.ledger),
        "key_file": str(made.key_file),
        "key_id": made.key_id,
        "tasks": made.tasks,
        "calibrated": made.calibrated,
        "probes": [result.to_json() for result in made.probes],
    }
    say(record)
    return 0


if __name__ == "__main__":
    sys.exit(run_process(work))
