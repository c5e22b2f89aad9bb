from __future__ import annotations

import errno
import subprocess
import sys
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from kernaut.cli.outcome import Commands, Resumable, command_line
from kernaut.cli.terminal import Terminal
from kernaut.errors import ArchiveError, FitError, InputError
from kernaut.runs.failures import NotebookTimeout


def program(error: BaseException, *, verbose: bool = False) -> typer.Typer:
    app = typer.Typer(cls=Commands, rich_markup_mode=None, pretty_exceptions_enable=False)

    @app.callback()
    def root(ctx: typer.Context) -> None:
        ctx.obj = Terminal(verbose=verbose)

    @app.command()
    def go() -> None:
        raise error

    return app


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InputError("Expected a.\nGot b."), 2, "error: Expected a. Got b."),
        (ArchiveError("Expected an archive."), 2, "error: Expected an archive."),
        (
            OSError(errno.ENOSPC, "No space left on device", "/full/report.json"),
            2,
            "error: Expected files and streams that can be read and written at /full/report.json. Got: No space left on device.",
        ),
        (
            OSError(errno.EIO, "Input/output error"),
            2,
            "error: Expected files and streams that can be read and written. Got: Input/output error.",
        ),
        (FitError("no grid point"), 1, "error: no grid point"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (Resumable("kernaut meta-run --seed 3"), 130, "interrupted; resume with: kernaut meta-run --seed 3"),
    ],
)
def test_errors_end_in_a_code_and_one_line(error: BaseException, code: int, line: str) -> None:
    result = CliRunner().invoke(program(error), ["go"])
    assert (result.exit_code, result.stderr, result.stdout) == (code, line + "\n", "")


def test_an_error_of_another_kind_is_a_fault() -> None:
    fault = CliRunner().invoke(program(OSError(errno.EBADF, "Bad file descriptor")), ["go"]).exception
    assert isinstance(fault, OSError)


def test_hints_follow_on_a_line_of_their_own() -> None:
    result = CliRunner().invoke(program(InputError("Expected a.", hint="Give\n a.")), ["go"])
    assert result.stderr == "error: Expected a.\nhint: Give a.\n"


def test_an_error_may_name_its_own_code(tmp_path) -> None:  # type: ignore[no-untyped-def]
    assert CliRunner().invoke(program(NotebookTimeout("late", directory=tmp_path)), ["go"]).exit_code == 4


def test_tracebacks_are_for_verbose_only() -> None:
    assert "Traceback" in CliRunner().invoke(program(InputError("x"), verbose=True), ["go"]).stderr
    assert "Traceback" not in CliRunner().invoke(program(InputError("x")), ["go"]).stderr


def test_the_command_line_that_continues_holds_every_option_that_differs() -> None:
    app = typer.Typer()
    lines = []

    @app.callback()
    def root() -> None:
        """Root."""

    @app.command("search")
    def search(
        ctx: typer.Context,
        place: Annotated[str, typer.Argument()],
        seed: Annotated[int, typer.Option("--seed")] = 0,
        files: Annotated[list[str] | None, typer.Option("--file")] = None,
        fast: Annotated[bool, typer.Option("--fast")] = False,
        name: Annotated[str | None, typer.Option("--name")] = None,
    ) -> None:
        lines.append(command_line(ctx, name="a b"))

    CliRunner().invoke(app, ["search", "here", "--seed", "4", "--file", "x", "--file", "y z", "--fast"])
    CliRunner().invoke(app, ["search", "here", "--seed", "0"])
    assert lines == [
        "kernaut search here --seed 4 --file x --file 'y z' --fast --name 'a b'",
        "kernaut search here --name 'a b'",
    ]


@pytest.mark.parametrize(
    ("before", "raised", "line"),
    [
        ("", "KeyboardInterrupt", "interrupted"),
        ("", "ZeroDivisionError('x')", "error: unexpected ZeroDivisionError: x"),
        (
            "folder = tempfile.mkdtemp(); os.chdir(folder); os.rmdir(folder)",
            "FileNotFoundError(2, 'No such file or directory')",
            "error: Expected a current folder that exists. Got one that was removed.",
        ),
    ],
)
def test_what_nobody_caught_is_told_without_a_traceback(before: str, raised: str, line: str) -> None:
    script = f"import os, tempfile\nfrom kernaut.cli.outcome import show_no_traceback\nshow_no_traceback()\n{before}\nraise {raised}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stderr.splitlines()[0] == line
    assert "Traceback" not in done.stderr
