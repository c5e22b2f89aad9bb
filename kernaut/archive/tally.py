"""What became of a campaign's drafts and trials, counted by the database: a look at 500 runs takes as many statements as one at a single run."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from kernaut.archive import schema
from kernaut.archive.campaigns import require_campaign

LEFT_OVER = ("staged", "verified", "tuned")
"""States of drafts that were neither refused nor submitted."""
MOST_LEFT_OVER = 50


@dataclass(frozen=True)
class LeftOver:
    """A draft that its author did not submit.

    Args:
        run_index: its run.
        index: its place in the run.
        name: its name.
        contract: its contract.
        state: ``staged``, ``verified`` or ``tuned``.
        fitness: the best of its tuning trials; None without one.
    """

    run_index: int
    index: int
    name: str
    contract: str
    state: str
    fitness: float | None


@dataclass(frozen=True)
class Tally:
    """Drafts and trials of a campaign.

    Args:
        states: drafts by state.
        reasons: each reason with how many drafts it ended, the most frequent first.
        left_over: drafts that were not submitted, the best tuned first, at most 50; ``states`` counts them all.
        trials: by method: how many were scored, how many failed, the best fitness.
        talked: the last run that has a transcript.
    """

    states: dict[str, int]
    reasons: tuple[tuple[str, int], ...]
    left_over: tuple[LeftOver, ...]
    trials: tuple[tuple[str, int, int, float | None], ...]
    talked: int | None


def tally(connection: Connection, campaign_id: str) -> Tally:
    """Count a campaign's drafts and trials.

    Raises:
        ArchiveError: for an unknown campaign.
    """
    require_campaign(connection, campaign_id)
    drafts, trials, words = schema.drafts, schema.trials, schema.transcripts
    count, own = func.count(), drafts.c.campaign_id == campaign_id
    states = connection.execute(select(drafts.c.state, count).where(own).group_by(drafts.c.state)).all()
    reasons = connection.execute(
        select(drafts.c.reason, count).where(own, drafts.c.reason.is_not(None)).group_by(drafts.c.reason)
    ).all()
    methods = connection.execute(
        select(trials.c.method, func.count(trials.c.fitness), count, func.max(trials.c.fitness))
        .where(trials.c.campaign_id == campaign_id)
        .group_by(trials.c.method)
        .order_by(trials.c.method)
    ).all()
    talked = connection.execute(select(func.max(words.c.run_index)).where(words.c.campaign_id == campaign_id)).scalar()
    return Tally(
        {state: int(number) for state, number in sorted(map(tuple, states))},
        tuple(sorted(((str(reason), int(number)) for reason, number in reasons), key=lambda pair: (-pair[1], pair[0]))),
        _left_over(connection, campaign_id),
        tuple((method, scored, every - scored, best) for method, scored, every, best in methods),
        talked,
    )


def _left_over(connection: Connection, campaign_id: str) -> tuple[LeftOver, ...]:
    drafts, trials = schema.drafts, schema.trials
    same = (
        (trials.c.campaign_id == drafts.c.campaign_id)
        & (trials.c.run_index == drafts.c.run_index)
        & (trials.c.draft_index == drafts.c["index"])
    )
    best = func.max(trials.c.fitness)
    keys = (drafts.c.run_index, drafts.c["index"])
    found = connection.execute(
        select(*keys, drafts.c.state, best)
        .outerjoin(trials, same)
        .where(drafts.c.campaign_id == campaign_id, drafts.c.state.in_(LEFT_OVER))
        .group_by(*keys, drafts.c.state)
        .order_by(best.is_(None), best.desc(), *keys)
        .limit(MOST_LEFT_OVER)
    ).all()
    made = []
    for run_index, index, state, fitness in found:
        where = (drafts.c.campaign_id == campaign_id, drafts.c.run_index == run_index, drafts.c["index"] == index)
        candidate = connection.execute(select(drafts.c.candidate).where(*where)).scalar_one()
        name, contract = (str(candidate.get(key, "")) for key in ("name", "contract"))
        made.append(LeftOver(run_index, index, name, contract, state, fitness))
    return tuple(made)
