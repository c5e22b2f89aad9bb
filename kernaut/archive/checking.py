"""Integrity of an archive: the file, its references, and every content identifier computed anew."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, MetaData, Table, func, select

from kernaut.archive import schema
from kernaut.archive.records import CheckReport, EvaluationRecord, EvidenceRecord, SelectionRecord
from kernaut.archive.rows import load_programs, rebuild
from kernaut.digest import content_id
from kernaut.errors import KernautError


def check_search(connection: Connection) -> CheckReport:
    """Check a search archive."""
    problems = _file_problems(connection)
    table = schema.programs
    for key in connection.execute(select(table.c.id).order_by(table.c.id)).scalars().all():
        try:
            program = load_programs(connection, [key])[key]
        except KernautError as error:
            problems.append(f"programs {key}: {error.message}")
            continue
        if program.id != key:
            problems.append(f"programs {key}: its content has identifier {program.id}")
    for row in connection.execute(select(schema.formulations).order_by(schema.formulations.c.id)).mappings():
        if content_id(row["fields"]) != row["id"]:
            problems.append(f"formulations {row['id']}: its content has identifier {content_id(row['fields'])}")
    problems += _record_problems(connection, schema.evidence, EvidenceRecord)
    problems += _record_problems(connection, schema.evaluations, EvaluationRecord)
    return CheckReport(_counts(connection, schema.SEARCH), tuple(problems))


def check_held_out(connection: Connection) -> CheckReport:
    """Check a held-out store."""
    problems = _file_problems(connection)
    problems += _record_problems(connection, schema.held_out_evaluations, EvaluationRecord)
    problems += _record_problems(connection, schema.selections, SelectionRecord)
    return CheckReport(_counts(connection, schema.HELD_OUT), tuple(problems))


def _file_problems(connection: Connection) -> list[str]:
    if connection.dialect.name != "sqlite":
        return []
    found = [str(line) for line in connection.exec_driver_sql("PRAGMA integrity_check").scalars() if line != "ok"]
    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        found.append(f"{table} row {row}: refers to a row of {parent} that is not there")
    return found


def _record_problems(connection: Connection, table: Table, kind: Any) -> list[str]:
    found = []
    for row in connection.execute(select(table).order_by(table.c.id)).mappings():
        try:
            identifier = rebuild(kind, row).id
        except KernautError as error:
            found.append(f"{table.name} {row['id']}: {error.message}")
            continue
        if identifier != row["id"]:
            found.append(f"{table.name} {row['id']}: its content has identifier {identifier}")
    return found


def _counts(connection: Connection, metadata: MetaData) -> dict[str, int]:
    tables = sorted(metadata.tables.values(), key=lambda table: table.name)
    return {
        table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
        for table in tables
        if table.name != "identity"
    }
