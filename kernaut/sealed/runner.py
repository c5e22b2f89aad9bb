"""Run policies on a task set against a service: ``python -m kernaut.sealed.runner``, options as JSON on standard input.  Untrusted side.

Options: ``manifest``, ``service``, ``policies`` (names, or ``FILE.py:Class``), ``options`` (by policy), ``seeds`` (how many), ``split``, ``workers``, ``state``
(folder where unfinished runs are noted, so that they can go on).  Writes one JSON line for each event.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernaut.digest import canonical_json, content_id
from kernaut.errors import InputError
from kernaut.plugins import extensions
from kernaut.sealed.client import EpisodeTicket, RegisteredRun, SealedClient, connect
from kernaut.sealed.episode import Ending, PolicySpec, play
from kernaut.sealed.manifest import Manifest, PublicTask, read_manifest
from kernaut.sealed.policies.registry import BUILT_IN
from kernaut.sealed.policy_host import PolicyHost
from kernaut.sealed.reporting import run_process, say
from kernaut.sealed.results import ORACLE

GROUP = "kernaut.policies"
MOST_SEEDS = 1000
FIRST_SECONDS = 5.0
"""How long a run waits for a service that has not answered yet [s]."""

Event = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class Plan:
    """What to run.

    Args:
        policies: in this order.
        split: of the manifest.
        seeds: episode seeds, the same for each policy.
        workers: episodes at once.
        state: folder for notes on unfinished runs; None keeps none.
    """

    policies: tuple[PolicySpec, ...]
    split: str
    seeds: tuple[int, ...]
    workers: int = 2
    state: Path | None = None


def policy_spec(name: str, options: Mapping[str, Any]) -> PolicySpec:
    """Where a policy's class comes from: built in, ``FILE.py:Class``, or an installed package.  Nothing is imported.

    Raises:
        InputError: for an unknown name or a file that cannot be read.
    """
    if name in BUILT_IN:
        return PolicySpec(name, {"kind": "builtin", "name": name}, options)
    if name == ORACLE:
        if options:
            raise InputError("Expected no options for the oracle. Got some.")
        return PolicySpec(name, {"kind": "oracle", "name": name})
    path, colon, class_name = name.rpartition(":")
    if colon and path.endswith(".py"):
        try:
            source = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"Expected a policy's source in {path}. Got: {error}.") from error
        spec = {"kind": "source", "name": class_name, "file": Path(path).name, "source": source}
        return PolicySpec(class_name, spec, options)
    added = extensions(GROUP)
    if name not in added:
        known = ", ".join((*BUILT_IN, ORACLE, *added))
        raise InputError(f"Expected a policy of {known}. Got {name!r}.", hint="A file is given as path/file.py:Class.")
    place = added[name].value
    return PolicySpec(name, {"kind": "module", "name": place}, options, place.partition(":")[0])


def run_plan(service: str, manifest: Manifest, plan: Plan, event: Event = lambda record: None) -> dict[str, str]:
    """Play all episodes of all policies and close the runs.

    Args:
        service: the service's address.
        manifest: the public task set.
        plan: what to run.
        event: told of progress.

    Returns:
        The identifier of each policy's run, by policy name.

    Raises:
        InputError: when the service cannot be reached or its tasks are others.
        ServiceRefusal: when it refuses.
    """
    names = [policy.name for policy in plan.policies]
    if len(set(names)) != len(names):
        raise InputError(f"Expected each policy once. Got {', '.join(names)}.")
    tasks = {task.task_id: task for task in manifest.split(plan.split)}
    connect(
        service, patience=FIRST_SECONDS
    ).disconnect()  # a service that was there is waited for longer, should it be started again
    runs: dict[str, str] = {}
    with ExitStack() as stack:
        hosts: dict[str | None, PolicyHost] = {}
        for policy in plan.policies:
            if policy.name == ORACLE:
                runs[policy.name] = _run_oracle(service, tasks, plan, event)
                continue
            if policy.extension not in hosts:
                hosts[policy.extension] = stack.enter_context(PolicyHost(policy.extension))
            with connect(service) as client:
                runs[policy.name] = _run_policy(client, hosts[policy.extension], tasks, policy, plan, event)
    return runs


@dataclass(eq=False)
class _Notes:
    """What is known of a run that may be broken off: its episodes' tokens and which of them are over."""

    path: Path | None
    done: set[tuple[str, int]] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self) -> RegisteredRun | None:
        """The unfinished run, if there is one."""
        if self.path is None or not self.path.is_file():
            return None
        text = self.path.read_text(encoding="utf-8")
        whole = text.rpartition("\n")[0]  # a line that was cut short was not noted
        if not whole:
            return None
        if whole + "\n" != text:
            self.path.write_text(whole + "\n", encoding="utf-8")
        first, *rest = [json.loads(line) for line in whole.splitlines()]
        self.done = {(record["task_id"], record["seed"]) for record in rest}
        return RegisteredRun(first["run"], tuple(EpisodeTicket(**episode) for episode in first["episodes"]))

    def begin(self, run: RegisteredRun) -> None:
        """Note a new run."""
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            episodes = [{"task_id": e.task_id, "seed": e.seed, "token": e.token} for e in run.episodes]
            self._write({"run": run.id, "episodes": episodes})

    def finished(self, ticket: EpisodeTicket) -> None:
        """Note that an episode is over."""
        with self.lock:
            self.done.add((ticket.task_id, ticket.seed))
            if self.path is not None:
                self._write({"task_id": ticket.task_id, "seed": ticket.seed})

    def end(self) -> None:
        """The run is closed."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _write(self, record: Mapping[str, Any]) -> None:
        assert self.path is not None
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(canonical_json(record) + "\n")


def _run_policy(
    client: SealedClient,
    host: PolicyHost,
    tasks: Mapping[str, PublicTask],
    policy: PolicySpec,
    plan: Plan,
    event: Event,
) -> str:
    wanted = {"policy": policy.name, "split": plan.split, "seeds": plan.seeds, "options": dict(policy.options)}
    stamp = content_id({**wanted, "spec": dict(policy.spec), "tasks": sorted(task.digest for task in tasks.values())})
    notes = _Notes(None if plan.state is None else plan.state / f"{policy.name}-{stamp}.jsonl")
    run = notes.read()
    if run is None:
        run = client.register(policy.name, plan.split, plan.seeds, policy.options)
        notes.begin(run)
    _require_same(run, tasks)
    todo = [ticket for ticket in run.episodes if (ticket.task_id, ticket.seed) not in notes.done]
    event({"event": "begun", "policy": policy.name, "run": run.id, "episodes": len(todo)})
    counted: dict[str, int] = {}
    confined = False

    def one(ticket: EpisodeTicket) -> Ending:
        ending = play(client, host, ticket, tasks[ticket.task_id], policy)
        notes.finished(ticket)
        return ending

    with ThreadPoolExecutor(plan.workers) as pool:
        futures = [pool.submit(one, ticket) for ticket in todo]
        try:
            for place, future in enumerate(futures):
                ending = future.result()
                counted[ending.outcome] = counted.get(ending.outcome, 0) + 1
                if ending.outcome not in ("returned", "over"):
                    event(_failed(policy, todo[place], ending))
                if ending.protections and not confined:
                    confined = True
                    event({"event": "confined", "policy": policy.name, "protections": dict(ending.protections)})
                event({"event": "progress", "policy": policy.name, "done": place + 1, "of": len(todo)})
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    client.close(run.id)
    notes.end()
    event({"event": "closed", "policy": policy.name, "run": run.id, "outcomes": counted})
    return run.id


def _failed(policy: PolicySpec, ticket: EpisodeTicket, ending: Ending) -> dict[str, Any]:
    said = {"outcome": ending.outcome, "reason": ending.reason}
    return {"event": "failed", "policy": policy.name, "task_id": ticket.task_id, "seed": ticket.seed, **said}


def _run_oracle(service: str, tasks: Mapping[str, PublicTask], plan: Plan, event: Event) -> str:
    """J_star itself, shown by the service through the same call; needs the owner's token."""
    with connect(service, role="owner") as client:
        run = client.register(ORACLE, plan.split, plan.seeds)
        _require_same(run, tasks)
        for ticket in run.episodes:
            client.evaluate(ticket, tasks[ticket.task_id], ORACLE, ticket.seed, 0)
            client.finish(ticket, "returned", index=0)
        client.close(run.id)
    event({"event": "closed", "policy": ORACLE, "run": run.id, "outcomes": {"returned": len(run.episodes)}})
    return run.id


def _require_same(run: RegisteredRun, tasks: Mapping[str, PublicTask]) -> None:
    if {ticket.task_id for ticket in run.episodes} != set(tasks):
        raise InputError(
            "Expected the service to serve the tasks of this manifest. Got others.",
            hint="Name the manifest that was generated with the ledger being served.",
        )


def _plan(options: Mapping[str, Any]) -> Plan:
    seeds, workers = options.get("seeds", 5), options.get("workers", 2)
    if type(seeds) is not int or not 1 <= seeds <= MOST_SEEDS:
        raise InputError(f"Expected 1 to {MOST_SEEDS} seeds. Got {seeds!r}.")
    if type(workers) is not int or not 1 <= workers <= 256:
        raise InputError(f"Expected 1 to 256 workers. Got {workers!r}.")
    names: Sequence[str] = options["policies"]
    given = options.get("options", {})
    if unknown := set(given) - set(names):
        raise InputError(f"Expected options of the policies that run. Got some for {', '.join(sorted(unknown))}.")
    policies = tuple(policy_spec(name, given.get(name, {})) for name in names)
    state = Path(options["state"]) if options.get("state") else None
    return Plan(policies, options.get("split", "test"), tuple(range(seeds)), workers, state)


def work(options: Mapping[str, Any]) -> int:
    """Run the plan that the options describe."""
    plan = _plan(options)
    runs = run_plan(options["service"], read_manifest(options["manifest"]), plan, say)
    say({"event": "done", "runs": runs})
    return 0


if __name__ == "__main__":
    sys.exit(run_process(work))
