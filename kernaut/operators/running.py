"""Campaigns of evaluator evolution: seeded runs into an archive, their rules on other electorates, exact replay."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernaut.archive.records import CampaignRecord
from kernaut.archive.store import Archive
from kernaut.errors import InputError
from kernaut.evaluation.engine import ordered_stream
from kernaut.operators.authoring import OfflineAuthor, OperatorAuthor
from kernaut.operators.composition import Votes, vote
from kernaut.operators.domain import Domain
from kernaut.operators.lift_author import LiftAuthor
from kernaut.operators.loop import LoopOptions, evolve
from kernaut.operators.model_judge import Judged
from kernaut.operators.nulls import benjamini_hochberg, sign_flips
from kernaut.operators.records import Electorate, Flags, Operator, Verdicts
from kernaut.operators.rules import Rule, assess, composed
from kernaut.operators.selection import Panel, require_choice
from kernaut.operators.store import ArchiveJournal, StoredRun, begin, close, contents_of, is_closed, stored_runs
from kernaut.seeds import generator


@dataclass(frozen=True)
class _Work:
    """One run, with all that a process of its own needs."""

    archive: Archive
    campaign: str
    index: int
    domain: Domain
    author: OperatorAuthor
    options: LoopOptions
    done: Callable[[int, int], None] | None = None


def run_campaign(
    archive: Archive,
    campaign: str,
    domain: Domain,
    author: OperatorAuthor,
    options: LoopOptions,
    runs: int,
    *,
    domain_options: Mapping[str, Any] | None = None,
    author_options: Mapping[str, Any] | None = None,
    workers: int = 1,
    done: Callable[[str, int, int], None] | None = None,
) -> list[StoredRun]:
    """Run the loop with seeds ``options.seed``, ``options.seed + 1``, ...; finished runs are not run again, an open one goes on.

    Args:
        archive: where everything is kept.
        campaign: the campaign's name.
        domain: tasks and candidates.
        author: writes operators.
        options: of the first run.
        runs: how many.
        domain_options: what made the domain, for the record.
        author_options: what steers the author; stands with the campaign, which cannot be resumed with others.
        workers: runs calculated at once, each in a process; nothing depends on it.
        done: called with the run's name, calls made and most calls.

    Raises:
        InputError: when no training candidate passes the visible checks.
        ArchiveError: when the campaign was begun with another electorate or other options.
        ModelFailure: when an author's model gives no answer; the same call goes on.
    """
    electorate = domain.electorate("train")
    require_choice(electorate)
    recorded = {**options.to_json(), "author": author.name, "domain": dict(domain_options or {})}
    recorded |= {"author_options": dict(author_options)} if author_options else {}
    begin(archive, campaign, electorate, strategy=options.arm, seed=options.seed, runs=runs, options=recorded)
    left = [index for index in range(runs) if not is_closed(archive, campaign, index)]
    alone = min(workers, len(left)) <= 1
    if not alone and isinstance(author, (OfflineAuthor, LiftAuthor)):
        domain.measure(electorate)  # once, before it goes to the processes
    work = [
        _Work(
            archive,
            campaign,
            index,
            domain,
            author,
            replace(options, seed=options.seed + index),
            _named(done, f"run {index}") if alone else None,
        )
        for index in left
    ]
    for place, calls in zip(left, ordered_stream(_grow, work, workers=workers), strict=True):
        if done is not None and not alone:
            done(f"run {place}", calls, options.most_calls)
    return stored_runs(archive, campaign)


def _grow(work: _Work) -> int:
    """Calculate one run, or the rest of it; how many calls it has."""
    work.archive.open_run(work.campaign, work.index, generation=0, keep=True)
    started = time.monotonic()
    outcome = evolve(
        work.domain,
        work.domain.electorate("train"),
        work.author,
        work.options,
        journal=ArchiveJournal(work.archive, work.campaign, work.index),
        done=work.done,
    )
    close(work.archive, work.campaign, work.index, outcome, time.monotonic() - started)
    return len(outcome.ledger)


def _named(done: Callable[[str, int, int], None] | None, name: str) -> Callable[[int, int], None] | None:
    if done is None:
        return None
    tell = done
    return lambda made, most: tell(name, made, most)


def distinct(runs: Sequence[StoredRun]) -> tuple[list[Operator], list[Verdicts]]:
    """The admitted operators of all runs, each once, in order of first admission."""
    found: dict[str, tuple[Operator, Verdicts]] = {}
    for run in runs:
        for operator, verdicts in zip(run.operators, run.verdicts, strict=True):
            found.setdefault(operator.id, (operator, verdicts))
    return [pair[0] for pair in found.values()], [pair[1] for pair in found.values()]


def known_verdicts(runs: Sequence[StoredRun], electorate: Electorate) -> dict[str, Verdicts]:
    """Verdicts of the runs' operators that the archive holds for an electorate, by operator; none for another than the runs' own."""
    operators, verdicts = distinct([run for run in runs if run.electorate == electorate.digest])
    return {operator.id: found for operator, found in zip(operators, verdicts, strict=True)}


def rule_of(run: StoredRun, train: Electorate, *, votes: Votes = 2, most: int = 6) -> Rule:
    """The rule a run deploys."""
    rule, _ = composed(run.operators, run.verdicts, train, votes=votes, most=most)
    return replace(rule, name=f"run {run.index}: {rule.name}")


def report(
    domain: Domain,
    runs: Sequence[StoredRun],
    electorates: Sequence[str],
    baselines: Sequence[Rule],
    *,
    votes: Votes = 2,
    most: int = 6,
    judged: Mapping[str, Sequence[Judged]] | None = None,
    done: Callable[[str, int, int], None] | None = None,
) -> dict[str, Any]:
    """Every run's rule, the rule of all runs' operators, and baselines on some electorates, with p-values and discoveries among the runs.

    Args:
        domain: the domain.
        runs: closed runs.
        electorates: names, ``train`` first by custom.
        baselines: rules to compare with.
        votes: m, or ``best``.
        most: largest k.
        judged: what judges have said, by electorate.
        done: called with an electorate's name, rules judged there and their number.
    """
    train = domain.electorate("train")
    rules = [rule_of(run, train, votes=votes, most=most) for run in runs]
    unions = [Rule(f"run {run.index}: union", run.operators, 1) for run in runs]
    operators, verdicts = distinct(runs)
    together, search = composed(operators, verdicts, train, votes=votes, most=most)
    together = replace(together, name=f"all runs: {together.name}")
    results: dict[str, Any] = {}
    for name in electorates:
        electorate = domain.electorate(name)
        panel, known = Panel.of(electorate), known_verdicts(runs, electorate)
        flags: dict[str, Flags] = {}
        measured = [*rules, *unions, together, *baselines]
        for number, rule in enumerate(measured, 1):
            flags[rule.name] = rule.flags(domain, electorate, known)
            if done is not None:
                done(name, number, len(measured))
        fixed = dict(getattr(domain, "fixed_flags", lambda _: {})(electorate))
        flags |= {"perfect": ~electorate.correct, **fixed}
        judges = (judged or {}).get(name, ())
        for judge in judges:
            flags[f"judge {judge.model}"] = judge.verdicts.flags
            flags[f"judge {judge.model}, or all runs"] = judge.verdicts.flags | flags[together.name]
        rows = {rule: assess(electorate, flagged, rule) for rule, flagged in flags.items()}
        further_null: Callable[[Electorate, Flags, str], Mapping[str, Any]]
        further_null = getattr(domain, "further_null", lambda *_: {})
        for title, flagged in flags.items():
            rows[title] |= further_null(electorate, flagged, title)
            worth = domain.worth(electorate, flagged)
            rows[title] |= {"worth": dict(worth)} if worth else {}
        discoveries = benjamini_hochberg([rows[rule.name]["p"] for rule in rules])
        for rule, found in zip(rules, discoveries, strict=True):
            rows[rule.name]["discovery"] = found
        seen = electorate.visible
        against = {
            other: sign_flips(
                panel.accuracy(flags[together.name][seen]) - panel.accuracy(flags[other][seen]),
                generator("sign flips", electorate.digest, other),
            )
            for other in (*(baseline.name for baseline in baselines), *fixed)
        }
        results[name] = {"digest": electorate.digest, "rules": rows, "all_runs_against": against}
        if judges:
            results[name]["judges"] = [
                {**judge.to_json(), "overlap_with_all_runs": overlap(judge.verdicts.flags, flags[together.name])}
                for judge in judges
            ]
    changes = [results[electorates[-1]]["rules"][rule.name]["change"] for rule in rules]
    return {
        "domain": domain.name,
        "candidates": domain.synthetic,
        "tasks": dict(getattr(domain, "counts", {})),
        "runs": [
            {
                "index": run.index,
                "admitted": len(run.operators),
                "calls": len(run.ledger),
                "stopped": run.result["stopped"],
                "votes": rule.votes,
                "chosen": [operator.id for operator in rule.operators],
            }
            for run, rule in zip(runs, rules, strict=True)
        ],
        "rule": {**together.to_json(), "search": None if search is None else search.to_json()},
        "electorates": results,
        "summary": {
            "runs": len(runs),
            "admitting": sum(bool(run.operators) for run in runs),
            "positive": sum(change > 1e-12 for change in changes),
            "harmful": sum(change < -1e-12 for change in changes),
            "on": electorates[-1],
        },
    }


def overlap(one: Flags, two: Flags) -> dict[str, Any]:
    """How far two rules flag the same candidates."""
    both, either = int((one & two).sum()), int((one | two).sum())
    return {
        "both": both,
        "first_only": int((one & ~two).sum()),
        "second_only": int((two & ~one).sum()),
        "jaccard": both / either if either else 1.0,
    }


def replay(domain: Domain, runs: Sequence[StoredRun], campaign: CampaignRecord) -> dict[str, Any]:
    """Form the stored operators' verdicts again and compare.

    Args:
        domain: the domain as it is now.
        runs: closed runs.
        campaign: theirs, with the digest and the members of the electorate they were made on.  A training electorate of another digest is another
            evaluation, and the answer says what changed on the candidates that both hold.

    Returns:
        ``same_electorate``, how many candidates both electorates hold, verdicts changed on them, flags added and removed, and the union's effect now.
    """
    now, pinned = domain.electorate("train"), campaign.data_digest
    operators, stored = distinct(runs)
    same = now.digest == pinned
    members = [(task, name) for task, names in campaign.options["members"] for name in names]
    contents = campaign.options.get("contents")  # a campaign of an early archive knows candidates by name alone
    old = _places([task for task, _ in members], contents or [name for _, name in members])
    new = _places([c.task for c in now.candidates], contents_of(now) if contents else [c.id for c in now.candidates])
    shared = [(old[key], place) for key, place in new.items() if key in old]
    changed = added = removed = 0
    for operator, before in zip(operators, stored, strict=True):
        after = domain.examine(operator, now)
        for was, place in shared:
            one, two = int(before.codes[was]), int(after.codes[place])
            changed += one != two
            added += one != 1 and two == 1
            removed += one == 1 and two != 1
    result = {
        "pinned": pinned,
        "electorate": now.digest,
        "same_electorate": same,
        "operators": len(operators),
        "candidates": len(now.candidates),
        "shared": len(shared),
        "verdicts_changed": int(changed),
        "flags_added": int(added),
        "flags_removed": int(removed),
    }
    if operators:
        flags = np.stack([domain.examine(operator, now).flags for operator in operators])
        result["effect"] = assess(now, vote(flags, 1), "replay")
    return result


def _places(tasks: Sequence[str], contents: Sequence[str]) -> dict[tuple[str, str, int], int]:
    """Positions of candidates by task, content, and how many equal ones of the task come before."""
    found: dict[tuple[str, str, int], int] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for place, key in enumerate(zip(tasks, contents, strict=True)):
        found[(*key, seen[key])] = place
        seen[key] += 1
    return found


def require_pinned(domain: Domain, campaign: CampaignRecord) -> None:
    """Refuse another electorate than the one that stored verdicts are about.

    Raises:
        InputError: when the digests differ.
    """
    now = domain.electorate("train").digest
    if now != campaign.data_digest:
        raise InputError(
            f"Expected the pinned electorate {campaign.data_digest}. Got {now}: tasks or candidates have changed since the campaign began.",
            hint="Level-2 verdicts depend on the peers present; kernaut cegar replay --grown reports the difference as another evaluation.",
        )
