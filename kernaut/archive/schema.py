"""Tables of the search archive (schema version 1) and of the held-out store (version 0).

``identity`` says what a database is: its kind, schema version and a random archive id that binds a held-out store to its archive.
A column is never reused for another meaning; a change of the tables is a migration (:mod:`kernaut.archive.migrations`).
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

from kernaut.archive.columns import CanonicalJSON, DecimalInteger, GuardedText, OrderedJSON

SCHEMA_VERSION = 1
HELD_OUT_VERSION = 0
APPLICATION_ID = 0x4B524E54
"""SQLite's ``application_id`` of Kernaut's databases, ``KRNT``."""

SEARCH = MetaData()
HELD_OUT = MetaData()


def _identity(metadata: MetaData) -> Table:
    return Table(
        "identity", metadata, Column("key", String(40), primary_key=True), Column("value", Text, nullable=False)
    )


def _evaluations(metadata: MetaData, splits: tuple[str, ...], *references: ForeignKey) -> Table:
    allowed = ", ".join(f"'{split}'" for split in splits)
    return Table(
        "evaluations",
        metadata,
        Column("id", String(16), primary_key=True),
        Column("program_id", String(16), *references, nullable=False, index=True),
        Column("benchmark", String(80), nullable=False),
        Column("split", String(20), nullable=False),
        Column("purpose", String(40), nullable=False),
        Column("seed", DecimalInteger(24), nullable=False),
        Column("options", CanonicalJSON, nullable=False),
        Column("data_digest", String(64), nullable=False),
        Column("versions", CanonicalJSON, nullable=False),
        Column("scores", CanonicalJSON),
        Column("outcomes", CanonicalJSON, nullable=False),
        Column("reason", GuardedText),
        Column("seconds", Float, nullable=False),
        Column("recorded_at", String(32), nullable=False),
        CheckConstraint(f"split IN ({allowed})", name="split_belongs_here"),
        CheckConstraint("(scores IS NULL) <> (reason IS NULL)", name="scored_or_reason"),
    )


identity = _identity(SEARCH)

formulations = Table(
    "formulations",
    SEARCH,
    Column("id", String(16), primary_key=True),
    Column("niche", String(40), nullable=False),
    Column("feature_growth", String(40), nullable=False),
    Column("fields", CanonicalJSON, nullable=False),
)

programs = Table(
    "programs",
    SEARCH,
    Column("id", String(16), primary_key=True),
    Column("name", String(80), nullable=False),
    Column("contract", String(40), nullable=False),
    Column("source", GuardedText, nullable=False),
    Column("parameters", OrderedJSON, nullable=False),
    Column("parents", CanonicalJSON, nullable=False),
    Column("rationale", GuardedText, nullable=False),
    Column("space", CanonicalJSON, nullable=False),
    Column("formulation_id", String(16), ForeignKey("formulations.id")),
    Column("recorded_at", String(32), nullable=False),
)

lineage = Table(
    "lineage",
    SEARCH,
    Column("child_id", String(16), ForeignKey("programs.id"), primary_key=True),
    Column("parent_id", String(16), primary_key=True),
    Column("kind", String(20), primary_key=True),
    Column("counts", Boolean, nullable=False),
)

evidence = Table(
    "evidence",
    SEARCH,
    Column("id", String(16), primary_key=True),
    Column("program_id", String(16), ForeignKey("programs.id"), nullable=False, index=True),
    Column("accepted", Boolean, nullable=False),
    Column("tier", String(8), nullable=False),
    Column("dimensions", CanonicalJSON, nullable=False),
    Column("seed", DecimalInteger(24), nullable=False),
    Column("report", CanonicalJSON, nullable=False),
    Column("versions", CanonicalJSON, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("recorded_at", String(32), nullable=False),
)

evaluations = _evaluations(SEARCH, ("train",), ForeignKey("programs.id"))

campaigns = Table(
    "campaigns",
    SEARCH,
    Column("id", String(120), primary_key=True),
    Column("benchmark", String(80), nullable=False),
    Column("strategy", String(40), nullable=False),
    Column("seed", DecimalInteger(24), nullable=False),
    Column("run_count", Integer, nullable=False),
    Column("options", CanonicalJSON, nullable=False),
    Column("data_digest", String(64), nullable=False),
    Column("versions", CanonicalJSON, nullable=False),
    Column("recorded_at", String(32), nullable=False),
)

runs = Table(
    "runs",
    SEARCH,
    Column("campaign_id", String(120), ForeignKey("campaigns.id"), primary_key=True),
    Column("index", Integer, primary_key=True),
    Column("generation", Integer, nullable=False),
    Column("status", String(8), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("state", CanonicalJSON, nullable=False),
    Column("result", CanonicalJSON),
    Column("seconds", Float, nullable=False),
    Column("opened_at", String(32), nullable=False),
    Column("closed_at", String(32)),
    CheckConstraint("status IN ('open', 'closed')", name="status_known"),
    CheckConstraint("(status = 'closed') = (result IS NOT NULL)", name="closed_with_result"),
)


def _of_run() -> tuple[Column[str], Column[int], ForeignKeyConstraint]:
    return (
        Column("campaign_id", String(120), primary_key=True),
        Column("run_index", Integer, primary_key=True),
        ForeignKeyConstraint(["campaign_id", "run_index"], ["runs.campaign_id", "runs.index"]),
    )


drafts = Table(
    "drafts",
    SEARCH,
    *_of_run(),
    Column("index", Integer, primary_key=True),
    Column("candidate", OrderedJSON, nullable=False),
    Column("state", String(40), nullable=False),
    Column("program_id", String(16), ForeignKey("programs.id")),
    Column("reason", GuardedText),
    Column("details", CanonicalJSON, nullable=False),
)

trials = Table(
    "trials",
    SEARCH,
    *_of_run(),
    Column("draft_index", Integer, primary_key=True),
    Column("index", Integer, primary_key=True),
    Column("method", String(40), nullable=False),
    Column("parameters", CanonicalJSON, nullable=False),
    Column("fitness", Float),
    Column("reason", GuardedText),
    Column("details", CanonicalJSON, nullable=False),
    CheckConstraint("(fitness IS NULL) <> (reason IS NULL)", name="fitness_or_reason"),
)

accepted = Table(
    "accepted",
    SEARCH,
    *_of_run(),
    Column("position", Integer, primary_key=True),
    Column("program_id", String(16), ForeignKey("programs.id"), nullable=False, index=True),
    Column("niche", String(40), nullable=False),
    Column("feature_growth", String(40), nullable=False),
    Column("novelty_band", String(40), nullable=False),
    Column("score", Float),
    Column("elite_score", Float),
    Column("evidence_id", String(16), ForeignKey("evidence.id")),
    Column("evaluation_id", String(16), ForeignKey("evaluations.id")),
    Column("details", CanonicalJSON, nullable=False),
)

transcripts = Table(
    "transcripts",
    SEARCH,
    *_of_run(),
    Column("position", Integer, primary_key=True),
    Column("role", String(40), nullable=False),
    Column("content", CanonicalJSON, nullable=False),
    Column("usage", CanonicalJSON, nullable=False),
)

imports = Table(
    "imports",
    SEARCH,
    Column("program_id", String(16), ForeignKey("programs.id"), primary_key=True),
    Column("evidence_id", String(16), ForeignKey("evidence.id"), nullable=False),
    Column("origin", GuardedText, nullable=False),
    Column("recorded_at", String(32), nullable=False),
)

freezes = Table(
    "freezes",
    SEARCH,
    Column("sequence", Integer, primary_key=True),
    Column("event", String(8), nullable=False),
    Column("digest", String(16), nullable=False),
    Column("reason", GuardedText, nullable=False),
    Column("recorded_at", String(32), nullable=False),
    CheckConstraint("event IN ('frozen', 'forced')", name="event_known"),
)

looks = Table(
    "looks",
    SEARCH,
    Column("sequence", Integer, primary_key=True),
    Column("benchmark", String(80), nullable=False),
    Column("split", String(20), nullable=False),
    Column("purpose", String(40), nullable=False),
    Column("details", CanonicalJSON, nullable=False),
    Column("recorded_at", String(32), nullable=False),
    CheckConstraint("split IN ('validation', 'test')", name="split_held_out"),
)

Index("runs_by_generation", runs.c.campaign_id, runs.c.generation)

RUN_TABLES = (transcripts, accepted, trials, drafts)
"""What belongs to one run and goes when the run is begun again; in the order of deletion."""

held_out_identity = _identity(HELD_OUT)
held_out_evaluations = _evaluations(HELD_OUT, ("validation", "test"))

selections = Table(
    "selections",
    HELD_OUT,
    Column("id", String(16), primary_key=True),
    Column("benchmark", String(80), nullable=False),
    Column("metric", String(80), nullable=False),
    Column("rule", GuardedText, nullable=False),
    Column("freeze_digest", String(16), nullable=False),
    Column("candidates", CanonicalJSON, nullable=False),
    Column("choice", String(16), nullable=False),
    Column("report", CanonicalJSON, nullable=False),
    Column("recorded_at", String(32), nullable=False),
)
