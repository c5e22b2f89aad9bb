"""The language model of a cegar command, from a configuration: its settings, checked before anything runs, and what a campaign with it would take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernaut.errors import InputError

if TYPE_CHECKING:
    from kernaut.archive.store import Archive
    from kernaut.authors.chat import ModelSettings
    from kernaut.cli.config import Config
    from kernaut.operators.domain import Domain
    from kernaut.operators.loop import LoopOptions
    from kernaut.operators.model_author import ModelOperatorAuthor


def model_of(config: Config, *, ready: bool = True) -> ModelSettings | None:
    """The one model that a configuration names; None where it names nobody.

    Args:
        config: the configuration.
        ready: whether the model is about to be asked, so that its key must be there.

    Raises:
        InputError: for several members, an unknown provider or a missing key.
    """
    from kernaut.authors.keys import key_of, key_variable, read_dotenv
    from kernaut.authors.models import SERVERS, require_provider

    members = config.members()
    if len(members) > 1:
        raise InputError(
            f"Expected one language model in [llm] for operators. Got an ensemble of {len(members)} members.",
            hint="Run a campaign with each, and compare their reports.",
        )
    settings = members[0][0] if members else None
    if settings is None:
        return None
    variable = key_variable(require_provider(settings))
    read_dotenv([] if variable is None else [variable])
    if settings.provider in SERVERS:
        from kernaut.authors.llm import address_of

        address_of(settings)
        if ready:
            key_of(settings)
    return settings


def require_price(settings: ModelSettings, cost: float | None) -> None:
    """Check that a limit of money can be kept.

    Raises:
        InputError: when the model's prices are not known.
    """
    if cost is not None and settings.input_price is None:
        raise InputError(
            f"Expected input_price and output_price, in dollars for a million tokens, beside a limit of money. Got none of {settings.name}."
        )


def expected_growth(
    author: ModelOperatorAuthor, domain: Domain, loop: LoopOptions, runs: int, archive: Archive | None, campaign: str
) -> dict[str, Any]:
    """What is left of a campaign to be asked for and paid, if every call used all its answers, as JSON.

    Args:
        author: the model.
        domain: its training electorate gives the example.
        loop: of the campaign.
        runs: its runs.
        archive: what is there already, read only; None for nothing.
        campaign: its name.
    """
    from kernaut.authors.spending import spending_of
    from kernaut.operators.admission import gate_words
    from kernaut.operators.collisions import collisions
    from kernaut.operators.judging import request_for

    made, usages, closed = 0, [], 0
    if archive is not None and any(record.id == campaign for record in archive.campaigns()):
        for run in archive.runs(campaign):
            made += loop.most_calls if run.status == "closed" else len(archive.drafts(campaign, run.index))
            closed += run.status == "closed"
            usages += [entry.usage for entry in archive.transcript(campaign, run.index)]
    train = domain.electorate("train")
    seen = [place for place, able in enumerate(train.visible) if able]
    found = collisions(train, [], seen)
    calls = max(0, runs * loop.most_calls - made) if found else 0
    expected: dict[str, Any] = {"answers": 0, "tokens": 0, "cost": 0.0}
    if calls:
        request = request_for(train, [], found[0], loop.schedule()[0], seed=loop.seed)
        expected = author.expected(request, domain, train, gate_words(loop.arm, loop.min_helped), calls)
    limits = {"tokens": author.tokens, "cost": author.cost}
    return {
        "model": author.name,
        "runs_left": runs - closed,
        "authoring_calls": calls,
        "expected": expected,
        "at_most": {name: limit * runs for name, limit in limits.items() if limit is not None},
        "spent_before": spending_of(usages).to_json(),
        "assumptions": "every run makes all its authoring calls and every call uses all its answers; reasoning that a model does not show is not counted",
    }
