"""What the commands of evaluator evolution share: their options, and the domain that a campaign was begun with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernaut.cli.terminal import Terminal
from kernaut.errors import InputError

if TYPE_CHECKING:
    from kernaut.archive.store import Archive
    from kernaut.operators.authoring import OfflineAuthor
    from kernaut.operators.composition import Votes
    from kernaut.operators.domain import Domain
    from kernaut.operators.domains import DomainOptions
    from kernaut.operators.lift_author import LiftAuthor
    from kernaut.operators.loop import LoopOptions

DomainOption = Annotated[str, typer.Option("--domain", metavar="NAME", help="code, kernels, or an installed one.")]
CampaignOption = Annotated[
    str | None, typer.Option("--campaign", metavar="NAME", help="The campaign. [default: cegar-DOMAIN-ARM]")
]
ArmOption = Annotated[str, typer.Option("--arm", help="collision, target-only, direct, recall-gated or narrow.")]
AimOption = Annotated[
    str | None,
    typer.Option(
        "--aim",
        help="What the offline author sets thresholds by: kind (recall of the fault kind against false alarms) or accuracy (the gate's). [default: accuracy for code, else kind]",
    ),
]
TasksOption = Annotated[
    str | None, typer.Option("--tasks", metavar="FILE", help="code: JSONL tasks. [default: HumanEval, if installed]")
]
SamplesOption = Annotated[
    str | None, typer.Option("--samples", metavar="FILE", help="code: JSONL candidates. [default: a synthetic bank]")
]
VisibleOption = Annotated[
    str,
    typer.Option("--visible", help="code: visible checks from suite (first two assertions) or prompt (its examples)."),
]
LimitOption = Annotated[int, typer.Option("--limit", help="code: use the first tasks only; 0 for all.")]
SplitSeedOption = Annotated[int, typer.Option("--split-seed", help="code: of the hash that divides tasks.")]
BenchmarkOption = Annotated[str, typer.Option("--benchmark", help="kernels: the benchmark.")]
TrainOption = Annotated[int, typer.Option("--train", help="kernels: meta-training episodes a family.")]
ValidationOption = Annotated[int, typer.Option("--validation", help="kernels: validation episodes a family.")]
KernelsOption = Annotated[
    str | None,
    typer.Option("--kernels", metavar="PATH", help="kernels: the archive of programs. [default: that of --archive]"),
]
TestOption = Annotated[int, typer.Option("--test", help="kernels: test episodes a family; 0 leaves test closed.")]
OptionsOption = Annotated[
    str | None,
    typer.Option("--options", metavar="JSON", help="Keyword arguments of an installed domain, as a JSON object."),
]
CacheOption = Annotated[
    Path | None,
    typer.Option("--cache", metavar="DIR", help="code, kernels: banks and verdicts. [default: the user's cache]"),
]
RuleVotesOption = Annotated[
    str,
    typer.Option("--votes", metavar="M", help="How many operators must flag, 1 to 4; best chooses on training labels."),
]
MostOption = Annotated[int, typer.Option("--most", help="Most operators of a rule, at most 6.")]

_OWN = {
    "code": ("tasks", "samples", "visible", "limit", "split_seed", "transfer", "transfer_samples"),
    "code kernels": ("cache",),
    "kernels": ("benchmark", "train", "validation", "test", "kernels"),
}
"""Parameters of commands that concern one domain alone."""


def campaign_named(campaign: str | None, domain: str, arm: str) -> str:
    """The campaign's name as given, or the one that its domain and arm make."""
    return campaign or f"cegar-{domain}-{arm}"


def require_concerned(ctx: typer.Context, domain: str) -> None:
    """Check that no option on the command line belongs to another domain.

    Raises:
        InputError: naming the first that does.
    """
    for owners, names in _OWN.items():
        for name in names if domain not in owners.split() else ():
            if given(ctx, name):
                raise InputError(
                    f"Expected --{name.replace('_', '-')} with --domain {' or '.join(owners.split())} alone. Got it with --domain {domain}."
                )


def given(ctx: typer.Context, name: str) -> bool:
    """Whether an option stands on the command line."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def offline_author(aim: str | None, domain: str, loop: LoopOptions) -> OfflineAuthor | LiftAuthor:
    """The offline author of an aim; one that aims at accuracy knows what the gate of the loop asks.

    Raises:
        InputError: for another aim.
    """
    from kernaut.operators.authoring import OfflineAuthor
    from kernaut.operators.lift_author import LiftAuthor

    chosen = aim or ("accuracy" if domain == "code" else "kind")
    if chosen not in ("kind", "accuracy"):
        raise InputError(f"Expected --aim kind or accuracy. Got {aim!r}.")
    return OfflineAuthor() if chosen == "kind" else LiftAuthor(loop.min_helped, loop.arm)


def votes_of(text: str) -> Votes:
    """The votes of an option.

    Raises:
        InputError: for anything but 1 to 4, or ``best``.
    """
    if text == "best":
        return "best"
    if text not in ("1", "2", "3", "4"):
        raise InputError(f"Expected --votes of 1 to 4, or best. Got {text!r}.")
    return int(text)


def domain_options(
    tasks: str | None,
    samples: str | None,
    visible: str,
    limit: int,
    split_seed: int,
    benchmark: str,
    train: int,
    validation: int,
    kernels: str | None,
    options: str | None,
) -> DomainOptions:
    """What makes a domain, from the command line.

    Raises:
        InputError: for another ``--visible``, or ``--options`` that are no JSON object.
    """
    from kernaut.digest import loads_finite
    from kernaut.operators.domains import DomainOptions

    if visible not in ("suite", "prompt"):
        raise InputError(f"Expected --visible suite or prompt. Got {visible!r}.")
    if limit < 0:
        raise InputError(f"Expected --limit of at least 0. Got {limit}.")
    further = {} if options is None else loads_finite(options, "--options")
    if not isinstance(further, dict):
        raise InputError(f"Expected --options as a JSON object. Got {options!r}.")
    return DomainOptions(
        tasks,
        samples,
        visible,  # type: ignore[arg-type]
        limit,
        split_seed=split_seed,
        benchmark=benchmark,
        train=train,
        validation=validation,
        kernels=None if kernels is None else str(Path(kernels).absolute()),
        options=further,
    )


def pinned(
    ctx: typer.Context,
    archive: Archive,
    domain: str,
    campaign: str,
    cache: Path | None,
    *,
    test: int = 0,
    second_pool: bool = False,
    transfer_samples: str | None = None,
    fresh: bool = False,
    held_out: bool = True,
    grown: bool = False,
) -> Domain:
    """The domain that a campaign was begun with; ``fresh`` forms verdicts anew, ``grown`` lets tasks and candidates be others.

    Raises:
        InputError: for a campaign of another domain, or of a search, or whose tasks or candidates have changed.
    """
    from dataclasses import replace

    from kernaut.digest import thaw
    from kernaut.operators.domains import DomainOptions
    from kernaut.operators.running import require_pinned

    record = archive.campaign(campaign)
    if record.benchmark != f"cegar-{domain}":
        raise InputError(
            f"Expected a campaign of evaluator evolution in the domain {domain}. Got {campaign!r}, a campaign of {record.benchmark}.",
            hint="--domain names the campaign's domain.",
        )
    options = replace(DomainOptions(**thaw(record.options)["domain"]), test=test, transfer_samples=transfer_samples)
    made = shown_opening(ctx, domain, options, archive, cache, second_pool=second_pool, fresh=fresh, held_out=held_out)
    if not grown:
        require_pinned(made, record)
    return made


def shown_opening(
    ctx: typer.Context,
    domain: str,
    options: DomainOptions,
    archive: Archive | None,
    cache: Path | None,
    *,
    second_pool: bool = False,
    fresh: bool = False,
    held_out: bool = True,
) -> Domain:
    """Open a domain, telling how far its candidates are."""
    from kernaut.operators.domains import open_domain

    terminal: Terminal = ctx.obj
    with terminal.progress() as progress:
        return open_domain(
            domain,
            options,
            archive,
            cache=cache,
            second_pool=second_pool,
            fresh=fresh,
            held_out=held_out,
            done=lambda done, total: progress.at("candidates", done, total),
        )
