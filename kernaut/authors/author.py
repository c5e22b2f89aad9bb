"""What an author is given and what it may call.

An author never scores, verifies or stores anything itself: it works through :class:`Tools`, the typed functions that a
language model calls too, and every outcome comes back as a frozen record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from kernaut.archive.records import TranscriptRecord
from kernaut.episodes.coordinate import Coordinate
from kernaut.program.formulation import Formulation
from kernaut.program.program import KernelProgram


@dataclass(frozen=True)
class Elite:
    """An accepted program as authors see it.

    Args:
        program: the program, with tuned parameters and declared ranges.
        niche: its construction niche.
        score: its search score on meta-training episodes (larger is better).
        elite_score: the score that steers the search (larger is better).
    """

    program: KernelProgram
    niche: str
    score: float
    elite_score: float


@dataclass(frozen=True)
class Brief:
    """What one run is asked for.

    Args:
        index: the run's place in the campaign.
        seed: the run's own seed.
        niche: the construction niche to fill.
        parent: the program to revise; None for a new root.
        inspirations: up to three further elites.
        dimensions: input dimensions the program must work in.
        max_rounds: most drafts the offline author may stage, or most answers of a language model.
        max_tool_calls: most tool calls of the run.
        coordinates: what the inputs are, in order; empty for anonymous points of the unit cube.
        benchmark: the benchmark's name.
        discovery: whether programs must be discoveries: no closure trees, no source that is accepted already.
        tokens: most tokens that the run may use; None without a limit.
        cost: most that the run may cost [US dollars]; None without a limit.
    """

    index: int
    seed: int
    niche: str
    parent: Elite | None
    inspirations: tuple[Elite, ...]
    dimensions: tuple[int, ...]
    max_rounds: int
    max_tool_calls: int
    coordinates: tuple[Coordinate, ...] = ()
    benchmark: str = ""
    discovery: bool = False
    tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True)
class Staged:
    """A draft that screening and the record's own rules accept; ``draft_index`` names it."""

    draft_index: int
    program: KernelProgram


@dataclass(frozen=True)
class Tuned:
    """A staged draft after tuning.

    Args:
        program: the draft with its best parameters.
        fitness: best fitness on meta-training tuning episodes (larger is better); None when every trial failed.
        trials: how many settings were scored.
        reason: why there is no fitness.
    """

    program: KernelProgram
    fitness: float | None
    trials: int
    reason: str | None = None


@dataclass(frozen=True)
class Submission:
    """What became of a submitted draft: accepted with its scores, or refused with a reason."""

    program_id: str
    accepted: bool
    score: float | None
    elite_score: float | None
    novelty_band: str | None
    reason: str | None = None


class Tools(Protocol):
    """The tool session of one run; every method may raise ``ProgramRefused``, ``SandboxFailure`` or ``BudgetSpent``."""

    def propose_formulation(self, formulation: Formulation) -> None:
        """State what the next draft will be, before any source."""

    def stage_candidate(self, program: KernelProgram) -> Staged:
        """Screen a draft and make it the staged one."""

    def verify_staged_candidate(self) -> Mapping[str, Any]:
        """Run the evidence ladder on the staged draft; the evidence as JSON."""

    def evaluate_parameters(self, values: Mapping[str, Any]) -> Tuned:
        """Score the staged draft at one setting of its declared parameters."""

    def optimize_parameters(self, trials: int, gradient_steps: int) -> Tuned:
        """Tune the staged draft: Halton trials, then gradient steps where its source is differentiable."""

    def submit_staged_candidate(self) -> Submission:
        """Verify, evaluate and store the staged draft with its tuned parameters."""

    def submit_candidate(self, program: KernelProgram) -> Submission:
        """Verify, evaluate and store a program as it stands."""

    def verify_candidate(self, program: KernelProgram) -> Mapping[str, Any]:
        """Run the evidence ladder on a program that is not staged; the evidence as JSON."""

    def evaluate_candidate(self, program: KernelProgram) -> Mapping[str, Any]:
        """Score a program on meta-training episodes without storing it; its scores as JSON."""

    def inspect_candidate(self, candidate_id: str) -> Mapping[str, Any]:
        """One accepted program in full, as JSON."""

    def query_archive(self, niche: str | None, contract: str | None, limit: int) -> Mapping[str, Any]:
        """Accepted programs, the best first, and the references' scores, as JSON."""

    # Not tools: the run's transcript

    def transcript(self) -> tuple[TranscriptRecord, ...]:
        """What an interrupted attempt at this run left of its conversation, in order; empty for a new run."""

    def note(self, role: str, content: Mapping[str, Any], usage: Mapping[str, Any] | None = None) -> None:
        """Store one further entry of the run's conversation at once, free of secrets."""


class Author(Protocol):
    """Who writes programs."""

    @property
    def name(self) -> str:
        """What transcripts and reports call it."""

    @property
    def runs_at_once(self) -> int:
        """How many runs of a campaign may be under way together."""

    def write(self, brief: Brief, tools: Tools) -> str | None:
        """Do one run: propose, stage, verify, tune and submit through the tools.

        Returns:
            Why it ended early; None when the author had finished.
        """


@dataclass(frozen=True)
class Traits:
    """What a campaign must know of an author beside how it writes.

    Args:
        converses: it keeps a transcript, from which an interrupted run goes on.
        discovers: its programs must be discoveries while the campaign asks for novelty.
        options: what steers it, JSON; stands with the campaign, which cannot be resumed with others.
    """

    converses: bool = False
    discovers: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


def traits_of(author: Author) -> Traits:
    """An author's attribute ``traits``; plain ones for an author without."""
    return getattr(author, "traits", Traits())
