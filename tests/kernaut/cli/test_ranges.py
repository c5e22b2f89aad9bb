from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kernaut.cli.ranges import printable, within
from kernaut.errors import InputError

OPTION: Any = SimpleNamespace(opts=["-n", "--number"])


@pytest.mark.parametrize(
    ("check", "good", "bad", "wanted"),
    [
        (within(1, 9), (1, 9, None), (0, 10), "--number from 1 to 9"),
        (within(0), (0, 10**40), (-1, float("nan"), float("inf")), "--number of at least 0"),
        (within(0, above=True), (0.5, 7), (0, -1, float("nan"), float("inf")), "--number above 0"),
        (within(0, 2, above=True), (0.1, 2), (0, 2.1), "--number above 0 and at most 2"),
    ],
)
def test_what_is_outside_is_refused_by_name(
    check: Callable[..., Any], good: tuple[Any, ...], bad: tuple[Any, ...], wanted: str
) -> None:
    for value in good:
        assert check(OPTION, value) == value
    for value in bad:
        with pytest.raises(InputError, match=f"^Expected {wanted}. Got {value!r}.$"):
            check(OPTION, value)


def test_a_name_can_be_read() -> None:
    for name in (None, "a", "bbo seed/3|é", "x" * 200):
        assert printable(OPTION, name) == name
    for name, shown in (
        ("", "''"),
        (" \t", "' \\\\t'"),
        ("a\nb", "'a\\\\nb'"),
        ("x" * 201, "201 characters"),
        ("\udcff", "udcff"),
    ):
        with pytest.raises(InputError, match=f"Expected --number of 1 to 200 printable characters. Got .*{shown}"):
            printable(OPTION, name)


def test_a_bad_request_ends_before_any_library_is_loaded() -> None:
    script = """
import sys
from typer.testing import CliRunner
from kernaut.cli.commands import app
for words in (
    "meta-run --iterations 0", "meta-run --config none.toml", "meta-run --context none.md", "meta-run --out none/r.json",
    "ts-run --data none", "chem-benchmark --chembench-root none", "glucose-benchmark --data none.json",
    "meta-benchmark --candidate-file none.json", "meta-benchmark --candidate-id a", "references chess",
    "run --data none.csv", "fit none.json --data none.csv", "baselines --data none.csv", "verify none.json",
):
    result = CliRunner().invoke(app, words.split())
    assert result.exit_code == 2, (words, result.output)
    assert result.stderr.startswith("error: Expected"), (words, result.stderr)
    loaded = {"torch", "gpytorch", "scipy"} & set(sys.modules)
    assert not loaded, (words, loaded)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
