"""What a command says and where: reports on standard output or in a file, everything else on standard error.

Progress is a bar on a terminal, and plain lines, at most one in ten seconds, where standard error is a file or a pipe.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import typer

from kernaut.digest import thaw
from kernaut.errors import InputError

PLAIN_SECONDS = 10.0


@dataclass(frozen=True)
class Terminal:
    """How much a command says.

    Args:
        verbose: whether log lines are shown, and tracebacks of errors.
        quiet: whether notes and progress are left out; warnings and errors stay.
    """

    verbose: bool = False
    quiet: bool = False

    def note(self, text: str) -> None:
        """One line on standard error."""
        if not self.quiet:
            typer.echo(text, err=True)

    def warn(self, text: str) -> None:
        """One line on standard error that ``--quiet`` does not suppress."""
        typer.echo(f"warning: {text}", err=True)

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """Show how far something is, until the block ends."""
        if self.quiet:
            yield Progress()
        elif sys.stderr.isatty():
            with _bars() as bars:
                yield bars
        else:
            yield _PlainProgress()


class Progress:
    """How far something is, part by part; this one says nothing."""

    def at(self, part: str, done: int, total: int) -> None:
        """``done`` of ``total`` steps of a part are finished."""

    def tell(self, line: str) -> None:
        """Say a line that stays on the screen."""


class _PlainProgress(Progress):
    def __init__(self) -> None:
        self._said = monotonic()

    def at(self, part: str, done: int, total: int) -> None:
        if done == total or monotonic() - self._said >= PLAIN_SECONDS:
            self.tell(f"{part}: {done} of {total}")

    def tell(self, line: str) -> None:
        self._said = monotonic()
        typer.echo(line, err=True)


@contextmanager
def _bars() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with RichProgress(*columns, console=Console(stderr=True, highlight=False), transient=True) as rich:
        tasks: dict[str, TaskID] = {}

        class _Bars(Progress):
            def at(self, part: str, done: int, total: int) -> None:
                if part not in tasks:
                    tasks[part] = rich.add_task(part, total=total)
                rich.update(tasks[part], completed=done, total=total)

            def tell(self, line: str) -> None:
                rich.console.print(line, markup=False)

        yield _Bars()


def write_json(record: Mapping[str, Any], out: Path | None) -> None:
    """Write a report to a file, or to standard output.

    Raises:
        InputError: when the file cannot be written.
    """
    write_text(json.dumps(thaw(record), indent=2, ensure_ascii=False, allow_nan=False) + "\n", out)


def write_text(text: str, out: Path | None) -> None:
    """Write a text that ends its own last line to a file, or to standard output.

    Raises:
        InputError: when the file cannot be written.
    """
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"Expected a file that can be written at {out}. Got: {error.strerror}.") from error


def require_writable(out: Path | None) -> None:
    """Check, before long work, that a report can be written where it is wanted.

    Raises:
        InputError: when its folder is missing, it is a folder, or it may not be written.
    """
    if out is None:
        return
    folder = out.absolute().parent
    if out.is_dir() or not folder.is_dir():
        reason = "a folder" if out.is_dir() else f"no folder {folder}"
        raise InputError(f"Expected a file that can be written at {out}. Got {reason}.")
    closed = out if out.exists() else folder
    if not os.access(closed, os.W_OK):
        raise InputError(f"Expected a file that can be written at {out}. Got no right to write {closed}.")


def read_text(path: Path, what: str) -> str:
    """The text of a file.

    Raises:
        InputError: when it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"Expected a readable {what} at {path}. Got: {reason}.") from error
