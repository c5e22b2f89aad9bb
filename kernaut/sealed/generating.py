"""Generation as a process: ``python -m kernaut.sealed.generating``, options as JSON on standard input.  Trusted side.

Options: ``out``, ``ledger``, ``key_file`` (null: a place of its own), ``counts``, ``seed``, ``options`` (by family), ``rollouts``.  Writes one JSON line.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kernaut.digest import canonical_json, loads_finite
from kernaut.errors import KernautError
from kernaut.sealed.calibration import ROLLOUTS
from kernaut.sealed.generation import Generation, generate

BAD_INPUT = 2


def main() -> int:
    """Read the options and generate; errors go to standard error as one JSON line."""
    try:
        given = loads_finite(sys.stdin.buffer.read(), "the options")
        what = Generation(
            given["counts"], given.get("seed", 0), given.get("options", {}), given.get("rollouts", ROLLOUTS)
        )
        key_file = Path(given["key_file"]) if given.get("key_file") else None
        made = generate(what, Path(given["out"]), Path(given["ledger"]), key_file)
    except KernautError as error:
        sys.stderr.write(json.dumps({"error": str(error)}) + "\n")
        return BAD_INPUT
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
    sys.stdout.write(canonical_json(record) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
