"""A language model as a judge: asked of each candidate in V whether it is right, without labels, peers or operators; a baseline beside composed rules.

Verdicts are kept in the archive as a campaign of their own, one for each judged campaign, model and electorate, so that nobody is asked twice and a broken-off judge goes on.
Equal candidates of a task are asked about once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from kernaut import __version__
from kernaut.archive.records import CampaignRecord, TranscriptRecord
from kernaut.archive.store import Archive
from kernaut.authors.chat import ChatModel, ModelSettings
from kernaut.authors.dialogue import Bounds, Dialogue
from kernaut.authors.models import answering
from kernaut.authors.replies import clean
from kernaut.authors.spending import Spending, estimated_tokens, price, spending_of
from kernaut.authors.toolbox import Tool, Toolbox, tool_of
from kernaut.digest import content_id, thaw
from kernaut.errors import AllowanceSpent, BudgetSpent
from kernaut.operators.domain import Domain, unasked
from kernaut.operators.prompting import JUDGE, filled, prompts_digest, shown
from kernaut.operators.records import ABSTAIN, FLAG, PASS, Electorate, Verdicts
from kernaut.operators.store import ArchiveJournal, by_call, is_closed

ANSWERS = 3
ANSWER_TOKENS = 300
"""Tokens of a verdict with its reason, for what is expected; reasoning not included."""

_CODES = {"correct": PASS, "incorrect": FLAG, "unsure": ABSTAIN}


@dataclass(frozen=True, eq=False)
class Judged:
    """What a judge has said of an electorate.

    Args:
        model: the judge, with the further settings that its requests hold, where there are some.
        verdicts: ``n`` codes; a candidate that was not asked about, or of which it is unsure, is an abstention.
        spent: what it took, a question that was broken off included; ``calls`` counts answers.
        asked: candidates that it was asked about, equal ones once.
        left: candidates in V that it was not asked about for want of allowance.
    """

    model: str
    verdicts: Verdicts
    spent: Spending
    asked: int
    left: int

    def to_json(self) -> dict[str, Any]:
        """Counts and costs."""
        codes = self.verdicts.codes
        counts = {word: int((codes == code).sum()) for word, code in (("flagged", FLAG), ("passed", PASS))}
        return {"model": self.model, "asked": self.asked, "left": self.left, **counts, "usage": self.spent.to_json()}


@dataclass
class _Session:
    """One question."""

    verdict: str = ""
    reason: str = ""


def give_verdict(
    session: _Session,
    verdict: Annotated[
        Literal["correct", "incorrect", "unsure"], Field(description="What you think of the candidate.")
    ],
    reason: Annotated[str, Field(description="Why, in a sentence.")] = "",
) -> Mapping[str, Any]:
    """Say whether the candidate is right."""
    session.verdict, session.reason = verdict, " ".join(reason.split())[:300]
    return {"noted": True}


@lru_cache(maxsize=1)
def _tools() -> dict[str, Tool]:
    return {"give_verdict": tool_of(give_verdict)}


def judge_candidates(
    archive: Archive,
    campaign: str,
    domain: Domain,
    electorate: Electorate,
    settings: ModelSettings,
    *,
    tokens: int | None = None,
    cost: float | None = None,
    done: Callable[[int, int], None] | None = None,
) -> Judged:
    """Ask a model about every candidate in V that it has not judged yet.

    Args:
        archive: keeps verdicts and conversations.
        campaign: whose report they are for.
        domain: shows candidates.
        electorate: whose candidates.
        settings: the model.
        tokens: most tokens on this electorate, earlier calls included; None without a limit.
        cost: most dollars; likewise.
        done: called with candidates judged and their number.

    Raises:
        ArchiveError: when it was begun with other prompts or another electorate.
        ModelFailure: when the model gives no answer; the same call goes on.
    """
    record = judge_record(campaign, domain, electorate, settings)
    archive.begin_campaign(record)
    if not is_closed(archive, record.id, 0):
        archive.open_run(record.id, 0, generation=0, keep=True)
        if _ask_all(ArchiveJournal(archive, record.id, 0), domain, electorate, settings, tokens, cost, done):
            archive.close_run(record.id, 0, result={"stopped": "every candidate is judged"})
    return _stored(archive, record, electorate)


def judge_record(campaign: str, domain: Domain, electorate: Electorate, settings: ModelSettings) -> CampaignRecord:
    """The campaign that holds a judge's verdicts on an electorate."""
    options = {
        "judges": campaign,
        "model": settings.name,
        "extra_body": thaw(settings.extra_body),
        "prompts": prompts_digest(JUDGE, domain.interface),
    }
    name = f"{campaign}-judge-{content_id([settings.name, options['extra_body']])[:8]}-{electorate.name}"
    return CampaignRecord(
        name,
        f"judge-{domain.name}",
        "judge",
        0,
        1,
        options=options,
        data_digest=electorate.digest,
        versions={"kernaut": __version__},
    )


def judgements(archive: Archive, campaign: str, electorate: Electorate) -> list[Judged]:
    """What judges have said of an electorate for a campaign's report, as far as the archive knows."""
    found = [
        record
        for record in archive.campaigns()
        if record.strategy == "judge"
        and record.options.get("judges") == campaign
        and record.data_digest == electorate.digest
    ]
    return [_stored(archive, record, electorate) for record in found]


def expected_judging(
    archive: Archive, campaign: str, domain: Domain, electorate: Electorate, settings: ModelSettings
) -> dict[str, Any]:
    """Answers, tokens and dollars that the candidates not yet judged would take."""
    record = judge_record(campaign, domain, electorate, settings)
    known = (
        {draft.index for draft in archive.drafts(record.id, 0)}
        if any(c.id == record.id for c in archive.campaigns())
        else set()
    )
    open_ones = [place for place in _distinct(electorate) if place not in known]
    schema = estimated_tokens([tool.schema() for tool in _tools().values()]) + estimated_tokens(_system(domain))
    sent = sum(schema + estimated_tokens(_question(domain, electorate, place)) for place in open_ones)
    dollars = price(settings, sent, len(open_ones) * ANSWER_TOKENS)
    return {
        "answers": len(open_ones),
        "tokens": sent + len(open_ones) * ANSWER_TOKENS,
        "cost": None if dollars is None else round(dollars, 4),
    }


def _ask_all(
    journal: ArchiveJournal,
    domain: Domain,
    electorate: Electorate,
    settings: ModelSettings,
    tokens: int | None,
    cost: float | None,
    done: Callable[[int, int], None] | None,
) -> bool:
    """Whether all candidates are judged; not when the allowance is spent before."""
    groups = _distinct(electorate)
    spent = sum((spending_of(r.usage for r in journal.transcript(place)) for place in groups), Spending())
    for number, place in enumerate(groups, 1):
        if journal.entry(place) is None:
            earlier = spending_of(record.usage for record in journal.transcript(place))
            others = Spending(prompt_tokens=spent.tokens - earlier.tokens, cost=spent.cost - earlier.cost)
            bounds = Bounds(
                ANSWERS,
                None if tokens is None else tokens - others.tokens,
                None if cost is None else cost - others.cost,
            )
            try:
                with answering(settings) as model:
                    verdict, reason = _ask(journal, domain, electorate, place, settings, model, bounds)
            except AllowanceSpent:
                return False
            candidate = electorate.candidates[place]
            own = spending_of(record.usage for record in journal.transcript(place))
            entry = {
                "operator": {"task": candidate.task, "candidate": candidate.id},
                "decision": verdict,
                "reason": reason,
                "usage": own.to_json(),
            }
            journal.write(place, entry)
            spent = others + own
        if done is not None:
            done(number, len(groups))
    return True


@dataclass(frozen=True)
class _Page:
    """The transcript of one question."""

    journal: ArchiveJournal
    place: int

    def transcript(self) -> tuple[TranscriptRecord, ...]:
        return tuple(self.journal.transcript(self.place))

    def note(self, role: str, content: Mapping[str, Any], usage: Mapping[str, Any] | None = None) -> None:
        self.journal.note(self.place, role, content, usage or {})


def _ask(
    journal: ArchiveJournal,
    domain: Domain,
    electorate: Electorate,
    place: int,
    settings: ModelSettings,
    model: ChatModel,
    bounds: Bounds,
) -> tuple[str, str]:
    """A verdict in the judge's words, and why."""
    session = _Session()
    dialogue = Dialogue(
        settings,
        model,
        Toolbox(session, ANSWERS, _tools()),
        _Page(journal, place),
        bounds,
        nudge=lambda reason: filled("nudge", reason=reason),
        finished=lambda: bool(session.verdict),
        name=f"candidate {place}",
    )
    ended: str | None = None
    try:
        ended = dialogue.hold(
            ("system", lambda: _system(domain)), ("user", lambda: _question(domain, electorate, place))
        )
    except AllowanceSpent:
        raise
    except BudgetSpent:
        ended = "tool calls spent"
    return (session.verdict, session.reason) if session.verdict else ("unsure", ended or "no verdict")


def _system(domain: Domain) -> str:
    return clean(filled("judge", interface=domain.interface))


def _question(domain: Domain, electorate: Electorate, place: int) -> str:
    return clean(filled("candidate", candidate=shown(domain.show(electorate, place))))


def _distinct(electorate: Electorate) -> dict[int, list[int]]:
    """Positions in V to ask about, each with those of equal candidates of its task."""
    first: dict[str, int] = {}
    found: dict[int, list[int]] = {}
    for place in map(int, np.flatnonzero(electorate.visible)):
        candidate = electorate.candidates[place]
        key = content_id({"task": candidate.task, "content": thaw(candidate.content)})
        found.setdefault(first.setdefault(key, place), []).append(place)
    return found


def _stored(archive: Archive, record: CampaignRecord, electorate: Electorate) -> Judged:
    codes, reasons = unasked(electorate).codes, {}
    drafts = {draft.index: draft for draft in archive.drafts(record.id, 0)}
    left = 0
    for place, twins in _distinct(electorate).items():
        draft = drafts.get(place)
        left += len(twins) if draft is None else 0
        for twin in twins:
            codes[twin] = ABSTAIN if draft is None else _CODES[draft.state]
            if codes[twin] == ABSTAIN:
                reasons[twin] = "not asked" if draft is None else str(draft.reason or "unsure")
    spent = spending_of(draft.details["usage"] for draft in drafts.values())
    for place, said in by_call(archive.transcript(record.id, 0)).items():
        if place not in drafts:  # broken off
            spent += spending_of(entry.usage for entry in said)
    further = json.dumps(thaw(record.options["extra_body"])) if record.options["extra_body"] else ""
    return Judged(f"{record.options['model']} {further}".rstrip(), Verdicts(codes, reasons), spent, len(drafts), left)
