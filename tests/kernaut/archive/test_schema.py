from sqlalchemy import Text

from kernaut.archive import schema
from kernaut.archive.columns import CanonicalJSON, GuardedText
from kernaut.archive.migrations import HELD_OUT_MIGRATIONS, MIGRATIONS


def test_free_text_is_guarded_everywhere() -> None:
    for metadata in (schema.SEARCH, schema.HELD_OUT):
        for table in metadata.tables.values():
            for column in table.columns:
                if isinstance(column.type, Text) and table.name != "identity":
                    assert isinstance(column.type, (CanonicalJSON, GuardedText)), f"{table.name}.{column.name}"


def test_one_migration_per_version() -> None:
    assert len(MIGRATIONS) == schema.SCHEMA_VERSION
    assert len(HELD_OUT_MIGRATIONS) == schema.HELD_OUT_VERSION


def test_what_belongs_to_a_run_is_deleted_with_it() -> None:
    of_runs = {table.name for table in schema.SEARCH.tables.values() if "run_index" in table.columns}
    assert {table.name for table in schema.RUN_TABLES} == of_runs
