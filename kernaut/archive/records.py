"""Frozen records that cross the archive's border, validated when made.

Everything measured carries what it takes to measure it again (seed, options, program, data digest, package versions).  ``seconds``
is kept apart: it enters no identifier, so that two equal measurements are one record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

from kernaut.digest import content_id, freeze, require_json
from kernaut.errors import InputError
from kernaut.program.program import KernelProgram

RunStatus = Literal["open", "closed"]
LineageKind = Literal["revision", "recombination", "inspiration"]
HELD_OUT_SPLITS = ("validation", "test")


@dataclass(frozen=True)
class _Record:
    """Freezes JSON fields and checks that they are finite."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, (Mapping, list, tuple)):
                require_json(value, f"{type(self).__name__}.{item.name}")
                object.__setattr__(self, item.name, freeze(value))
            elif isinstance(value, float):
                require_json(value, f"{type(self).__name__}.{item.name}")


@dataclass(frozen=True)
class EvidenceRecord(_Record):
    """What verification found for one program.

    Args:
        program_id: the program.
        accepted: whether it reached the tier that acceptance needs.
        tier: ``T0``, ``T1``, ``T2`` or ``none``.
        dimensions: the declared input dimensions it was tried in.
        seed: the verification seed.
        report: the printed evidence (protocol section 11), as JSON.
        versions: package versions by name.
        seconds: wall time [s]; not part of the identifier.
    """

    program_id: str
    accepted: bool
    tier: str
    dimensions: tuple[int, ...]
    seed: int
    report: Mapping[str, Any]
    versions: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @cached_property
    def id(self) -> str:
        """Content identifier of everything but ``seconds``."""
        return _identifier(self)


@dataclass(frozen=True)
class EvaluationRecord(_Record):
    """One program scored on the episodes of one split, or why it could not be.

    Args:
        program_id: the program.
        benchmark: the benchmark's name.
        split: ``train`` in the search archive; ``validation`` or ``test`` in the held-out store.
        purpose: what it was for: ``search``, ``tuning``, ``selection``, ``benchmark``, ...
        seed: the seed that the options leave open.
        options: everything that steers the measurement, JSON.
        data_digest: the benchmark's digest.
        versions: package versions by name.
        scores: aggregated metrics, JSON; None exactly when ``reason`` is given.
        outcomes: one JSON object per episode (and rollout).
        reason: why there are no scores.
        seconds: wall time [s]; not part of the identifier.

    Raises:
        InputError: for scores and reason together, or neither.
    """

    program_id: str
    benchmark: str
    split: str
    purpose: str
    seed: int
    options: Mapping[str, Any]
    data_digest: str
    versions: Mapping[str, str]
    scores: Mapping[str, Any] | None
    outcomes: tuple[Mapping[str, Any], ...] = ()
    reason: str | None = None
    seconds: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _either(self, "scores", "reason")

    @cached_property
    def id(self) -> str:
        """Content identifier of everything but ``seconds``."""
        return _identifier(self)


@dataclass(frozen=True)
class LineageRecord(_Record):
    """One edge of a program's ancestry; ``counts`` is false for a revision whose parsed source equals its parent's."""

    child_id: str
    parent_id: str
    kind: LineageKind
    counts: bool = True


@dataclass(frozen=True)
class CampaignRecord(_Record):
    """A campaign: a list of runs, each a pure function of (seed, run index, what earlier generations left).

    Args:
        id: the ``--run-id``.
        benchmark: the benchmark's name.
        strategy: ``conversational`` or ``evolutionary``.
        seed: the campaign's seed.
        run_count: how many runs it has; may grow when it is resumed.
        options: everything else that steers the search, JSON.
        data_digest: the benchmark's digest.
        versions: package versions when it began.
    """

    id: str
    benchmark: str
    strategy: str
    seed: int
    run_count: int
    options: Mapping[str, Any] = field(default_factory=dict)
    data_digest: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RunRecord(_Record):
    """One run of a campaign as stored.

    Args:
        campaign_id: its campaign.
        index: its place in the campaign, from 0.
        generation: runs of one generation see only what earlier generations closed.
        status: ``open`` or ``closed``.
        attempt: how often it was begun (1 unless it was interrupted).
        state: what it was begun with, updated by ``save_run_state``; JSON.
        result: what it closed with; JSON, None while open.
        seconds: wall time [s] of the closing attempt.
    """

    campaign_id: str
    index: int
    generation: int
    status: RunStatus
    attempt: int
    state: Mapping[str, Any]
    result: Mapping[str, Any] | None
    seconds: float


@dataclass(frozen=True)
class DraftRecord(_Record):
    """One candidate an author staged: ``candidate`` as it came, ``state`` what became of it, ``reason`` when it was refused."""

    campaign_id: str
    run_index: int
    index: int
    candidate: Mapping[str, Any]
    state: str
    program_id: str | None = None
    reason: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TrialRecord(_Record):
    """One tuning trial of a draft: parameter values and their fitness (larger is better), or the reason there is none."""

    campaign_id: str
    run_index: int
    draft_index: int
    index: int
    method: str
    parameters: Mapping[str, Any]
    fitness: float | None
    reason: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        _either(self, "fitness", "reason")


@dataclass(frozen=True)
class AcceptedRecord(_Record):
    """One accepted program of a run, with what elites and novelty need of it.

    Args:
        campaign_id: its campaign.
        run_index: its run.
        position: its place among the run's accepted programs, from 0.
        program_id: the program; stored before or with this record.
        evidence_id: its accepting evidence, or None.
        evaluation_id: its search evaluation on meta-training, or None.
        niche: construction niche.
        feature_growth: declared feature growth.
        novelty_band: ``duplicate``, ``near_reference``, ``distinct`` or ``strongly_distinct``.
        score: search score (larger is better), or None.
        elite_score: score that steers elites and bandit, or None.
        details: anything else, JSON: novelty distance, fingerprint, improvements, ...
    """

    campaign_id: str
    run_index: int
    position: int
    program_id: str
    niche: str
    feature_growth: str
    novelty_band: str
    score: float | None
    elite_score: float | None
    evidence_id: str | None = None
    evaluation_id: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TranscriptRecord(_Record):
    """One entry of a run's conversation: role, content and usage as JSON."""

    campaign_id: str
    run_index: int
    position: int
    role: str
    content: Mapping[str, Any]
    usage: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Entries:
    """What one write transaction brings: programs first, then what refers to them. All or nothing."""

    programs: tuple[KernelProgram, ...] = ()
    lineage: tuple[LineageRecord, ...] = ()
    evidence: tuple[EvidenceRecord, ...] = ()
    evaluations: tuple[EvaluationRecord, ...] = ()
    drafts: tuple[DraftRecord, ...] = ()
    trials: tuple[TrialRecord, ...] = ()
    accepted: tuple[AcceptedRecord, ...] = ()
    transcripts: tuple[TranscriptRecord, ...] = ()

    def runs(self) -> tuple[tuple[str, int], ...]:
        """The runs these entries belong to: campaign and index, sorted."""
        groups: tuple[tuple[DraftRecord | TrialRecord | AcceptedRecord | TranscriptRecord, ...], ...]
        groups = (self.drafts, self.trials, self.accepted, self.transcripts)
        return tuple(sorted({(item.campaign_id, item.run_index) for group in groups for item in group}))


@dataclass(frozen=True)
class CandidateRecord:
    """A program that may be selected: accepted by a campaign's run, or imported with accepting evidence."""

    program: KernelProgram
    origin: str


@dataclass(frozen=True)
class FreezeRecord(_Record):
    """A freeze for selection (``event`` ``frozen``) or a search resumed by force on it (``forced``)."""

    sequence: int
    event: Literal["frozen", "forced"]
    digest: str
    reason: str
    recorded_at: str


@dataclass(frozen=True)
class LookRecord(_Record):
    """One opening of a held-out split."""

    sequence: int
    benchmark: str
    split: str
    purpose: str
    details: Mapping[str, Any]
    recorded_at: str


@dataclass(frozen=True)
class SelectionRecord(_Record):
    """A selection on validation: metric and rule named beforehand, the frozen candidate set, and the choice.

    Args:
        benchmark: the benchmark's name.
        metric: ``predictive.mean_crps`` or ``bo.regret_auc``.
        rule: the rule in words.
        freeze_digest: digest of the frozen archive it was made on.
        candidates: identifiers of the whole candidate set, sorted.
        choice: the selected identifier.
        report: the printed ``selection.json``.
    """

    benchmark: str
    metric: str
    rule: str
    freeze_digest: str
    candidates: tuple[str, ...]
    choice: str
    report: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def id(self) -> str:
        """Content identifier."""
        return _identifier(self)


@dataclass(frozen=True)
class CheckReport:
    """What ``check`` found: row counts by table, and problems in words (empty when sound)."""

    counts: Mapping[str, int]
    problems: tuple[str, ...]


def _identifier(record: Any) -> str:
    return content_id({item.name: getattr(record, item.name) for item in fields(record) if item.name != "seconds"})


def _either(record: Any, value: str, reason: str) -> None:
    if (getattr(record, value) is None) == (getattr(record, reason) is None):
        raise InputError(
            f"Expected {value} or a {reason}, one of the two, in {type(record).__name__}. "
            f"Got {getattr(record, value)!r} and {getattr(record, reason)!r}."
        )
