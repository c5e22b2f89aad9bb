from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import update

from kernaut.archive import schema
from kernaut.archive.records import Entries, LineageRecord
from kernaut.archive.rows import load_programs, put_entries, put_program
from kernaut.archive.store import Archive
from kernaut.errors import ArchiveError
from kernaut.program.program import KernelProgram


def test_the_same_program_twice_is_one_and_its_first_description_stays(
    archive: Archive, make_program: Callable[..., KernelProgram]
) -> None:
    program = make_program(1)
    described = replace(program, rationale="Another sentence.", formulation=None, space=())
    with archive._database.writing() as connection:
        assert put_program(connection, program)
        assert not put_program(connection, program)
        assert not put_program(connection, described)
        assert load_programs(connection) == {program.id: program}


def test_an_identifier_taken_by_other_content_is_an_error(
    archive: Archive, make_program: Callable[..., KernelProgram]
) -> None:
    program = make_program(1)
    with archive._database.writing() as connection:
        put_program(connection, program)
        connection.execute(update(schema.programs).values(source="def feature_point(x, parameters):\n    return x\n"))
    with (
        pytest.raises(ArchiveError, match=f"id {program.id}. Got other values of source"),
        archive._database.writing() as connection,
    ):
        put_program(connection, program)


def test_times_apart_do_not_double_a_measurement(
    archive: Archive, make_program: Callable[..., KernelProgram], make_entries: Callable[..., Entries]
) -> None:
    archive.open_run("c", 0, generation=0)
    entries = make_entries(make_program(1))
    again = replace(
        entries,
        evidence=tuple(replace(item, seconds=9.0) for item in entries.evidence),
        evaluations=tuple(replace(item, seconds=9.0) for item in entries.evaluations),
    )
    with archive._database.writing() as connection:
        put_entries(connection, entries)
        put_entries(connection, again)
    assert archive.evaluations() == entries.evaluations
    assert archive.evidence(entries.programs[0].id) == entries.evidence


def test_lineage_says_which_revisions_count(archive: Archive, make_program: Callable[..., KernelProgram]) -> None:
    child, parent = make_program(1), make_program(2)
    edges = (
        LineageRecord(child.id, parent.id, "revision", counts=False),
        LineageRecord(child.id, "0123456789abcdef", "inspiration"),
    )
    archive.record(Entries(programs=(child, parent), lineage=edges))
    assert archive.lineage(child.id) == tuple(sorted(edges, key=lambda edge: edge.parent_id))
    assert archive.lineage(parent.id) == ()


def test_many_programs_load_in_chunks(archive: Archive, make_program: Callable[..., KernelProgram]) -> None:
    programs = tuple(make_program(number) for number in range(1203))
    archive.record(Entries(programs=programs))
    wanted = [program.id for program in reversed(programs)]
    assert [program.id for program in archive.programs(wanted)] == wanted
    assert [program.id for program in archive.programs()] == sorted(wanted)
