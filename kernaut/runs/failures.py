"""How a headless run can fail, each with an exit code of its own.

========================  ====
nothing failed               0
bad parameter or name        2
a cell raised                3
out of time                  4
the kernel died              5
no or no valid report        6
interrupted (Ctrl-C)       130
========================  ====
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from kernaut.errors import InputError, KernautError


class NotebookInputError(InputError):
    """No such notebook, a notebook without exactly one usable ``parameters`` cell, or a parameter it does not take."""

    exit_code: ClassVar[int] = 2


class NotebookFailure(KernautError):
    """A run that began and did not end well.

    Attributes:
        directory: the run's folder; it keeps the notebook up to the failing cell.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, directory: Path, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.directory = directory


class CellFailure(NotebookFailure):
    """A cell raised."""

    exit_code = 3


class NotebookTimeout(NotebookFailure):
    """The notebook was not done at its deadline."""

    exit_code = 4


class DeadKernel(NotebookFailure):
    """The kernel's process ended in the middle of a cell."""

    exit_code = 5


class MissingReport(NotebookFailure):
    """The notebook ran to its end and left no valid ``report.json``."""

    exit_code = 6


class NotebookInterrupted(KeyboardInterrupt):
    """Ctrl-C: the kernel was interrupted and the notebook kept up to the interrupted cell."""

    exit_code: ClassVar[int] = 130

    def __init__(self, directory: Path) -> None:
        super().__init__(f"interrupted; the notebook so far is in {directory}")
        self.directory = directory
