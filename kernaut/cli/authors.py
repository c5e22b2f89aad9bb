"""Who writes in a campaign: the offline author, a language model, or several, from a configuration and a task description."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from kernaut.cli.terminal import read_text
from kernaut.errors import InputError

if TYPE_CHECKING:
    from kernaut.authors.author import Author
    from kernaut.cli.config import Config
    from kernaut.search.bandit import Ensemble

CONTEXTS = {
    "bbo": "meta_bo_task.md",
    "greenhouse": "greenhouse_task.md",
    "enzymes": "chembench_task.md",
    "glucose": "glucosebench_task.md",
    "table": "table_task.md",
}
"""Task descriptions among the bundled examples, by benchmark; used where --context names none."""


def author_of(config: Config, context: Path | None, benchmark: str, *, ready: bool = True) -> Author | Ensemble:
    """The author that a configuration names; the offline one where it names nobody.

    Args:
        config: the configuration.
        context: a task description for language models; None for the benchmark's own.
        benchmark: whose task it is.
        ready: whether the models are about to be asked, so that their keys must be there.

    Raises:
        InputError: for an unknown provider, a missing key, or a context that nobody would read.
    """
    from kernaut.authors.conversation import ModelAuthor
    from kernaut.authors.grammar import GrammarAuthor
    from kernaut.authors.keys import key_of, key_variable, read_dotenv
    from kernaut.authors.models import SERVERS, require_provider
    from kernaut.search.bandit import BanditOptions, Ensemble

    members = config.members()
    models = [require_provider(settings) for settings, _ in members if settings is not None]
    require_context(config, context)
    if not members:
        return GrammarAuthor()
    read_dotenv(name for settings in models if (name := key_variable(settings)) is not None)
    for settings in models:
        if settings.provider in SERVERS:
            from kernaut.authors.llm import address_of

            address_of(settings)
            if ready:
                key_of(settings)
    text = context_text(context, benchmark) if models else ""
    at_once = config.campaign.runs_at_once
    authors: list[Author] = [
        GrammarAuthor() if settings is None else ModelAuthor(settings, text, at_once) for settings, _ in members
    ]
    if len(authors) == 1:
        return authors[0]
    weights = tuple(weight for _, weight in members)
    return Ensemble(tuple(authors), weights, BanditOptions(**config.bandit.model_dump()), at_once)


def require_context(config: Config, context: Path | None) -> None:
    """Check, before anything is loaded, that a task description can be read and somebody reads it.

    Raises:
        InputError: when it cannot, or nobody does.
    """
    if context is None:
        return
    if all(settings is None for settings, _ in config.members()):
        raise InputError(
            "Expected no --context: the offline author reads no task description. Got one.",
            hint="A context is for a language model, which --config names in its table [llm].",
        )
    read_text(context, "task description")


def context_text(context: Path | None, benchmark: str) -> str:
    """The task description: the file's, else the bundled one of the benchmark, else none.

    Raises:
        InputError: when the file cannot be read.
    """
    from kernaut.plugins import bundled

    if context is not None:
        return read_text(context, "task description")
    return read_text(bundled("examples", CONTEXTS[benchmark]), "task description") if benchmark in CONTEXTS else ""


def campaign_word(name: str) -> str:
    """An author's name as part of a campaign's default name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")[:60]
