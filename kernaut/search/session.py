"""The tool session of one run: formulation, stage, verify, tune, submit.

Every tool is a typed function that counts against the run's budget.  What is accepted is written to the journal at once; drafts and trials are kept for the
transaction that closes the run.  Only meta-training episodes are ever scored here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from kernaut.archive.records import (
    AcceptedRecord,
    DraftRecord,
    Entries,
    TranscriptRecord,
    TrialRecord,
)
from kernaut.authors.author import Brief, Staged, Submission, Tuned
from kernaut.authors.spending import spending_of
from kernaut.errors import BudgetSpent, InputError, KernautError, ProgramRefused
from kernaut.fitting.objective import mean_query_crps
from kernaut.fitting.prefixes import Group
from kernaut.kernels.interpreter import interpret
from kernaut.kernels.kernel import KernautKernel
from kernaut.program.formulation import Formulation
from kernaut.program.program import KernelProgram
from kernaut.program.screening import screen
from kernaut.search.lookup import archive_listing, candidate_details, training_scores
from kernaut.search.novelty import Fingerprint
from kernaut.search.submission import Place, acceptance, measure, require_discovery
from kernaut.search.tuning import Trial, fitness, halton_trials, refine
from kernaut.search.workbench import Workbench, stacked
from kernaut.verification.evidence import Evidence
from kernaut.verification.verify import verify


@dataclass
class Draft:
    """A staged draft and what has become of it."""

    index: int
    program: KernelProgram
    state: str = "staged"
    reason: str | None = None
    trials: list[TrialRecord] = field(default_factory=list)


class Session:
    """The tools of one run; see :class:`kernaut.authors.author.Tools` for what each does.

    Args:
        campaign_id: the campaign.
        brief: what the run is asked for.
        bench: options, references and their fingerprints.
        relatives: programs that parents may name, by identifier.
        accepted: fingerprints of programs accepted in earlier generations, by identifier.
        journal: writes entries of this run at once.
        known: records of the programs accepted in earlier generations, for authors to look up.
        held: what an interrupted attempt at this run got accepted; submitting it again gives what it was given then.
        transcript: what that attempt left of its conversation.
    """

    def __init__(
        self,
        campaign_id: str,
        brief: Brief,
        bench: Workbench,
        relatives: Mapping[str, KernelProgram],
        accepted: Mapping[str, Fingerprint],
        journal: Callable[[Entries], None],
        *,
        known: Sequence[AcceptedRecord] = (),
        held: Sequence[AcceptedRecord] = (),
        transcript: Sequence[TranscriptRecord] = (),
    ) -> None:
        self._campaign = campaign_id
        self._brief = brief
        self._bench = bench
        self._relatives = dict(relatives)
        self._others = [*bench.known, *accepted.items()]
        self._journal = journal
        self._known = list(known)
        self._held = {record.program_id: record for record in held}
        self._next_position = max((record.position + 1 for record in held), default=0)
        self._transcript = tuple(transcript)
        self._noted = len(transcript)
        self.spending = spending_of(entry.usage for entry in transcript)
        self._calls = 0
        self._formulation: Formulation | None = None
        self._evidence: dict[str, Evidence] = {}
        self.drafts: list[Draft] = []
        self.submissions: list[Submission] = []

    # Tools

    def propose_formulation(self, formulation: Formulation) -> None:
        """State what the next draft will be."""
        self._spend()
        self._formulation = formulation

    def stage_candidate(self, program: KernelProgram) -> Staged:
        """Screen a draft and make it the staged one.

        Raises:
            ProgramRefused: when its source breaks a rule, a parent is unknown, or it has no formulation.
        """
        self._spend()
        draft = Draft(len(self.drafts), self._stated(program))
        self.drafts.append(draft)
        try:
            self._require_sound(draft.program)
        except ProgramRefused as error:
            draft.state, draft.reason = "refused", str(error)
            raise
        return Staged(draft.index, draft.program)

    def verify_staged_candidate(self) -> Mapping[str, Any]:
        """Run the evidence ladder on the staged draft."""
        self._spend()
        draft = self._staged()
        evidence = self._verify(draft.program)
        if evidence.accepted:
            draft.state = "verified"
        else:
            draft.state, draft.reason = "unverified", evidence.reason
        return evidence.to_json()

    def evaluate_parameters(self, values: Mapping[str, Any]) -> Tuned:
        """Score the staged draft at one setting, on one tuning episode a family."""
        self._spend()
        draft = self._staged()
        program = draft.program.with_parameters(values)
        found, reason = self._trial_fitness(program)
        self._keep(draft, [Trial("given", dict(values), found, reason)])
        return Tuned(program, found, 1, reason)

    def optimize_parameters(self, trials: int, gradient_steps: int) -> Tuned:
        """Tune the staged draft; it keeps the best setting.

        Fitness is that of the refinement episodes (and made-up ones, where the benchmark has any), so that drafts can be compared by it.
        """
        self._spend()
        draft = self._staged()
        tried = halton_trials(draft.program, trials, lambda v: self._trial_fitness(draft.program.with_parameters(v)))
        self._keep(draft, tried)
        usable = [trial for trial in tried if trial.fitness is not None]
        if not usable:
            draft.state, draft.reason = "untuned", tried[0].reason
            return Tuned(draft.program, None, len(tried), tried[0].reason)
        best = max(usable, key=lambda trial: trial.fitness or 0.0)
        starts = [draft.program.with_parameters(trial.values) for trial in dict.fromkeys((tried[0], best))]
        tuned = max((self._compared(draft, start) for start in starts), key=_fitness_of)
        if gradient_steps and tuned.fitness is not None:
            tuned = max(tuned, self._refined(draft, tuned.program, gradient_steps), key=_fitness_of)
        draft.program, draft.state, draft.reason = tuned.program, "tuned", tuned.reason
        return replace(tuned, trials=len(draft.trials))

    def submit_staged_candidate(self) -> Submission:
        """Submit the staged draft with its tuned parameters."""
        return self.submit_candidate(self._staged().program)

    def submit_candidate(self, program: KernelProgram) -> Submission:
        """Verify, evaluate and store a program; a program below T2 is refused and stored nowhere.

        Raises:
            ProgramRefused: when its source breaks a rule, a parent is unknown, or it has no formulation.
        """
        self._spend()
        program = self._stated(program)
        self._require_sound(program)
        evidence = self._verify(program)
        submission = self._accept(program, evidence) if evidence.accepted else _refusal(program, evidence.reason)
        for draft in self.drafts:
            if draft.program.id == program.id:
                draft.state = "accepted" if submission.accepted else "rejected"
                draft.reason = submission.reason
        self.submissions.append(submission)
        return submission

    def verify_candidate(self, program: KernelProgram) -> Mapping[str, Any]:
        """Run the evidence ladder on a program that is not staged."""
        self._spend()
        screen(program.source, program.rules)
        return self._verify(program).to_json()

    def evaluate_candidate(self, program: KernelProgram) -> Mapping[str, Any]:
        """Score a program on the campaign's meta-training episodes, stored nowhere."""
        self._spend()
        screen(program.source, program.rules)
        return training_scores(program, self._bench, self._relatives)

    def inspect_candidate(self, candidate_id: str) -> Mapping[str, Any]:
        """One accepted program in full.

        Raises:
            InputError: for an identifier that no accepted program has.
        """
        self._spend()
        return candidate_details(candidate_id, self._known, self._relatives)

    def query_archive(self, niche: str | None, contract: str | None, limit: int) -> Mapping[str, Any]:
        """Accepted programs of earlier generations and of this run, the best first, and the references."""
        self._spend()
        return archive_listing(self._known, self._relatives, self._bench, niche, contract, limit)

    # The run's transcript

    def transcript(self) -> tuple[TranscriptRecord, ...]:
        """What an interrupted attempt left."""
        return self._transcript

    def note(self, role: str, content: Mapping[str, Any], usage: Mapping[str, Any] | None = None) -> None:
        """Store one further entry of the conversation at once."""
        entry = TranscriptRecord(self._campaign, self._brief.index, self._noted, role, content, usage or {})
        self._journal(Entries(transcripts=(entry,)))
        self._noted += 1
        self.spending += spending_of([entry.usage])

    # What the run leaves

    def entries(self) -> Entries:
        """Drafts and trials, for the transaction that closes the run."""
        drafts = tuple(
            DraftRecord(
                self._campaign,
                self._brief.index,
                draft.index,
                draft.program.to_json(),
                draft.state,
                program_id=draft.program.id if draft.state == "accepted" else None,
                reason=draft.reason,
            )
            for draft in self.drafts
        )
        return Entries(drafts=drafts, trials=tuple(trial for draft in self.drafts for trial in draft.trials))

    # Steps

    def _spend(self) -> None:
        if self._calls >= self._brief.max_tool_calls:
            raise BudgetSpent(f"Expected at most {self._brief.max_tool_calls} tool calls in a run. Got one more.")
        self._calls += 1

    def _staged(self) -> Draft:
        if not self.drafts or self.drafts[-1].state == "refused":
            raise InputError("Expected a staged candidate. Got none.", hint="Call stage_candidate first.")
        return self.drafts[-1]

    def _stated(self, program: KernelProgram) -> KernelProgram:
        """A program with its own formulation, else with the one that was proposed last."""
        return program if program.formulation is not None else replace(program, formulation=self._formulation)

    def _require_sound(self, program: KernelProgram) -> None:
        if program.formulation is None:
            raise ProgramRefused(
                "Expected a formulation before the source. Got none.", hint="Call propose_formulation first."
            )
        unknown = [parent for parent in program.parents if parent not in self._relatives]
        if unknown:
            raise ProgramRefused(
                f"Expected parents among the accepted programs. Got {', '.join(unknown)}.",
                hint="Leave parents empty for a new root.",
            )
        if self._brief.discovery:
            require_discovery(program, self._relatives)
        screen(program.source, program.rules)

    def _verify(self, program: KernelProgram) -> Evidence:
        if program.id not in self._evidence:
            options = self._bench.options
            dimensions = options.made().dimensions
            self._evidence[program.id] = verify(
                program, dimensions, options.seed, pool=options.pool(), resolve=self._relatives.__getitem__
            )
        return self._evidence[program.id]

    def _trial_fitness(self, program: KernelProgram) -> tuple[float | None, str | None]:
        groups = stacked(self._bench.options.trials())
        return self._fitness(program, lambda kernel: _mean_crps(kernel, groups))

    def _fitness(
        self, program: KernelProgram, measure: Callable[[KernautKernel], float]
    ) -> tuple[float | None, str | None]:
        kernel = None
        try:
            kernel = interpret(program, pool=self._bench.options.pool(), resolve=self._relatives.__getitem__)
            return fitness(measure(kernel), len(program.space)), None
        except KernautError as error:
            return None, error.message
        finally:
            if kernel is not None:
                kernel.close()

    def _compared(self, draft: Draft, program: KernelProgram) -> Tuned:
        """The fitness of one setting on the refinement episodes and those that the benchmark makes up."""
        groups = self._bench.options.practice()
        found, reason = self._fitness(program, lambda kernel: _mean_crps(kernel, groups))
        self._keep(draft, [Trial("refinement", _declared(program), found, reason)])
        return Tuned(program, found, 1, reason)

    def _refined(self, draft: Draft, program: KernelProgram, steps: int) -> Tuned:
        """Gradient steps from one setting, where the source allows; no fitness where it does not."""
        if screen(program.source, program.rules).backend != "torch" or not program.space:
            return Tuned(program, None, 0)
        kernel = None
        try:
            kernel = interpret(program, resolve=self._relatives.__getitem__)
            values, _ = refine(kernel, program.space, self._bench.options.practice(), steps)
        except KernautError as error:
            self._keep(draft, [Trial("gradient", _declared(program), None, error.message)])
            return Tuned(program, None, 1, error.message)
        finally:
            if kernel is not None:
                kernel.close()
        return self._compared(draft, program.with_parameters(values))

    def _keep(self, draft: Draft, trials: list[Trial]) -> None:
        for trial in trials:
            place = len(draft.trials)
            draft.trials.append(
                TrialRecord(
                    self._campaign,
                    self._brief.index,
                    draft.index,
                    place,
                    trial.method,
                    dict(trial.values),
                    trial.fitness,
                    reason=trial.reason,
                )
            )

    def _accept(self, program: KernelProgram, evidence: Evidence) -> Submission:
        record = self._held.get(program.id)
        if record is None:
            measured = measure(program, self._bench, self._others, self._relatives)
            if isinstance(measured, str):
                return _refusal(program, measured)
            place = Place(self._campaign, self._brief.index, self._next_position)
            entries = acceptance(program, evidence, measured, place, self._bench.options, self._relatives)
            self._journal(entries)
            self._next_position += 1
            (record,) = entries.accepted
        self._others.append((program.id, np.array(record.details["fingerprint"])))
        self._relatives.setdefault(program.id, program)
        self._known.append(record)
        return Submission(program.id, True, record.score, record.elite_score, record.novelty_band)


@torch.no_grad()
def _mean_crps(kernel: KernautKernel, groups: Sequence[Group]) -> float:
    return float(mean_query_crps(kernel, groups))


def _declared(program: KernelProgram) -> dict[str, Any]:
    return {spec.name: program.parameters[spec.name] for spec in program.space}


def _fitness_of(tuned: Tuned) -> float:
    return float("-inf") if tuned.fitness is None else tuned.fitness


def _refusal(program: KernelProgram, reason: str | None) -> Submission:
    return Submission(program.id, False, None, None, None, reason)
