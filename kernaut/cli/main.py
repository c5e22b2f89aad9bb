"""The program ``kernaut``: what stands ready before anything is imported, so that an interruption finds words at any moment."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Run the program; an unexpected error shows its traceback with ``--verbose`` only."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite end is one, whoever asks for it
    try:
        _run()
    except KeyboardInterrupt:  # before the commands were there, or after they had ended
        sys.stderr.write("interrupted\n")
        sys.stderr.flush()
        os._exit(130)


def _run() -> None:
    from typer.main import get_command

    from kernaut.cli.commands import app
    from kernaut.cli.outcome import leave_at_once_when_interrupted, show_no_traceback

    leave_at_once_when_interrupted()
    show_no_traceback()
    get_command(app)(prog_name="kernaut")  # calling the app itself would put typer's own hook in place
