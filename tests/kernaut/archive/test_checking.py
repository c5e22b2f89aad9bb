import re
import sqlite3
from collections.abc import Callable

import pytest

from kernaut.archive.records import Entries
from kernaut.archive.store import Archive
from kernaut.program.program import KernelProgram


@pytest.fixture
def filled(
    archive: Archive, make_program: Callable[..., KernelProgram], make_entries: Callable[..., Entries]
) -> Archive:
    archive.open_run("c", 0, generation=0)
    archive.close_run("c", 0, result={}, entries=make_entries(make_program(1)))
    return archive


def test_a_sound_archive_has_counts_and_no_problems(filled: Archive) -> None:
    report = filled.check()
    assert report.problems == ()
    assert report.counts["programs"] == report.counts["accepted"] == report.counts["formulations"] == 1
    assert report.counts["trials"] == 0
    assert "identity" not in report.counts


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE programs SET source = source || '# changed'", "its content has identifier"),
        ("UPDATE programs SET name = '1nvalid'", "Expected a name"),
        ("UPDATE programs SET parameters = '{'", "Expected JSON"),
        ("UPDATE evidence SET accepted = 0", "evidence .*: its content has identifier"),
        ("UPDATE evaluations SET scores = '{\"mean_crps\":0.1}'", "evaluations .*: its content has identifier"),
        ("UPDATE formulations SET fields = '{}'", "formulations .*: its content has identifier"),
        ("DELETE FROM evaluations", "refers to a row of evaluations that is not there"),
    ],
)
def test_each_kind_of_damage_is_named(filled: Archive, statement: str, problem: str) -> None:
    assert filled.path is not None
    connection = sqlite3.connect(filled.path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    found = filled.check().problems
    assert any(re.search(problem, line) for line in found), found
