"""The loop: find the largest collision, ask for an operator that tells its labels apart, screen it, consult the gate, go on.

Every authoring call becomes one ledger entry, whatever came of it.  A journal remembers entries, so that an interrupted run goes on where it stopped and a finished one
can be read again without author or sandbox.  Reference: protocol section "EvalCEGAR"; the collision is CEGAR's counterexample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernaut.archive.records import TranscriptRecord
from kernaut.authors.spending import spending_of
from kernaut.errors import AllowanceSpent, InputError
from kernaut.operators.admission import ARMS, MIN_HELPED, Arm, gate_words
from kernaut.operators.authoring import Attempt, OperatorAuthor, Request
from kernaut.operators.collisions import Collision, collisions
from kernaut.operators.domain import Domain
from kernaut.operators.journal import Journal, MemoryJournal
from kernaut.operators.judgement import Judgement
from kernaut.operators.judging import judge, request_for
from kernaut.operators.records import Electorate, Operator, Verdicts
from kernaut.seeds import stable_seed

ATTEMPTS = 3
MOST_CALLS = 60


@dataclass(frozen=True)
class LoopOptions:
    """How a run goes.

    Args:
        seed: the run's seed.
        arm: what targets and what gates.
        attempts: failed attempts at each level before the next step.
        most_calls: authoring calls of the run.
        min_helped: tasks an operator must help.

    Raises:
        InputError: for an unknown arm or a number below 1.
    """

    seed: int = 0
    arm: Arm = "collision"
    attempts: int = ATTEMPTS
    most_calls: int = MOST_CALLS
    min_helped: int = MIN_HELPED

    def __post_init__(self) -> None:
        if self.arm not in ARMS:
            raise InputError(f"Expected an arm of {', '.join(ARMS)}. Got {self.arm!r}.")
        if min(self.attempts, self.most_calls, self.min_helped) < 1:
            raise InputError("Expected at least one attempt, call and helped task. Got fewer.")

    def schedule(self) -> tuple[int, ...]:
        """Levels of the attempts at one target, in order."""
        return (1,) * (2 * self.attempts) if self.arm == "narrow" else (1,) * self.attempts + (2,) * self.attempts

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return dict(self.__dict__)


@dataclass(frozen=True)
class RunOutcome:
    """A finished run.

    Args:
        operators: the admitted operators, in order of admission.
        verdicts: theirs, over the training electorate.
        ledger: one entry for each authoring call.
        unresolved: collisions that were given up.
        remaining: collisions left at the end.
        stopped: why it ended.
        suspended: whether it ended for want of allowance, and goes on when there is more.
    """

    operators: tuple[Operator, ...]
    verdicts: tuple[Verdicts, ...]
    ledger: tuple[Mapping[str, Any], ...]
    unresolved: tuple[Collision, ...]
    remaining: int
    stopped: str
    suspended: bool = False


def evolve(
    domain: Domain,
    electorate: Electorate,
    author: OperatorAuthor,
    options: LoopOptions,
    *,
    journal: Journal | None = None,
    done: Callable[[int, int], None] | None = None,
) -> RunOutcome:
    """Grow a pool of operators on a training electorate.

    Args:
        domain: gives verdicts and screens.
        electorate: training tasks with labels.
        author: writes operators.
        options: how the run goes.
        journal: remembers entries.
        done: called with calls made and the most there may be.

    Raises:
        InputError: when the journal is another run's.
        ModelFailure: when an author's model gives no answer; with its journal the run goes on later.
    """
    run = _Run(domain, electorate, author, options, journal or MemoryJournal(), done or (lambda made, most: None))
    return run.outcome()


class _Run:
    def __init__(
        self,
        domain: Domain,
        electorate: Electorate,
        author: OperatorAuthor,
        options: LoopOptions,
        journal: Journal,
        done: Callable[[int, int], None],
    ) -> None:
        self._domain, self._electorate, self._author = domain, electorate, author
        self.options, self.journal, self._done = options, journal, done
        self._within = [place for place, seen in enumerate(electorate.visible) if seen]
        self._operators: list[Operator] = []
        self._pool: list[Verdicts] = []
        self._ledger: list[Mapping[str, Any]] = []
        self._tried: set[str] = set()
        self._given_up: dict[str, Collision] = {}

    def outcome(self) -> RunOutcome:
        """Run to the end, or as far as the author's allowance goes."""
        stopped, suspended = "", False
        try:
            stopped = self._to_the_end()
        except AllowanceSpent as spent:
            stopped, suspended = f"allowance spent: {spent.message}", True
        remaining = len(collisions(self._electorate, self._pool, self._within))
        return RunOutcome(
            tuple(self._operators),
            tuple(self._pool),
            tuple(self._ledger),
            tuple(self._given_up.values()),
            remaining,
            stopped,
            suspended,
        )

    def _to_the_end(self) -> str:
        stopped = ""
        while not stopped:
            found = collisions(self._electorate, self._pool, self._within)
            open_ones = [collision for collision in found if collision.digest not in self._given_up]
            if self.options.arm == "direct":
                stopped = self._without_target(open_ones)
            elif not open_ones:
                stopped = "no collision is left to target"
            elif self._attempt_all(open_ones[0]):
                continue
            elif len(self._ledger) >= self.options.most_calls:
                stopped = "all authoring calls are used"
            else:
                self._given_up[open_ones[0].digest] = open_ones[0]
            if not stopped and len(self._ledger) >= self.options.most_calls:
                stopped = "all authoring calls are used"
        return stopped

    def _without_target(self, found: list[Collision]) -> str:
        """The arm of direct prompting: requests without a pair, until as many fail in a row as four targets allow."""
        failed = 0
        schedule = self.options.schedule()
        while found and failed < 4 * len(schedule) and len(self._ledger) < self.options.most_calls:
            failed = 0 if self._attempt(None, schedule[failed % len(schedule)], []) else failed + 1
        return (
            "all authoring calls are used" if len(self._ledger) >= self.options.most_calls else "requests keep failing"
        )

    def _attempt_all(self, target: Collision) -> bool:
        attempts: list[Attempt] = []
        for level in self.options.schedule():
            if len(self._ledger) >= self.options.most_calls:
                return False
            if self._attempt(target, level, attempts):
                return True
        return False

    def _attempt(self, target: Collision | None, level: int, attempts: list[Attempt]) -> bool:
        """One authoring call; whether its operator was admitted."""
        call = len(self._ledger)
        request = request_for(
            self._electorate, self._pool, target, level,
            seed=stable_seed("cegar", self.options.seed, call), attempts=attempts, tried=self._tried,
        )  # fmt: skip
        stored = self.journal.entry(call)
        entry, verdicts = self._judged(request, target, call) if stored is None else self._restored(stored, request)
        if stored is None:
            self.journal.write(call, entry)
        self._ledger.append(entry)
        self._done(call + 1, self.options.most_calls)
        record = entry["operator"]
        operator = None if record is None else Operator.from_json(record)
        if operator is not None:
            self._tried.add(operator.id)
        attempts.append(Attempt(operator, str(entry["reason"])))
        if entry["decision"] != "admitted" or operator is None or verdicts is None:
            return False
        self._operators.append(operator)
        self._pool.append(verdicts)
        return True

    def _judged(self, request: Request, target: Collision | None, call: int) -> tuple[dict[str, Any], Verdicts | None]:
        """Ask the author, then rules, gate and screens; the verdicts where it is admitted."""
        entry: dict[str, Any] = {
            "call": call,
            "target": request.target,
            "target_size": 0 if target is None else target.size,
            "kind": request.kind,
            "level": request.level,
            "operator": None,
            "verdicts": None,
            "screens": [],
            "gate": None,
            "decision": "nothing",
            "reason": "the author had nothing to offer",
        }
        desk = _Desk(self, request, target, call)
        offered = self._author.write(request, self._domain, self._electorate, desk)
        said = self.journal.transcript(call)
        if said:
            entry |= {"trials": desk.trials, "usage": spending_of(record.usage for record in said).to_json()}
        if not isinstance(offered, Operator):
            return (entry if offered is None else {**entry, "reason": offered.reason}), None
        found = self.judgement(offered, request, target)
        admitted = found.verdicts if found.decision == "admitted" else None
        return {**entry, "operator": offered.to_json(), **found.to_json()}, admitted

    def judgement(self, operator: Operator, request: Request, target: Collision | None) -> Judgement:
        """Rules, gate and screens for an operator, before the pool as it is."""
        return judge(
            self._domain, self._electorate, operator, self._pool, target, request,
            arm=self.options.arm, min_helped=self.options.min_helped,
        )  # fmt: skip

    def _restored(self, entry: Mapping[str, Any], request: Request) -> tuple[Mapping[str, Any], Verdicts | None]:
        """A stored entry, which must belong to the same request."""
        if (entry["target"], entry["level"], entry["kind"]) != (request.target, request.level, request.kind):
            raise InputError(
                f"Expected stored call {entry['call']} to answer target {request.target}. Got {entry['target']}.",
                hint="The electorate or the options have changed; begin a new run.",
            )
        record = entry["verdicts"]
        return entry, None if record is None else Verdicts.from_json(record)


class _Desk:
    """See :class:`kernaut.operators.authoring.Desk`."""

    def __init__(self, run: _Run, request: Request, target: Collision | None, call: int) -> None:
        self._run, self._request, self._target, self._journal = run, request, target, run.journal
        self.call = call
        self.gate = gate_words(run.options.arm, run.options.min_helped)
        earlier = (record for before in range(call) for record in self._journal.transcript(before))
        self.spent = spending_of(record.usage for record in earlier)
        self.trials: list[dict[str, Any]] = []

    def trial(self, operator: Operator) -> Judgement:
        """What rules, gate and screens would say."""
        found = self._run.judgement(operator, self._request, self._target)
        kept = {key: value for key, value in found.to_json().items() if key != "verdicts"}
        self.trials.append({"operator": operator.to_json(), **kept})
        return found

    def transcript(self) -> Sequence[TranscriptRecord]:
        """What an interrupted attempt left of this call."""
        return self._journal.transcript(self.call)

    def note(self, role: str, content: Mapping[str, Any], usage: Mapping[str, Any] | None = None) -> None:
        """Store one further entry."""
        self._journal.note(self.call, role, content, usage or {})
