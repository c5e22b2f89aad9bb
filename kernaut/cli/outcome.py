"""How a command ends: exit codes, and errors in one line.

====  =========================================================================
   0  done
   1  it ran and failed: a program that is not accepted, a damaged archive, ...
   2  bad input: an option, a file, an archive or a program that cannot be used
 130  interrupted (Ctrl-C, or SIGTERM)
====  =========================================================================

``kernaut notebook run`` has further codes; see :mod:`kernaut.runs.failures`.
"""

from __future__ import annotations

import atexit
import errno
import os
import shlex
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import TracebackType
from typing import Any

import typer
from typer.core import TyperGroup

from kernaut.cli.terminal import Terminal
from kernaut.errors import ArchiveError, InputError, KernautError

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130
_INTERRUPTED = Event()
_ENVIRONMENT = frozenset(
    {
        *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO),
        *(errno.EMFILE, errno.ENFILE, errno.ENAMETOOLONG, errno.ELOOP),
    }
)
"""What goes wrong with files for reasons outside Kernaut: rights, space, the device, limits, names."""
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]


class Resumable(KeyboardInterrupt):
    """An interruption after which a command line continues the work.

    Args:
        command: that command line.
    """

    def __init__(self, command: str) -> None:
        super().__init__(f"interrupted; resume with: {command}")


class Commands(TyperGroup):
    """The root group: turns every error of a command into one line on standard error and an exit code."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the options before the command."""
        with _in_one_line(None):
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Parse the rest and run the command."""
        with _in_one_line(ctx):
            return super().invoke(ctx)


def leave_at_once_when_interrupted() -> None:
    """Have an interrupted process end without taking itself apart, which takes a second once torch is loaded.

    Call it first of all: what is registered for the end of the process afterwards, such as the end of sandboxes and workers, is done before.
    """

    def leave() -> None:
        if _INTERRUPTED.is_set():
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(INTERRUPTED)

    atexit.register(leave)


def show_no_traceback() -> None:
    """Have an unexpected error, which is a fault in Kernaut, say so in one line too."""

    def say(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):  # before a command has begun, or after it has ended
            _say("interrupted")
            return
        if not _has_folder():
            _say("error: Expected a current folder that exists. Got one that was removed.")
            _say("hint: cd to another folder, then give the same command again.")
            return
        _say(f"error: unexpected {kind.__name__}: {_one_line(str(error))}")
        _say("hint: this is a fault in Kernaut; the same command after `kernaut --verbose` shows where it happened.")

    sys.excepthook = say


def _has_folder() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def command_line(ctx: typer.Context, **replaced: Any) -> str:
    """The command line of a context with every option that differs from its default.

    Args:
        ctx: of a command.
        replaced: values to use in place of those given.
    """
    words = ctx.command_path.split()
    words[0] = "kernaut"
    for parameter in ctx.command.params:
        name = parameter.name or ""
        value = replaced.get(name, ctx.params.get(name))
        if value is None or (value == parameter.default and name not in replaced):
            continue
        option = next((text for text in parameter.opts if text.startswith("--")), None)
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(item, bool):
                words += [option] if item and option is not None else []
            else:
                text = str(getattr(item, "value", item))
                words += [text] if option is None else [option, text]
    return shlex.join(words)


@contextmanager
def _in_one_line(ctx: Any) -> Iterator[None]:
    try:
        yield
    except KernautError as error:
        _trace(ctx)
        _say(f"error: {_one_line(error.message)}")
        if error.hint is not None:
            _say(f"hint: {_one_line(error.hint)}")
        raise typer.Exit(_code(error)) from None
    except OSError as error:
        if error.errno not in _ENVIRONMENT:
            raise
        _trace(ctx)
        where = f" at {_shortened(str(error.filename))}" if error.filename is not None else ""
        _say(f"error: Expected files and streams that can be read and written{where}. Got: {error.strerror}.")
        raise typer.Exit(BAD_INPUT) from None
    except KeyboardInterrupt as error:
        _trace(ctx)
        _say(str(error) or "interrupted")
        _INTERRUPTED.set()
        raise typer.Exit(INTERRUPTED) from None
    except _UsageError as error:
        message = getattr(error, "format_message", error.__str__)()
        if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help
            _say(message)
            raise typer.Exit(BAD_INPUT) from None
        _say(f"error: {_one_line(message).replace(': Value error, ', ': ')}")
        inner = getattr(error, "ctx", None)
        words = inner.command_path.split()[1:] if inner is not None else []
        _say(f"hint: see {' '.join(['kernaut', *words])} --help")
        raise typer.Exit(BAD_INPUT) from None


def _code(error: KernautError) -> int:
    code = getattr(error, "exit_code", None)
    if isinstance(code, int):
        return code
    return BAD_INPUT if isinstance(error, (InputError, ArchiveError)) else FAILED


def _trace(ctx: Any) -> None:
    terminal = ctx.obj if ctx is not None else None
    if isinstance(terminal, Terminal) and terminal.verbose:
        _say(traceback.format_exc())


def _say(line: str) -> None:
    typer.echo(line, err=True)


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:150]}... ({len(text)} characters)"


def _one_line(text: str) -> str:
    return " ".join(text.split())
