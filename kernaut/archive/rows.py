"""Records to rows and back, inside a transaction that the caller holds.

Inserting is idempotent: a row whose key is there already is compared, not doubled.  Equal content is a no-op; other content under
the same key is an error, and the transaction that met it leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, TypeVar

from sqlalchemy import Connection, RowMapping, Table, and_, insert, select

from kernaut.archive import schema
from kernaut.archive.records import Entries, EvaluationRecord, EvidenceRecord
from kernaut.digest import canonical_json, content_id
from kernaut.errors import ArchiveError
from kernaut.program.formulation import Formulation, formulation_from_json
from kernaut.program.parameters import parameter_space
from kernaut.program.program import KernelProgram

APART = frozenset({"seconds", "recorded_at", "opened_at", "closed_at", "attempt"})
"""Columns that differ between two equal measurements."""

DESCRIPTIVE = frozenset({"rationale", "space", "formulation_id"})
"""Columns of a program that its identifier does not cover; the first description stays."""

CHUNK = 500
"""Identifiers in one ``IN`` clause."""

Record = TypeVar("Record")


def now() -> str:
    """The time, UTC, ISO 8601 to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def put(connection: Connection, table: Table, row: Mapping[str, Any], *, apart: frozenset[str] = APART) -> bool:
    """Insert a row, or find it there already.

    Args:
        connection: a write transaction.
        table: the table.
        row: its columns.
        apart: columns that may differ.

    Returns:
        Whether it is new.

    Raises:
        ArchiveError: when the key is taken by other content.
    """
    keys = list(table.primary_key.columns)
    found = (
        connection.execute(select(table).where(and_(*(column == row[column.name] for column in keys))))
        .mappings()
        .first()
    )
    if found is None:
        connection.execute(insert(table), [dict(row)])
        return True
    different = [
        name
        for name, value in row.items()
        if name not in apart and canonical_json(found[name]) != canonical_json(value)
    ]
    if different:
        key = ", ".join(f"{column.name} {row[column.name]}" for column in keys)
        raise ArchiveError(
            f"Expected the content already stored in {table.name} for {key}. Got other values of {', '.join(different)}."
        )
    return False


def put_program(connection: Connection, program: KernelProgram) -> bool:
    """Store a program and, where stated, its formulation and its parents' edges; whether it is new."""
    formulation_id = None
    if program.formulation is not None:
        stated = program.formulation.to_json()
        formulation_id = content_id(stated)
        put(
            connection,
            schema.formulations,
            {
                "id": formulation_id,
                "niche": program.formulation.construction_niche,
                "feature_growth": program.formulation.feature_growth,
                "fields": stated,
            },
        )
    return put(
        connection,
        schema.programs,
        {
            "id": program.id,
            "name": program.name,
            "contract": program.contract,
            "source": program.source,
            "parameters": program.parameters,
            "parents": program.parents,
            "rationale": program.rationale,
            "space": [{"name": spec.name, **spec.to_json()} for spec in program.space],
            "formulation_id": formulation_id,
            "recorded_at": now(),
        },
        apart=APART | DESCRIPTIVE,
    )


def put_entries(connection: Connection, entries: Entries) -> None:
    """Store everything of one write, in the order of its references.

    Raises:
        ArchiveError: when a key is taken by other content.
    """
    for program in entries.programs:
        put_program(connection, program)
    for edge in entries.lineage:
        put(connection, schema.lineage, columns(edge))
    for evidence in entries.evidence:
        put_evidence(connection, evidence)
    for evaluation in entries.evaluations:
        put_evaluation(connection, schema.evaluations, evaluation)
    for table, records in (
        (schema.drafts, entries.drafts),
        (schema.trials, entries.trials),
        (schema.accepted, entries.accepted),
        (schema.transcripts, entries.transcripts),
    ):
        for record in records:
            put(connection, table, columns(record))


def put_evidence(connection: Connection, record: EvidenceRecord) -> bool:
    """Store evidence under its content identifier; whether it is new."""
    return put(connection, schema.evidence, {"id": record.id, **columns(record), "recorded_at": now()})


def put_evaluation(connection: Connection, table: Table, record: EvaluationRecord) -> bool:
    """Store an evaluation under its content identifier; whether it is new."""
    return put(connection, table, {"id": record.id, **columns(record), "recorded_at": now()})


def columns(record: Any) -> dict[str, Any]:
    """A record's fields by name."""
    return {item.name: getattr(record, item.name) for item in fields(record)}


def rebuild(kind: type[Record], row: RowMapping) -> Record:
    """A record from a row of its columns."""
    return kind(**{item.name: row[item.name] for item in fields(kind)})  # type: ignore[arg-type]


def load_programs(connection: Connection, ids: Sequence[str] | None = None) -> dict[str, KernelProgram]:
    """Programs by identifier, all of them or those named; identifiers that are not stored are left out.

    Raises:
        ArchiveError: for a stored program that its own rules refuse.
    """
    statement = select(schema.programs, schema.formulations.c.fields.label("formulation")).outerjoin(
        schema.formulations
    )
    found: dict[str, KernelProgram] = {}
    if ids is None:
        batches: Iterable[Any] = [statement.order_by(schema.programs.c.id)]
    else:
        batches = [statement.where(schema.programs.c.id.in_(ids[i : i + CHUNK])) for i in range(0, len(ids), CHUNK)]
    for batch in batches:
        for row in connection.execute(batch).mappings():
            found[row["id"]] = _program(row)
    return found


def _program(row: RowMapping) -> KernelProgram:
    stated: Formulation | None = None if row["formulation"] is None else formulation_from_json(row["formulation"])
    space = {spec["name"]: {key: value for key, value in spec.items() if key != "name"} for spec in row["space"]}
    return KernelProgram(
        name=row["name"],
        contract=row["contract"],
        source=row["source"],
        parameters=row["parameters"],
        parents=row["parents"],
        rationale=row["rationale"],
        formulation=stated,
        space=parameter_space(space),
    )
