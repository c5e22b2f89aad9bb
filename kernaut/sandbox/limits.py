"""What one sandboxed child may use: time, memory, output, files."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from kernaut.errors import InputError


@dataclass(frozen=True)
class Limits:
    """Limits of one child; exceeding any of them is a state, never a hang.

    Args:
        request_seconds: wall clock of one request, sending and receiving included [s].
        load_seconds: wall clock from the start of the child to the first run of its source [s].
        cpu_seconds: processor time of the child over all its requests, rounded up to whole seconds [s].
        memory_mib: address space beyond what the idle child maps [MiB].
        output_mib: largest reply [MiB].
        open_files: file descriptors, those of the sandbox itself included.

    Raises:
        InputError: for a limit that is not a positive finite number.
    """

    request_seconds: float = 2.0
    load_seconds: float = 5.0
    cpu_seconds: float = 60.0
    memory_mib: int = 512
    output_mib: int = 64
    open_files: int = 16

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
                raise InputError(
                    f"Expected a positive finite number for the sandbox limit {field.name}. Got {value!r}."
                )
            if field.name in ("memory_mib", "output_mib", "open_files") and not isinstance(value, int):
                raise InputError(f"Expected a whole number for the sandbox limit {field.name}. Got {value!r}.")
        if self.open_files < 8:
            raise InputError(f"Expected at least 8 open_files (the sandbox itself holds 4). Got {self.open_files!r}.")
