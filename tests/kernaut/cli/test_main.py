from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernaut import __version__
from tests.kernaut.cli.conftest import Run

HEAVY = ("torch", "numpy", "scipy", "altair", "matplotlib", "sqlalchemy", "papermill", "pydantic", "rich.progress")


def test_help_names_every_command(run: Run) -> None:
    text = run("--help").stdout
    for name in (
        "meta-run",
        "meta-benchmark",
        "verify",
        "inspect",
        "baselines",
        "select",
        "archive",
        "notebook",
        "doctor",
    ):
        assert f"\n  {name} " in text
    assert run("archive", "--help").exit_code == 0


def test_help_waits_for_nothing_heavy() -> None:
    """The reason why commands import what they need when they run."""
    code = f"import sys, kernaut.cli.commands; print([name for name in {HEAVY!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_the_installed_program_prints_its_version() -> None:
    program = Path(sys.executable).with_name("kernaut")
    result = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert result.stdout == f"kernaut {__version__}\n"


@pytest.mark.parametrize(("name", "module"), [("SIGINT", "typer"), ("SIGTERM", "kernaut.cli.terminal")])
def test_an_interruption_while_it_is_imported_is_one_word(name: str, module: str) -> None:
    code = f"""
import signal, sys
class Interrupt:
    @staticmethod
    def find_spec(name, path, target=None):
        if name == {module!r}:
            signal.raise_signal(signal.{name})
sys.meta_path.insert(0, Interrupt)
from kernaut.cli.main import main
main()
"""
    result = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "interrupted\n")


def test_without_a_command_the_help_is_shown(run: Run) -> None:
    result = run()
    assert result.exit_code == 2
    assert "meta-run" in result.stderr


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["meta-rum"], "meta-rum"),
        (["--loud"], "--loud"),
        (["meta-run", "--iterations", "many"], "--iterations"),
        (["meta-run", "--strategy", "hopeful"], "evolutionary"),
        (["meta-run", "--sed", "3"], "--sed"),
        (["verify"], "FILE"),
    ],
)
def test_usage_errors_are_one_line(run: Run, words: list[str], part: str) -> None:
    result = run(*words)
    lines = result.stderr.splitlines()
    assert result.exit_code == 2
    assert lines[0].startswith("error: ")
    assert part in lines[0]
    assert lines[1].startswith("hint: see kernaut")
    assert len(lines) == 2


def test_an_unexpected_error_is_one_line_unless_verbose(tmp_path: Path) -> None:
    code = "import kernaut.cli.programs, kernaut.report.table\ndel kernaut.report.table.aligned\nfrom kernaut.cli.main import main\nmain()"
    quiet = subprocess.run(
        [sys.executable, "-c", code, "inspect"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert quiet.returncode == 1
    assert quiet.stderr.startswith("error: unexpected ImportError: cannot import name 'aligned'")
    assert "Traceback" not in quiet.stderr
    loud = subprocess.run(
        [sys.executable, "-c", code, "--verbose", "inspect"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert "Traceback" in loud.stderr
