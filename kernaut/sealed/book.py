"""The rules of the service: who may query what, how often, and what is answered.  Trusted side.

State is rebuilt from the journal's records; every change is a record.  Refusals use fixed words: they depend on the request and on what was
answered before, never on the ledger.  A query is numbered by its sender; a repeated number with the same output gets the recorded
answer again, so that a client may ask again after a lost connection without being counted twice.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kernaut.digest import canonical_json
from kernaut.errors import KernautError
from kernaut.sealed.families.family import Family
from kernaut.sealed.families.registry import family_named
from kernaut.sealed.journal import Journal
from kernaut.sealed.ledger import Ledger, LedgerDamaged
from kernaut.sealed.manifest import SPLITS, PublicTask, task_from_json
from kernaut.sealed.results import ORACLE, OUTCOMES, EpisodeResult
from kernaut.sealed.runs import Array, Episode, Run
from kernaut.sealed.sealing import SealedKey
from kernaut.sealed.spaces import OutputSpace

SLACK_SECONDS = 2.0
"""What the service grants a runner beyond a task's compute budget, for its own part [s]."""
MAX_NAME, MAX_REASON, MAX_SEEDS = 80, 500, 1000


class Refusal(KernautError):
    """A request that is not granted.

    Args:
        code: one word for programs.
        status: the HTTP status.
        message: one sentence.
    """

    def __init__(self, code: str, status: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class Book:
    """All runs of one ledger.

    Args:
        ledger: the open ledger.
        journal: its open record.
        key: derives episode tokens.

    Attributes:
        runs: by identifier.
    """

    def __init__(self, ledger: Ledger, journal: Journal, key: SealedKey) -> None:
        self.ledger = ledger
        self.runs: dict[str, Run] = {}
        self._journal = journal
        self._key = key
        self._requests: dict[str, str] = {}
        self._tokens: dict[str, tuple[Run, Episode]] = {}
        self._tasks: dict[str, tuple[Mapping[str, Any], PublicTask]] = {}
        self._families: dict[str, Family] = {name: family_named(name) for name in ledger.families}
        rows = [ledger.row(identifier) for identifier in ledger.task_ids]
        self._budgets = {row.task_id: (row.horizon_budget, row.compute_budget) for row in rows}
        for record in journal.records:
            self._replay(record)
        if journal.dropped:
            self._journal.append({"kind": "recovered", "dropped_bytes": journal.dropped})

    def register(self, policy: Any, split: Any, seeds: Any, options: Any, request: Any, *, owner: bool = False) -> Run:
        """Begin a run: one episode for each task of the split and each seed.

        Args:
            policy: its name.
            split: a split, or ``all``.
            seeds: whole numbers.
            options: a JSON object that is reported with it.
            request: the sender's own number for this registration.
            owner: whether the sender is the ledger's owner, who alone runs the oracle.

        Raises:
            Refusal: naming what is wrong.
        """
        if not isinstance(policy, str) or not policy.isprintable() or not 0 < len(policy) <= MAX_NAME:
            raise Refusal("policy", 422, f"Expected a policy name of 1 to {MAX_NAME} characters.")
        if split not in (*SPLITS, "all"):
            raise Refusal("split", 422, f"Expected a split of {', '.join(SPLITS)} or all.")
        whole = isinstance(seeds, list) and all(type(s) is int and 0 <= s < 2**53 for s in seeds)
        if not whole or not 0 < len(seeds) <= MAX_SEEDS or len(set(seeds)) != len(seeds):
            raise Refusal("seeds", 422, f"Expected 1 to {MAX_SEEDS} different whole numbers as seeds.")
        if not isinstance(options, dict) or not isinstance(request, str) or not 8 <= len(request) <= MAX_NAME:
            raise Refusal(
                "registration", 422, "Expected options to be an object and request a text of 8 to 80 characters."
            )
        if policy == ORACLE and not owner:
            raise Refusal("owner", 403, "Expected the owner's token for the oracle.")
        if request in self._requests:
            return self.runs[self._requests[request]]
        try:
            canonical_json(options)
        except (ValueError, RecursionError):
            raise Refusal("registration", 422, "Expected options of finite numbers.") from None
        record = {
            "kind": "run",
            "run": secrets.token_hex(8),
            "policy": policy,
            "split": split,
            "seeds": seeds,
            "options": options,
            "request": request,
        }
        self._note(record)
        return self.runs[record["run"]]

    def token(self, run: Run, episode: Episode) -> str:
        """The secret name of an episode."""
        return self._key.mac(f"token|{run.id}|{episode.task_id}|{episode.seed}")

    def open(self, token: Any, now: float) -> None:
        """Begin an episode: its thinking time counts from here.

        An episode may be begun again, since a runner may be broken off in the middle of it; that is recorded, and the report counts it.

        Raises:
            Refusal: for an unknown token, or an episode that is over.
        """
        run, episode = self._episode(token)
        self._require_going_on(run, episode)
        if not episode.opened or episode.since is not None:
            self._note(self._record("open", run, episode))
        episode.since = now

    def evaluate(self, token: Any, index: Any, task: Any, seed: Any, output: Any, now: float) -> EpisodeResult:
        """Answer one query.

        Args:
            token: of the episode.
            index: the query's number, from 0.
            task: the public task, as in the manifest.
            seed: the episode's seed.
            output: nested lists of numbers.
            now: monotonic time of arrival [s].

        Raises:
            Refusal: when it is not granted; a malformed output and a passed deadline end the episode.
            LedgerDamaged: when the ledger's row fails its tag.
        """
        run, episode = self._episode(token)
        public = self._task(task, episode.task_id)
        if type(seed) is not int or seed != episode.seed:
            raise Refusal("seed", 409, "Expected the seed that the token was handed out for.")
        if type(index) is not int or not 0 <= index <= episode.used:
            raise Refusal("order", 409, "Expected the number of the next query.")
        if index < episode.used:
            if _same_bytes(_parsed(output, public.space), episode.outputs[index]):
                return episode.result(index)
            raise Refusal("order", 409, "Expected the output that was sent with this number before.")
        self._require_going_on(run, episode)
        thought = episode.thought + (0.0 if episode.since is None else max(0.0, now - episode.since))
        if thought > episode.compute + SLACK_SECONDS:
            self._end(run, episode, "timeout", "the compute budget was used up")
            raise Refusal("compute", 429, "The episode's compute budget is used up.")
        if episode.used >= episode.horizon:
            raise Refusal("budget", 429, "The episode's query budget is used up.")
        array = _parsed(output, public.space)
        problem = (
            "the output is no array of numbers of the right shape" if array is None else public.space.problem(array)
        )
        if array is None or problem is not None:
            self._end(run, episode, "malformed", str(problem))
            raise Refusal("malformed", 422, f"Malformed: {problem}.")
        value = None
        if episode.same_as(array.ravel()) is None:
            row = self.ledger.row(episode.task_id)
            value = self._families[row.family].value(public, row.targets, array)
            if not math.isfinite(value):
                raise LedgerDamaged(f"Expected family {row.family} to answer finite numbers. Got {value!r}.")
        record = self._record("evaluation", run, episode)
        self._note(record | {"index": index, "output": array.ravel().tolist(), "value": value, "seconds": thought})
        return episode.result(index)

    def answered(self, token: Any, now: float) -> None:
        """An answer has gone out: the policy thinks from now on [s].  A recorded answer that goes out again stops no clock."""
        episode = self._episode(token)[1]
        if episode.since is None:
            episode.since = now

    def oracle(self, token: Any, now: float) -> EpisodeResult:
        """J_star, through the same call, in a run of the oracle."""
        run, episode = self._episode(token)
        if run.policy != ORACLE:
            raise Refusal("malformed", 422, "Malformed: the output is no array of numbers of the right shape.")
        if not episode.used:
            record = self._record("evaluation", run, episode)
            value = self.ledger.row(episode.task_id).j_star
            self._note(record | {"index": 0, "output": [], "value": value, "seconds": 0.0})
        return episode.result(0)

    def finish(self, token: Any, outcome: Any, index: Any, reason: Any) -> None:
        """End an episode.

        Args:
            token: of the episode.
            outcome: ``returned``, or how the policy failed.
            index: number of the query whose output is final, for ``returned``.
            reason: why it failed.

        Raises:
            Refusal: when there is no such query, or it has ended otherwise.
        """
        run, episode = self._episode(token)
        if outcome not in OUTCOMES or not isinstance(reason, str):
            raise Refusal("outcome", 422, f"Expected an outcome of {', '.join(OUTCOMES)} and a text as its reason.")
        returned = outcome == "returned"
        if returned and (type(index) is not int or not 0 <= index < episode.used):
            raise Refusal("final", 422, "Expected the number of a query of this episode as its final output.")
        if returned and episode.answers[index] is None:
            index = episode.same_as(episode.outputs[index])
        if episode.outcome is not None:
            if episode.outcome == outcome and (not returned or episode.final == index):
                return
            raise Refusal("over", 409, "The episode is over.")
        self._require_going_on(run, episode)
        self._end(run, episode, outcome, reason[:MAX_REASON], index if returned else None)

    def close(self, run_id: Any) -> Run:
        """End a run; episodes without an outcome count as having no final output.

        Raises:
            Refusal: for an unknown run.
        """
        run = self.runs.get(run_id) if isinstance(run_id, str) else None
        if run is None:
            raise Refusal("run", 404, "Expected a run of this ledger.")
        if not run.closed:
            self._note({"kind": "close", "run": run.id})
        return run

    def _episode(self, token: Any) -> tuple[Run, Episode]:
        digest = hashlib.sha256(token.encode("utf-8", "replace")).hexdigest() if isinstance(token, str) else ""
        if digest not in self._tokens:
            raise Refusal("token", 401, "Expected an episode token that this service handed out.")
        return self._tokens[digest]

    def _task(self, record: Any, task_id: str) -> PublicTask:
        """The public task as sent, if it is the one that was sealed."""
        known = self._tasks.get(task_id)
        if known is not None and known[0] == record:
            return known[1]
        problem = Refusal("task", 409, "Expected the public task that the token was handed out for, unchanged.")
        if not isinstance(record, Mapping):
            raise problem
        try:
            digest = hashlib.sha256(canonical_json(record).encode("utf-8")).hexdigest()
        except (ValueError, TypeError, RecursionError):
            raise problem from None
        if digest != self.ledger.row(task_id).public_digest:
            raise problem
        task = task_from_json(record)
        self._tasks[task_id] = (record, task)
        return task

    def _require_going_on(self, run: Run, episode: Episode) -> None:
        if run.closed or episode.outcome is not None:
            raise Refusal("over", 409, "The episode is over.")

    def _end(self, run: Run, episode: Episode, outcome: str, reason: str, final: int | None = None) -> None:
        record = self._record("finish", run, episode)
        self._note(record | {"outcome": outcome, "reason": reason, "final": final})

    def _record(self, kind: str, run: Run, episode: Episode) -> dict[str, Any]:
        return {"kind": kind, "run": run.id, "task": episode.task_id, "seed": episode.seed}

    def _note(self, record: dict[str, Any]) -> None:
        self._journal.append(record)
        self._replay(record)

    def _replay(self, record: Mapping[str, Any]) -> None:
        """Apply one record to the state; the only place that changes it."""
        kind = record["kind"]
        if kind == "run":
            self._add_run(record)
            return
        if kind == "recovered":
            return
        run = self.runs[record["run"]]
        if kind == "close":
            run.closed = True
            return
        episode = run.episodes[record["task"], record["seed"]]
        if kind == "open":
            episode.opened += 1
        elif kind == "evaluation":
            episode.outputs.append(np.array(record["output"], dtype=np.float64))
            episode.answers.append(record["value"])
            episode.seconds.append(record["seconds"])
            episode.thought = record["seconds"]
            episode.since = None
        else:
            episode.outcome, episode.final, episode.reason = record["outcome"], record["final"], record["reason"]

    def _add_run(self, record: Mapping[str, Any]) -> None:
        run = Run(
            id=record["run"],
            policy=record["policy"],
            split=record["split"],
            seeds=tuple(record["seeds"]),
            options=record["options"],
            request=record["request"],
            number=len(self.runs),
        )
        chosen: Sequence[str] = self.ledger.task_ids if run.split == "all" else self.ledger.index.splits[run.split]
        for identifier in chosen:
            for seed in run.seeds:
                episode = Episode(identifier, seed, *self._budgets[identifier])
                run.episodes[identifier, seed] = episode
                digest = hashlib.sha256(self.token(run, episode).encode()).hexdigest()
                self._tokens[digest] = (run, episode)
        self.runs[run.id] = run
        self._requests[run.request] = run.id


def _parsed(output: Any, space: OutputSpace) -> Array | None:
    """The array of nested lists of the space's shape; None for anything else."""
    rows = output if len(space.shape) == 2 else [output]
    width, height = space.shape[-1], space.shape[0] if len(space.shape) == 2 else 1
    if not isinstance(rows, list) or len(rows) != height:
        return None
    for row in rows:
        if not isinstance(row, list) or len(row) != width or not all(type(x) in (int, float) for x in row):
            return None
    try:
        return np.array(rows, dtype=np.float64).reshape(space.shape)
    except (OverflowError, ValueError):
        return None


def _same_bytes(array: Array | None, recorded: Array) -> bool:
    return array is not None and np.array_equal(array.ravel(), recorded)
