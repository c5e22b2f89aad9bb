"""Schema migrations: ``MIGRATIONS[v]`` takes a search archive from version v to v + 1 within one transaction.

A migration uses tables as they were at its version (plain SQL or its own definitions), never today's :mod:`kernaut.archive.schema`
of a later version, so that it stays right when the schema moves on.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from sqlalchemy import Connection, text

from kernaut.archive import schema
from kernaut.digest import content_id


def to_version_1(connection: Connection) -> None:
    """Count looks, remember imports, and store package versions with each evaluation.

    The identifier of an evaluation covers its versions, so identifiers are computed anew and followed in ``accepted``.
    """
    schema.SEARCH.create_all(connection, tables=[schema.looks, schema.imports])
    connection.execute(text("ALTER TABLE evaluations ADD COLUMN versions TEXT NOT NULL DEFAULT '{}'"))
    old = connection.execute(text("SELECT * FROM evaluations")).mappings().all()
    for row in old:
        content = {
            "program_id": row["program_id"],
            "benchmark": row["benchmark"],
            "split": row["split"],
            "purpose": row["purpose"],
            "seed": int(row["seed"]),
            "options": json.loads(row["options"]),
            "data_digest": row["data_digest"],
            "versions": {},
            "scores": None if row["scores"] is None else json.loads(row["scores"]),
            "outcomes": json.loads(row["outcomes"]),
            "reason": row["reason"],
        }
        names = {"new": content_id(content), "old": row["id"]}
        connection.execute(text("UPDATE evaluations SET id = :new WHERE id = :old"), names)
        connection.execute(text("UPDATE accepted SET evaluation_id = :new WHERE evaluation_id = :old"), names)


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (to_version_1,)
HELD_OUT_MIGRATIONS: tuple[Callable[[Connection], None], ...] = ()
