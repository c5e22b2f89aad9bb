"""The author of operators that is a language model: each authoring call is one conversation, kept in the run's transcript, from which an interrupted call goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from kernaut.authors.chat import ModelSettings
from kernaut.authors.dialogue import Bounds, Dialogue
from kernaut.authors.models import answering
from kernaut.authors.replies import clean
from kernaut.authors.spending import estimated_tokens, price
from kernaut.authors.toolbox import Toolbox
from kernaut.digest import thaw
from kernaut.errors import AllowanceSpent, BudgetSpent
from kernaut.operators.author_tools import Session, author_tools
from kernaut.operators.authoring import Declined, Desk, Request
from kernaut.operators.domain import Domain
from kernaut.operators.prompting import AUTHOR, filled, prompts_digest, shown
from kernaut.operators.records import Electorate, Operator

ANSWERS = 8
TOOL_CALLS = 24
TRIES = 4
SIGNATURES = {1: "op(task, candidate)", 2: "op(task, candidate, ctx)"}
ANSWER_TOKENS = 800
"""Tokens of an answer, for what is expected: an operator, or a few small requests; reasoning not included."""

RESULT_TOKENS = 700
"""Tokens of the tool results after it: a candidate or two, or a trial."""


@dataclass(frozen=True)
class ModelOperatorAuthor:
    """A language model; see :class:`kernaut.operators.authoring.OperatorAuthor`.

    Args:
        settings: which model, and where.
        answers: most answers of one authoring call.
        tool_calls: most tool calls of one authoring call.
        tries: drafts that may be tried in one authoring call.
        tokens: most tokens of a run; None without a limit.
        cost: most that a run may cost [US dollars]; None without a limit.
    """

    settings: ModelSettings
    answers: int = ANSWERS
    tool_calls: int = TOOL_CALLS
    tries: int = TRIES
    tokens: int | None = None
    cost: float | None = None

    @property
    def name(self) -> str:
        """Provider and model."""
        return self.settings.name

    def options(self, domain: Domain) -> dict[str, Any]:
        """What a campaign with this author cannot change."""
        return {
            "model": self.settings.name,
            "extra_body": thaw(self.settings.extra_body),
            "prompts": prompts_digest(AUTHOR, domain.interface),
            "answers": self.answers,
            "tool_calls": self.tool_calls,
            "tries": self.tries,
        }

    def write(self, request: Request, domain: Domain, electorate: Electorate, desk: Desk) -> Operator | Declined | None:
        """Hold the conversation of one authoring call.

        Raises:
            AllowanceSpent: when the run's tokens or money are spent.
            ModelFailure: when the model gives no answer.
            ArchiveError: when the stored transcript is not one of this version.
        """
        show = partial(_shown, domain, electorate)
        session = Session(request, electorate, show, desk, self.tries, self.name)
        tokens = None if self.tokens is None else self.tokens - desk.spent.tokens
        cost = None if self.cost is None else self.cost - desk.spent.cost
        with answering(self.settings) as model:
            dialogue = Dialogue(
                self.settings,
                model,
                Toolbox(session, self.tool_calls, author_tools()),
                desk,
                Bounds(self.answers, tokens, cost),
                nudge=lambda reason: filled("nudge", reason=reason),
                finished=lambda: session.ended,
                name=f"authoring call {desk.call}",
            )
            try:
                ended = dialogue.hold(
                    ("system", lambda: clean(self.system(domain, desk.gate))),
                    ("user", lambda: clean(self.call(request, electorate, show))),
                )
            except AllowanceSpent:
                raise
            except BudgetSpent:
                ended = "tool calls spent"
        if session.submitted is not None:
            return session.submitted
        given_up = f"the model gave up: {session.given_up}" if session.given_up else None
        return Declined(given_up or ended or "the model ended without an operator")

    def system(self, domain: Domain, gate: str) -> str:
        """What every authoring call begins with."""
        return filled("system", interface=domain.interface, tries=self.tries, gate=gate)

    def call(self, request: Request, electorate: Electorate, show: Any) -> str:
        """What one authoring call asks for."""
        pair = ""
        if request.pair is not None:
            right, wrong = (shown(show(place)) for place in request.pair)
            pair = f"\n# Two candidates that all operators so far judge alike\n\nCorrect:\n\n{right}\n\nWrong:\n\n{wrong}\n"
        tried = [
            f"\n```python\n{attempt.operator.source.rstrip()}\n```\n{attempt.reason}\n"
            if attempt.operator is not None
            else f"\nNo operator: {attempt.reason}\n"
            for attempt in request.attempts
        ]
        attempts = "\n# Earlier attempts at this fault, none admitted\n" + "".join(tried) if tried else ""
        return filled(
            "call",
            level=request.level,
            signature=SIGNATURES[request.level],
            kind=request.kind,
            faulty=len(request.faulty),
            correct=len(request.correct),
            tasks=len(electorate.tasks),
            answers=self.answers,
            calls=self.tool_calls,
            pair=pair,
            attempts=attempts,
        )

    def expected(
        self, request: Request, domain: Domain, electorate: Electorate, gate: str, calls: int
    ) -> dict[str, Any]:
        """What so many authoring calls would take if each used all its answers: answers, tokens and dollars.

        Args:
            request: an example.
            domain: shows candidates.
            electorate: the training electorate.
            gate: what the gate asks for.
            calls: how many.
        """
        texts = [
            self.system(domain, gate),
            self.call(request, electorate, partial(_shown, domain, electorate)),
            [tool.schema() for tool in author_tools().values()],
        ]
        opening = sum(estimated_tokens(text) for text in texts)
        sent = self.answers * opening + (ANSWER_TOKENS + RESULT_TOKENS) * self.answers * (self.answers - 1) // 2
        cost = price(self.settings, sent * calls, self.answers * ANSWER_TOKENS * calls)
        return {
            "answers": self.answers * calls,
            "tokens": (sent + self.answers * ANSWER_TOKENS) * calls,
            "cost": None if cost is None else round(cost, 4),
        }


def _shown(domain: Domain, electorate: Electorate, place: int) -> Mapping[str, Any]:
    return domain.show(electorate, place)
