"""What an author is given and what it may call.

An author never scores, verifies or stores anything itself: it works through :class:`Tools`, the typed functions that a
language model calls too, and every outcome comes back as a frozen record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

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
        max_rounds: most drafts the run may stage.
        max_tool_calls: most tool calls of the run.
        coordinates: what the inputs are, in order; empty for anonymous points of the unit cube.
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


class Author(Protocol):
    """Who writes programs.

    Attributes:
        name: what transcripts and reports call it.
        runs_at_once: how many runs of a campaign may be under way together.
    """

    name: str
    runs_at_once: int

    def write(self, brief: Brief, tools: Tools) -> None:
        """Do one run: propose, stage, verify, tune and submit through the tools."""
