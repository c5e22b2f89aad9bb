"""``kernaut cegar run``: grow operators on training tasks, offline or with a language model."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernaut.cli.cegar_options import (
    AimOption,
    ArmOption,
    BenchmarkOption,
    CacheOption,
    CampaignOption,
    DomainOption,
    KernelsOption,
    LimitOption,
    OptionsOption,
    SamplesOption,
    SplitSeedOption,
    TasksOption,
    TrainOption,
    ValidationOption,
    VisibleOption,
    campaign_named,
    domain_options,
    given,
    offline_author,
    require_concerned,
    shown_opening,
)
from kernaut.cli.options import DEFAULT_ARCHIVE, ArchiveOption, OutOption, WorkersOption, worker_count
from kernaut.cli.outcome import Resumable, command_line
from kernaut.cli.searching import ConfigOption, DryRunOption, MaxCostOption, MaxTokensOption, first_given
from kernaut.cli.terminal import Terminal, require_writable, write_json
from kernaut.errors import InputError, ModelFailure

if TYPE_CHECKING:
    from kernaut.cli.config import Config
    from kernaut.operators.model_author import ModelOperatorAuthor


def run(
    ctx: typer.Context,
    domain: DomainOption = "code",
    archive: ArchiveOption = DEFAULT_ARCHIVE,
    campaign: CampaignOption = None,
    arm: ArmOption = "collision",
    runs: Annotated[int, typer.Option("--runs", help="Seeded runs.")] = 8,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of the first run. [default: 0]")] = None,
    calls: Annotated[int, typer.Option("--calls", help="Most authoring calls of a run, at most 60.")] = 60,
    attempts: Annotated[int, typer.Option("--attempts", help="Failed attempts at a level.")] = 3,
    min_helped: Annotated[int, typer.Option("--min-helped", help="Tasks an operator must help.")] = 3,
    aim: AimOption = None,
    config: ConfigOption = None,
    max_rounds: Annotated[
        int | None,
        typer.Option("--max-rounds", help="Most answers of a language model in one authoring call. [default: 8]"),
    ] = None,
    max_tool_calls: Annotated[
        int | None, typer.Option("--max-tool-calls", help="Most tool calls in one authoring call. [default: 24]")
    ] = None,
    tries: Annotated[
        int, typer.Option("--tries", help="Drafts that a language model may try in one authoring call.")
    ] = 4,
    max_tokens: MaxTokensOption = None,
    max_cost: MaxCostOption = None,
    dry_run: DryRunOption = False,
    tasks: TasksOption = None,
    samples: SamplesOption = None,
    visible: VisibleOption = "suite",
    limit: LimitOption = 0,
    split_seed: SplitSeedOption = 0,
    benchmark: BenchmarkOption = "bbo",
    train: TrainOption = 12,
    validation: ValidationOption = 10,
    kernels: KernelsOption = None,
    options: OptionsOption = None,
    cache: CacheOption = None,
    workers: WorkersOption = None,
    out: OutOption = None,
) -> None:
    """Grow operators on training tasks; a broken-off run goes on where it stopped.

    Without --config the offline author writes, with no key and no network.
    """
    from kernaut.archive.database import database_exists
    from kernaut.archive.location import locate
    from kernaut.archive.store import Archive
    from kernaut.cli.authors import campaign_word
    from kernaut.cli.cegar_models import expected_growth
    from kernaut.cli.config import read_config
    from kernaut.operators.loop import MOST_CALLS, LoopOptions
    from kernaut.operators.running import run_campaign
    from kernaut.operators.selection import require_choice

    require_writable(out)
    require_concerned(ctx, domain)
    count = worker_count(workers)
    if not 1 <= calls <= MOST_CALLS or runs < 1:
        raise InputError(f"Expected at least one run of 1 to {MOST_CALLS} calls. Got {runs} runs of {calls}.")
    settings = read_config(config, for_models=True)
    model = _author(settings, max_rounds, max_tool_calls, tries, max_tokens, max_cost, runs, ready=not dry_run)
    if model is not None and aim is not None:
        raise InputError(f"Expected --aim without a language model. Got --aim {aim} beside --config.")
    for unread in ("max_rounds", "max_tool_calls", "tries", "max_tokens", "max_cost") if model is None else ():
        if given(ctx, unread):
            raise InputError(
                f"Expected --{unread.replace('_', '-')} with a language model, which --config names. Got none."
            )
    loop = LoopOptions(first_given(seed, settings.campaign.seed, 0), arm, attempts, calls, min_helped)  # type: ignore[arg-type]
    chosen = domain_options(tasks, samples, visible, limit, split_seed, benchmark, train, validation, kernels, options)
    name = campaign_named(campaign, domain, arm if model is None else f"{arm}-{campaign_word(model.name)}")
    author = offline_author(aim, domain, loop) if model is None else model
    terminal: Terminal = ctx.obj
    place = locate(archive)
    known = Archive.open(place, read_only=dry_run) if database_exists(place) else None
    if known is None and place.path is not None and not place.path.parent.is_dir():
        Archive.create(place)  # says so before long work is done for it
    try:
        with known or nullcontext():
            made = shown_opening(ctx, domain, chosen, known, cache, held_out=False)
            require_choice(made.electorate("train"))
            if dry_run:
                found = {"model": None} if model is None else expected_growth(model, made, loop, runs, known, name)
                write_json({"campaign": name, **found}, out)
                return
        with Archive.open_or_create(place) as opened, terminal.progress() as progress:
            grown = run_campaign(
                opened,
                name,
                made,
                author,
                loop,
                runs,
                domain_options=chosen.to_json(),
                author_options=None if model is None else model.options(made),
                workers=count if model is None else min(count, settings.campaign.runs_at_once),
                done=progress.at,
            )
    except ModelFailure:
        terminal.note(f"campaign {name} is in {archive}, with every call that was finished")
        raise
    except KeyboardInterrupt as error:
        raise Resumable(command_line(ctx, campaign=name, archive=archive)) from error
    rows = [{"run": r.index, "admitted": [o.to_json() for o in r.operators], **_without(r.result)} for r in grown]
    stopped = next((r.result["stopped"] for r in grown if str(r.result["stopped"]).startswith("allowance spent")), None)
    if stopped is not None:
        terminal.warn(f"{stopped} The same command with a larger limit goes on.")
    write_json({"campaign": name, "candidates": made.synthetic, "runs": rows}, out)


def _author(
    config: Config,
    answers: int | None,
    tool_calls: int | None,
    tries: int,
    tokens: int | None,
    cost: float | None,
    runs: int,
    *,
    ready: bool,
) -> ModelOperatorAuthor | None:
    """The language model of a configuration as an author, with each run's share of the campaign's allowance; None for the offline author.

    Raises:
        InputError: for a number below 1, or a limit of money without prices.
    """
    from kernaut.cli.cegar_models import model_of, require_price
    from kernaut.operators.model_author import ANSWERS, TOOL_CALLS, ModelOperatorAuthor

    settings = model_of(config, ready=ready)
    if settings is None:
        return None
    answers = first_given(answers, config.campaign.max_rounds, ANSWERS)
    tool_calls = first_given(tool_calls, config.campaign.max_tool_calls, TOOL_CALLS)
    tokens, cost = (
        first_given(tokens, config.campaign.max_tokens, None),
        first_given(cost, config.campaign.max_cost, None),
    )
    if (
        min(answers, tool_calls, 1 if tokens is None else tokens) < 1
        or tries < 0
        or (cost is not None and not cost > 0)
    ):
        raise InputError(
            f"Expected at least one answer, tool call and token, some money, and no fewer than 0 tries. Got {answers}, {tool_calls}, {tokens}, {cost}, {tries}."
        )
    require_price(settings, cost)
    share_of_tokens = None if tokens is None else tokens // runs
    return ModelOperatorAuthor(
        settings, answers, tool_calls, tries, share_of_tokens, None if cost is None else cost / runs
    )


def _without(result: Any) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key != "admitted"}
